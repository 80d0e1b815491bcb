"""Drawn designs of trainings with a pipeline, and all ways to put their layers on its stages."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from itertools import accumulate, combinations_with_replacement, pairwise, product
from math import inf
from random import Random
from typing import Any

from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.layout.solve import NEARLY_FULL
from simcore.memory.expanded import fits, own_capacity
from simcore.memory.plan import memory_needed
from simcore.result import Result
from simcore.simulate import simulate

Document = dict[str, Any]


def draw_document(draw: Random, most_layers: int | None = None, interleave: int = 1) -> Document:
    """A training with a pipeline; an even split may be a bad one, because vocabularies are large."""
    tensor, pipeline, data = draw.choice([1, 2, 4]), draw.choice([2, 3, 4, 8]), draw.choice([1, 2, 4])
    pipeline = min(pipeline, 4) if most_layers else pipeline
    virtual = pipeline * interleave
    layers = draw.randint(virtual, max(virtual, most_layers) if most_layers else 4 * virtual)
    if interleave > 1:
        layers -= layers % virtual
    model: Document = {
        "layers": layers,
        "hidden": draw.choice([1024, 2048, 4096]),
        "heads": 32,
        "vocabulary": draw.choice([32_000, 128_000, 256_000]),
        "sequence_length": 4096,
    }
    if draw.random() < 0.5:
        model |= {"gated": True, "bias": False, "position": "rotary", "kv_heads": 8}
    if draw.random() < 0.4:
        dense = {"dense_layers": draw.randint(0, min(3, layers)), "every": draw.choice([1, 1, 2])}
        model["mixture_of_experts"] = {"experts": 8, "top_k": 2, "feed_forward": 2048, **dense}
    if draw.random() < 0.2:
        model["multi_token_prediction"] = 1
    dimensions = [
        {"topology": "switch", "size": tensor, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"},
        {"topology": "switch", "size": pipeline * data, "bandwidth": draw.choice(["25 GB/s", "50 GB/s"]),
         "latency": "2 us", "tier": "pod"},
    ]  # fmt: skip
    return {
        "workload": {
            "model": model,
            "global_batch": data * pipeline * draw.choice([1, 2, 4, 8]),
            "precision": "bf16",
            "gradient_precision": draw.choice(["fp16", "fp32"]),
        },
        "parallelism": {
            "tensor": tensor,
            "pipeline": pipeline,
            "data": data,
            "zero": draw.choice([0, 0, 1]),
            "sequence_parallel": tensor > 1 and draw.random() < 0.5,
            "recompute": draw.choice(["none", "none", "selective", "full"]),
            "schedule": draw.choice(["1f1b", "1f1b", "gpipe", "zero_bubble"]) if interleave == 1 else "1f1b",
            "interleave": interleave,
        },
        "cluster": {
            "npu": draw.choice(["a100-80gb", "h100-80gb"]),
            "dimensions": [dimension for dimension in dimensions if dimension["size"] > 1],
        },
        "hypothetical": True,
    }


def drawn(count: int, seed: int, most_layers: int | None = None, interleave: int = 1) -> Iterator[Document]:
    """So many documents of designs that break no rule."""
    draw = Random(seed)
    while count:
        document = draw_document(draw, most_layers, interleave)
        parsed, problems = parse_design(document)
        assert parsed is not None, problems
        if not check(parsed):
            count -= 1
            yield document


def with_parallelism(document: Document, **keys: Any) -> Design:
    """The design of a document with other keys of parallelism."""
    changed = copy.deepcopy(document)
    changed["parallelism"] |= keys
    parsed, problems = parse_design(changed)
    assert parsed is not None, problems
    assert not check(parsed), check(parsed)
    return parsed


def all_stages(layers: int, stages: int) -> Iterator[list[int]]:
    """Every way to put layers on stages, of which only the first and the last may have none."""
    for cuts in combinations_with_replacement(range(layers + 1), stages - 1):
        ends = [0, *cuts, layers]
        found = [later - earlier for earlier, later in pairwise(ends)]
        if all(found[1:-1]):
            yield found


def between_memories(document: Document, share: float) -> Document | None:
    """The document on NPUs whose memory is so far between what it needs if all layers recompute and if none does."""
    changed = copy.deepcopy(document)
    changed["cluster"]["memory"] = {"fragmentation": 0.0}
    least, most = (memory_needed(with_parallelism(changed, recompute=how)) for how in ("full", "none"))
    assert least is not None
    assert most is not None
    room = least.reserved + share * (most.reserved - least.reserved)
    whole = own_capacity(with_parallelism(changed, recompute="none"))
    changed["cluster"]["memory"] = {"fragmentation": 1 - room / whole}
    return changed if room < whole else None


def each_recomputation(document: Document, stages: Iterable[list[int]]) -> Iterator[Design]:
    """All that fit of these stages, with any number of layers that recompute on each, the first ones."""
    layers = document["workload"]["model"]["layers"]
    for sizes in stages:
        starts = [0, *accumulate(sizes)]
        for counts in product(*(range(size + 1) for size in sizes)):
            again = [first + i for first, count in zip(starts, counts, strict=False) for i in range(count)]
            rest = [layer for layer in range(layers) if layer not in again]
            ranges = [("full", again), ("none", rest)]
            listed = [{"layers": ",".join(map(str, those)), "recompute": how} for how, those in ranges if those]
            design = with_parallelism(document, stages=sizes, layers=listed, recompute="none")
            if fits(design, memory_needed(design)):
                yield design


def shortest(document: Document, stages: Iterable[list[int]]) -> float:
    """The shortest iteration of all that `each_recomputation` yields [s]: of those that leave room, where any do."""
    each = [simulate(design) for design in each_recomputation(document, stages)]
    roomy = [result for result in each if fullness(result) <= NEARLY_FULL]
    return min((result.iteration_time_s for result in roomy or each), default=inf)


def fullness(result: Result) -> float:
    """Share of the memory that is reserved."""
    assert result.memory_bytes is not None
    return result.memory_bytes.reserved / result.memory_capacity_bytes
