"""Hypothesis strategies for small valid designs of the other kinds of workload: tables, recommenders, serving."""

from __future__ import annotations

from drawn_designs import Document, design, dimensions, npu, shapes_of_models, sharding, stacks, systems
from hypothesis import strategies as st

from simcore.design.design import Design

Degrees = tuple[int, int, int]


@st.composite
def degrees(draw: st.DrawFn, tensor: int = 4, pipeline: int = 3, data: int = 4) -> Degrees:
    """Tensor, pipeline and data degrees of at most 12 NPUs in all."""
    t = draw(st.sampled_from([f for f in (1, 2, 4) if f <= tensor]))
    p = draw(st.integers(1, pipeline))
    d = draw(st.integers(1, max(1, min(data, 12 // (t * p)))))
    return t, p, d


@st.composite
def rows(draw: st.DrawFn) -> Document:
    """A row of a table; all columns of products divide by 4."""
    kind = draw(st.sampled_from(["gemm", "conv", "memory"]))
    row: Document = {"kind": kind, "repeat": draw(st.integers(1, 3)), "times": draw(st.integers(1, 2))}
    if kind == "gemm":
        return {**row, "m": draw(st.integers(1, 5)), "n": 4 * draw(st.integers(1, 30)), "k": draw(st.integers(1, 99))}
    if kind == "conv":
        shape = {"height": draw(st.integers(3, 9)), "width": 7, "channels": draw(st.integers(1, 8))}
        kernel = draw(st.sampled_from([1, 3, [1, 3]]))
        return {**row, **shape, "filters": 4 * draw(st.integers(1, 8)), "kernel": kernel, "stride": 2, "bias": True}
    return {**row, "elements": draw(st.integers(0, 999)), "parameters": draw(st.integers(0, 500)), "output": 77}


@st.composite
def tables(draw: st.DrawFn) -> Design:
    """Training of a table of layers."""
    t, p, d = draw(degrees())
    listed = draw(st.lists(rows(), min_size=p, max_size=5))
    block = {"kind": "block", "repeat": 2, "layers": draw(st.lists(rows(), min_size=1, max_size=2))}
    microbatches, microbatch = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    return design(
        {
            "workload": {"layers": [*listed, block], "global_batch": d * microbatch * microbatches},
            "parallelism": {
                "tensor": t,
                "pipeline": p,
                "data": d,
                "microbatch": microbatch,
                **sharding(draw, draw(st.integers(0, 3)), p, d),
                "schedule": draw(st.sampled_from(["1f1b", "gpipe"])),
                "bucket": draw(st.sampled_from(["1 B", "5 KB", "25 MB"])),
            },
            "cluster": {
                "npu": npu(draw(st.sampled_from(["0 s", "100 ns", "4 us"]))),
                "dimensions": draw(dimensions(t * p * d)),
                "placement": draw(st.permutations(["tensor", "context", "data", "pipeline"])),
            },
            "system": draw(systems(4)),
            "software": draw(stacks()),
        }
    )


@st.composite
def recommenders(draw: st.DrawFn) -> Design:
    """Training of a recommendation model."""
    d = draw(st.integers(1, 6))
    embedding = draw(st.sampled_from([4, 16]))
    model = {
        "dense_features": 13,
        "bottom": [*draw(st.lists(st.integers(1, 99), max_size=3)), embedding],
        "top": draw(st.lists(st.integers(1, 99), min_size=1, max_size=3)),
        "tables": draw(st.integers(1, 30)),
        "rows": 10_000,
        "embedding": embedding,
        "pooling": draw(st.integers(1, 9)),
        "interaction": draw(st.sampled_from(["dot", "concat"])),
    }
    microbatches, microbatch = draw(st.integers(1, 3)), draw(st.integers(1, 50))
    return design(
        {
            "workload": {"model": model, "global_batch": d * microbatch * microbatches},
            "parallelism": {
                "microbatch": microbatch,
                **sharding(draw, draw(st.integers(0, 3)), 1, d),
                "bucket": draw(st.sampled_from(["1 B", "5 KB", "25 MB"])),
            },
            "cluster": {
                "npu": npu(draw(st.sampled_from(["0 s", "100 ns", "4 us"]))),
                "dimensions": draw(dimensions(d)),
            },
            "system": draw(systems(4)),
            "software": draw(stacks()),
        }
    )


@st.composite
def servings(draw: st.DrawFn) -> Design:
    """Serving a transformer."""
    t, p, d = draw(degrees())
    microbatches, microbatch = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    layers = draw(st.integers(p, 5))
    shape = draw(shapes_of_models(layers))
    shared = [e for e in range(1, d + 1) if d % e == 0] if "mixture_of_experts" in shape else [1]
    return design(
        {
            "workload": {
                "model": {"hidden": 64, "layers": layers, "heads": 8, "vocabulary": 500, **shape},
                "global_batch": d * microbatch * microbatches,
                "prompt_length": draw(st.integers(1, 40) | st.integers(700, 1500)),
                "batching": draw(st.sampled_from(["continuous", "static"])),
                "output_length": draw(st.integers(1, 6)),
            },
            "parallelism": {
                "tensor": t,
                "pipeline": p,
                "data": d,
                "microbatch": microbatch,
                "expert": draw(st.sampled_from(shared)),
                "flash_attention": draw(st.booleans()),
            },
            "cluster": {
                "npu": npu(draw(st.sampled_from(["0 s", "100 ns", "4 us"]))),
                "dimensions": draw(dimensions(t * p * d)),
                "placement": draw(st.permutations(["tensor", "context", "data", "pipeline"])),
            },
            "system": draw(systems(4)),
            "software": draw(stacks()),
        }
    )


KINDS = {"table": tables(), "recommender": recommenders(), "serving": servings()}
