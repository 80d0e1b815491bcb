"""Drawn trainings in which ranges of layers have tensor and expert degrees of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.engine.reference import estimate_events

Document = dict[str, Any]
MOST_EVENTS = 20_000


def npu() -> Document:
    """An NPU that spends its time on what is sent."""
    return {
        "peak": {"fp16": "312 TFLOP/s", "fp32": "19.5 TFLOP/s"},
        "memory": {"capacity": "80 GB", "bandwidth": "2 TB/s"},
        "overhead": "100 ns",
        "power": {"max": "400 W", "idle": "80 W"},
        "price": "15000 $",
    }


def draw_document(draw: Random) -> Document:
    """A training whose layers are in one to three ranges; not all of them can be run."""
    tensor, data, pipeline = draw.choice([1, 2, 4]), draw.choice([2, 4, 8]), draw.choice([1, 1, 2, 3])
    interleave = draw.choice([1, 2]) if pipeline > 1 else 1
    layers, microbatch = pipeline * interleave * draw.randint(1, 3), draw.choice([1, 2, 4])
    model: Document = {"hidden": 32 * draw.randint(1, 6), "layers": layers, "heads": 8, "vocabulary": 500}
    if draw.random() < 0.5:
        model["mixture_of_experts"] = {
            "experts": 8, "top_k": 2, "feed_forward": 64, "dense_layers": draw.randint(0, min(2, layers))
        }  # fmt: skip
    if draw.random() < 0.2:
        model["multi_token_prediction"] = 1
    experts = [1, 1, 2, 4] if "mixture_of_experts" in model else [1]
    cuts = sorted({0, layers, *(draw.randint(0, layers) for _ in range(draw.randint(0, 2)))})
    ranges = []
    for first, end in pairwise(cuts):
        recompute = draw.choice(["none", "none", "selective", "full"])
        own: Document = {"layers": f"{first}-{end - 1}", "recompute": recompute}
        if draw.random() < 0.8:
            own["tensor"] = draw.choice([1, 2, 4, 8])
        if draw.random() < 0.3:
            own["expert"] = draw.choice(experts)
        ranges.append(own)
    sequence_parallel = draw.random() < 0.6
    npus = tensor * data * pipeline
    inner = draw.choice([size for size in (1, 2, 4, 8) if npus % size == 0])
    schedule = draw.choice(["1f1b", "1f1b", "gpipe", "zero_bubble", "pipedream"])
    outer = {
        "topology": draw.choice(["ring", "switch", "fully_connected"]),
        "bandwidth": "25 GB/s",
        "latency": "5 us",
        "tier": "pod",
    }
    dimensions = [
        {"topology": "switch", "size": inner, "bandwidth": "100 GB/s", "latency": "700 ns", "tier": "node"},
        {**outer, "size": npus // inner},
    ]
    return {
        "workload": {
            "model": {**model, "sequence_length": 16},
            "global_batch": data * microbatch * pipeline * draw.choice([1, 2, 3]),
            "gradient_precision": draw.choice(["fp16", "fp32"]),
        },
        "parallelism": {
            "tensor": tensor,
            "pipeline": pipeline,
            "expert": draw.choice(experts),
            "microbatch": microbatch,
            "sequence_parallel": sequence_parallel,
            "expert_tensor": 1 if sequence_parallel and "mixture_of_experts" in model and draw.random() < 0.3 else None,
            "schedule": schedule if interleave == 1 else "1f1b",
            "interleave": interleave,
            "zero": draw.choice([0, 1, 1, 3]),
            "bucket": draw.choice(["1 B", "50 KB", "25 MB"]),
            "data_overlap": draw.random() < 0.8,
            "layers": ranges,
        },
        "cluster": {
            "npu": npu(),
            "dimensions": [its for its in dimensions if its["size"] > 1] or dimensions[:1],
            "placement": ["tensor", "context", *draw.choice([["data", "pipeline"], ["pipeline", "data"]])],
        },
        "system": {"chunks": draw.randint(1, 3), "intra_dimension": draw.choice(["fifo", "lifo", "scf", "priority"])},
    }


def drawn(count: int, seed: int) -> Iterator[Design]:
    """So many designs that can be run, and in which some layers have degrees of their own."""
    draw, found = Random(seed), 0
    while found < count:
        design, problems = parse_design(draw_document(draw))
        if design is None or problems or not design.parallelism.other_degrees or check(design):
            continue
        if estimate_events(design) <= MOST_EVENTS:
            found += 1
            yield design
