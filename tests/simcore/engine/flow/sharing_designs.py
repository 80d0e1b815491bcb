"""Small designs, drawn by a seed, whose phases share links: pipelines on rings and Clos fabrics, worn links."""

from __future__ import annotations

import random
from typing import Any

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError

Document = dict[str, Any]
NPU = {
    "peak": {"fp16": "312 TFLOP/s", "fp32": "19.5 TFLOP/s"},
    "memory": {"capacity": "80 GB", "bandwidth": "2 TB/s"},
    "gemm": {"limit": 0.75, "half": "8 GFLOP"},
    "overhead": "4 us",
    "power": {"max": "400 W", "idle": "80 W"},
    "price": "15000 $",
}
PLACEMENTS = [
    ["tensor", "context", "data", "pipeline"],
    ["tensor", "context", "pipeline", "data"],
    ["pipeline", "tensor", "context", "data"],
]


def draw_dimension(draw: random.Random, size: int, topologies: list[str]) -> Document:
    """A dimension of `size` NPUs."""
    topology = draw.choice(topologies)
    dimension: Document = {
        "topology": topology,
        "size": size,
        "bandwidth": draw.choice(["25 GB/s", "100 GB/s"]),
        "latency": draw.choice(["500 ns", "2 us"]),
        "library": {},  # links alone
    }
    if topology == "clos":
        dimension["leaf"] = draw.choice([f for f in range(1, size + 1) if size % f == 0 and (f > 1 or size < 4)])
        dimension["oversubscription"] = draw.choice([1.0, 2.0, 4.0])
        dimension["routing"] = draw.choice(["adaptive", "adaptive", "ecmp", "shortest"])
    return dimension


def draw_iteration(seed: int, topologies: list[str], most: int = 32, placements: int = 3) -> Design | None:
    """A training iteration with a pipeline; None where the numbers that were drawn make no design."""
    draw = random.Random(seed)
    t, p, d = draw.choice([1, 2, 2]), draw.choice([2, 2, 4]), draw.choice([2, 4, 8])
    npus = t * p * d
    inner = draw.choice([1, 1, 2, 4])
    if npus > most or npus // inner < 4:
        return None
    sizes = [size for size in (inner, npus // inner) if size > 1]
    dimensions = [draw_dimension(draw, size, topologies) for size in sizes]
    algorithm = draw.choice(["ring", "ring", "direct", "halving_doubling"])
    document: Document = {
        "workload": {
            "model": {
                "layers": p * draw.choice([1, 2]),
                "hidden": draw.choice([1024, 2048, 4096]),
                "heads": 8,
                "vocabulary": 1000,
                "sequence_length": 1024,
            },
            "global_batch": d * draw.choice([2, 4, 8]),
            "sequence_length": draw.choice([512, 1024]),
        },
        "parallelism": {"tensor": t, "pipeline": p, "data": d, "microbatch": 1, "zero": draw.choice([0, 1])},
        "cluster": {"npu": NPU, "dimensions": dimensions, "placement": draw.choice(PLACEMENTS[:placements])},
        "software": {"base": "megatron-core", "overlap": {"node": 0.0, "nodes": 0.0}},
        "system": {
            "collective": [algorithm] * len(sizes),
            "chunks": draw.choice([1, 4, 16]),
            "intra_dimension": draw.choice(["priority", "priority", "fifo"]),
        },
    }
    return as_design(document)


def draw_worn(draw: random.Random, dimension: Document) -> Document:
    """A worn link of a dimension, the innermost one."""
    size, topology = dimension["size"], dimension["topology"]
    first = draw.randrange(size - 1)
    between = (
        [size + first // dimension["leaf"], size + size // dimension["leaf"]]
        if topology == "clos"
        else [first, first + 1]
    )
    share = draw.choice([0.0, 0.5, 0.25]) if topology not in ("mesh", "clos") else draw.choice([0.5, 0.25])
    return {"dimension": 0, "between": between} | ({"share": share} if share else {})


def draw_worn_collective(seed: int, topologies: list[str]) -> Design | None:
    """A collective over one dimension of which a link is worn."""
    draw = random.Random(seed)
    size = draw.choice([4, 8, 16])
    dimension = draw_dimension(draw, size, topologies)
    if dimension["topology"] == "clos" and dimension["leaf"] == size:
        return None
    document: Document = {
        "workload": {
            "collective": draw.choice(["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]),
            "size": draw.choice(["64 KiB", "1 MiB", "16 MiB", "256 MiB"]),
        },
        "cluster": {"npu": NPU, "dimensions": [dimension], "failed_links": [draw_worn(draw, dimension)]},
        "system": {
            "collective": [draw.choice(["ring", "direct", "halving_doubling"])],
            "chunks": draw.choice([1, 4, 16]),
        },
    }
    return as_design(document)


def as_design(document: Document) -> Design | None:
    """The design of a document; None where it is none."""
    try:
        return design_from(document)
    except InputError:
        return None


def draw_jobs(seed: int) -> Design | None:
    """Two jobs of one collective each, over and over, spread over the leaves of a Clos; buffers of like sizes."""
    draw = random.Random(seed)
    sizes = draw.choice([(16, 16), (64, 64), (256, 256), (16, 64), (64, 256)])
    size, chunks = draw.choice([(8, 1), (8, 4), (8, 16), (16, 1)])
    leaf = draw.choice([f for f in (2, 4, 8) if f < size])
    dimension = {
        "topology": "clos",
        "size": size,
        "bandwidth": draw.choice(["25 GB/s", "100 GB/s"]),
        "latency": draw.choice(["500 ns", "2 us"]),
        "leaf": leaf,
        "oversubscription": draw.choice([1.0, 2.0, 4.0]),
        "routing": draw.choice(["adaptive", "adaptive", "ecmp"]),
    }
    jobs = [
        {
            "workload": {
                "collective": draw.choice(["all_reduce", "all_gather", "all_to_all"]),
                "size": f"{buffer} MiB",
            },
            "npus": size // 2,
            "placement": "spread",
        }
        for buffer in sizes
    ]
    document: Document = {
        "jobs": jobs,
        "cluster": {"npu": NPU, "dimensions": [dimension]},
        "system": {
            "collective": [draw.choice(["ring", "ring", "direct", "halving_doubling"])],
            "chunks": chunks,
            "intra_dimension": "fifo",
        },
    }
    return as_design(document)
