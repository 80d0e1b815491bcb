"""Spaces drawn by number: a model, NPUs, a network, policies, objectives and limits, small enough to be proven.

No setting of a sampler was chosen on them. The document of a number is always the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Document = dict[str, Any]
Draw = np.random.Generator

DENSE = {
    "llama3-8b": (16, 64),
    "megatron-22b": (32, 128),
    "mpt-30b": (64, 128),
    "llama3-70b": (64, 256),
    "gpt3-175b": (128, 512),
    "mt-nlg-530b": (256, 1024),
}
"""Models with the least and the most NPUs that train them here."""
EXPERTS = {"mixtral-8x7b": (64, 256), "qwen3-30b-a3b": (32, 128), "mixtral-8x22b": (128, 512)}
OBJECTIVES: tuple[Document, ...] = (
    {"minimize": ["iteration_time", "cost.total"]},
    {"minimize": ["iteration_time", "memory.peak"]},
    {"minimize": ["cost.network", "energy"]},
    {"maximize": ["throughput"], "minimize": ["power.peak"]},
    {"minimize": ["iteration_time", "cost.total", "energy"]},
    {"maximize": ["throughput"], "minimize": ["cost.total", "memory.peak"]},
)
"""All in conflict: none of their fronts is one design."""
LIMITS: tuple[tuple[str, ...], ...] = (
    (),
    ("memory.peak <= 0.7 * memory.capacity",),
    ("mfu >= 0.2",),
    ("mfu >= 0.15", "memory.peak <= 0.8 * memory.capacity"),
)
NODES = (
    {"topology": "switch", "latency": "700 ns", "tier": "node"},
    {"topology": "fully_connected", "latency": "500 ns", "tier": "node"},
    {"topology": "ring", "latency": "300 ns", "tier": "node"},
)


def drawn_document(number: int) -> Document:
    """The document of a space."""
    draw = np.random.default_rng([2026, number])
    experts = number % 3 == 2
    models = EXPERTS if experts else DENSE
    name = _one(draw, list(models))
    least, most = models[name]
    npus = int(2 ** draw.integers(least.bit_length() - 1, most.bit_length()))
    document: Document = {
        "workload": {
            "model": name,
            "global_batch": 4 * npus,
            "sequence_length": _one(draw, [2048, 4096]),
            "precision": "bf16",
            "gradient_precision": _one(draw, ["fp16", "fp32"]),
        },
        "parallelism": _parallelism(draw, npus, experts),
        "cluster": _cluster(draw, npus),
        "system": {
            "chunks": {"choice": _some(draw, [8, 16, 32, 64])},
            "intra_dimension": {"choice": _some(draw, ["priority", "fifo", "scf"])},
            "inter_dimension": {"choice": ["baseline", "themis"]},
        },
        "hypothetical": True,
        "cost": "libra",
        "objectives": OBJECTIVES[number % len(OBJECTIVES)],
        "constraints": ["fits", *LIMITS[int(draw.integers(len(LIMITS)))]],
        "study": {"sampler": "auto", "trials": 300, "seed": 0, "batch": 32},
    }
    return document


def _one(draw: Draw, values: list[Any]) -> Any:
    return values[int(draw.integers(len(values)))]


def _some(draw: Draw, values: list[Any], least: int = 2) -> list[Any]:
    """At least two of the values, in order."""
    count = int(draw.integers(least, len(values) + 1))
    return [values[i] for i in sorted(draw.permutation(len(values))[:count])]


def _parallelism(draw: Draw, npus: int, experts: bool) -> Document:
    limits = {"tensor": [1, 8], "pipeline": [1, min(16, npus // 8)]}
    keys: Document = {"degrees": {"product": npus, "of": ["tensor", "pipeline", "data"], "limits": limits}}
    if experts:
        keys["expert"] = {"powers_of_two": [1, 8]}
    keys["zero"] = {"choice": _some(draw, [0, 1, 3])}
    keys["microbatch"] = {"powers_of_two": [1, _one(draw, [2, 4])]}
    keys["recompute"] = {"choice": _some(draw, ["none", "selective", "full"])}
    keys["sequence_parallel"] = True
    return keys


def _cluster(draw: Draw, npus: int) -> Document:
    node = dict(_one(draw, list(NODES)))
    pod = {"topology": "switch", "latency": "1.7 us", "tier": "pod"}
    npu = {"choice": _some(draw, ["a100-80gb", "h100-80gb", "b200"])}
    sizes = [{**node, "size": 8}, {**pod, "size": npus // 8}]
    if draw.random() < 0.5:
        budgets = _some(draw, ["150 GB/s", "300 GB/s", "500 GB/s"])
        return {"npu": npu, "bandwidth": {"split": {"choice": budgets}, "step": "50 GB/s"}, "dimensions": sizes}
    inner = {"choice": _some(draw, ["150 GB/s", "300 GB/s", "450 GB/s", "900 GB/s"])}
    outer = {"choice": _some(draw, ["12.5 GB/s", "25 GB/s", "50 GB/s", "100 GB/s"])}
    return {"npu": npu, "dimensions": [{**sizes[0], "bandwidth": inner}, {**sizes[1], "bandwidth": outer}]}
