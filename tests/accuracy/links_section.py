"""Phases against single messages on links, many chunks in flight, for `docs/accuracy-details.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcore.check.load import design_from
from simcore.simulate import simulate

BLOCKS: dict[str, dict[str, Any]] = {
    "switch": {"topology": "switch"},
    "fully_connected": {"topology": "fully_connected"},
    "ring": {"topology": "ring"},
    "mesh": {"topology": "mesh"},
    "fat_tree, 2:1": {"topology": "fat_tree", "leaf": 4, "oversubscription": 2},
}
ALGORITHMS = ("ring", "direct", "halving_doubling", "double_binary_tree")
SIZES = ("64 KiB", "1 MiB", "16 MiB", "64 MiB")
CHUNKS = (1, 4, 16, 64)

TEXT = """\
## Phases against messages

The simulator has two network models: phases (engine `fast`) and single messages on links (engine
`reference_links`). The table shows the time of an all-reduce with messages over its time with phases, on
one dimension of 8 NPUs, 100 GB/s, 500 ns (fat tree: leaves of 4). One chunk on an idle network is equal by
construction, but for trees (below). With many chunks in flight, messages of different chunks share links in
another order. A phase occupies its dimension for what its busiest link carries; before, it did so for the sum
of its steps, and *before* is the ratio with 64 chunks that this gave.
"""


def link_section() -> Iterator[str]:
    """Phase level against link level with many chunks in flight."""
    yield TEXT
    yield "| topology | algorithm | size | " + " | ".join(f"{count} chunks" for count in CHUNKS) + " |"
    yield "|---|---|---|" + "--:|" * len(CHUNKS)
    for name, block in BLOCKS.items():
        for algorithm in ALGORITHMS:
            for size in SIZES:
                cells = " | ".join(f"{_link_ratio(block, algorithm, size, count):.3f}" for count in CHUNKS)
                yield f"| {name} | {algorithm} | {size} | {cells} |"
    yield ""


def _link_ratio(block: dict[str, Any], algorithm: str, size: str, chunks: int) -> float:
    dimension = {"size": 8, "bandwidth": "100 GB/s", "latency": "500 ns", "tier": "pod", **block}
    design = design_from(
        {
            "workload": {"collective": "all_reduce", "size": size},
            "cluster": {"npu": "a100-80gb", "dimensions": [dimension]},
            "system": {"collective": [algorithm], "chunks": chunks},
        }
    )
    return simulate(design, "reference_links").iteration_time_s / simulate(design).iteration_time_s
