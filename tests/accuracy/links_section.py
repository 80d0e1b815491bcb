"""Phases against single messages on links, many chunks in flight, for `docs/accuracy-details.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
PAIRS: dict[str, tuple[str, str, str, str]] = {
    "both as busy": ("switch", "100 GB/s", "switch", "25 GB/s"),
    "the inner one busier": ("switch", "50 GB/s", "switch", "50 GB/s"),
    "the outer one busier": ("switch", "200 GB/s", "switch", "12.5 GB/s"),
    "both as busy, the inner one a mesh": ("mesh", "100 GB/s", "switch", "32 GB/s"),
}
"""Topology and bandwidth of the inner dimension of 4 NPUs and of the outer one of 8."""

TEXT = """\
## Phases against messages

The simulator has two network models: phases (engine `fast`) and single messages on links (engine
`reference_links`). The tables show the time of an all-reduce with messages over its time with phases. First one
dimension of 8 NPUs, 100 GB/s, 500 ns (the fat tree has leaves of 4). One chunk on an idle network is equal by
construction, but for double binary trees, and for rings over several leaves, whose slow and fast hops overlap. With
many chunks in flight, messages of different chunks share links in another order.
"""
TWO = """\
Then two dimensions, of 4 NPUs inside and 8 outside, 64 MiB, 100 ns.
"""
WHY = """\
What is more than 5 % off at 1 MiB and more:

- **A few chunks, or messages that take less than a step's latency: phases are too slow** (below 1). A dimension
  serves chunk after chunk. The last one's waits (latencies, and steps on other links than the busiest) are not
  filled, once in its reduce-scatter and once in its all-gather. Messages of all chunks take turns and fill each
  other's waits. What sticks out does not grow with chunks or bytes: of `halving_doubling` among all connected 16 %
  with 4 chunks, 1 % with 64. A message of 1 MiB in 64 chunks is 2 KiB for a ring: 20 ns on the wire, and 500 ns on
  its way.
- **Double binary trees at switches take 1.24 times as long with messages** (1.37 at a fat tree). All chunks' leaves
  send at once, first come, first served; what comes down from the roots waits behind them, and ports are idle at the
  end. A library lets only a few pieces into the network (NCCL's slots) and comes nearer to the phases. *One* chunk on
  fully connected links takes half of the closed form, which lets a member talk to one peer at a time, as at a switch.
- **`halving_doubling` on an oversubscribed fat tree takes 1.07 times as long.** A message that comes slowly from a
  spine holds the receiver's port until its last byte. Packets of other messages could pass in between.
- **Two dimensions that are equally busy take 1.2 to 1.5 times as long with `ring` and `halving_doubling`**: the steps
  of all chunks take turns, so all chunks leave the first dimension late and together, and the second one waits.
  `direct` has one step a phase: its chunks leave in order, and both models agree. Phases keep chunks in order, as the
  channels of a library do. Where one dimension is clearly the busiest, order matters less.
"""


def link_section() -> Iterator[str]:
    """Phase level against link level with many chunks in flight."""
    yield TEXT
    yield from _header("topology", "algorithm", "size")
    for name, block in BLOCKS.items():
        for algorithm in ALGORITHMS:
            for size in SIZES:
                one = {"size": 8, "bandwidth": "100 GB/s", "latency": "500 ns", "tier": "pod", **block}
                yield _row([name, algorithm, size], [one], algorithm, size)
    yield f"\n{TWO}"
    yield from _header("dimensions", "algorithm")
    for name, (inner, fast, outer, slow) in PAIRS.items():
        for algorithm in ALGORITHMS[:3]:
            pair = [(inner, 4, fast, "node"), (outer, 8, slow, "pod")]
            dimensions = [
                {"topology": topology, "size": size, "bandwidth": bandwidth, "latency": "100 ns", "tier": tier}
                for topology, size, bandwidth, tier in pair
            ]
            yield _row([name, algorithm], dimensions, algorithm, "64 MiB")
    yield f"\n{WHY}"


def _header(*columns: str) -> Iterator[str]:
    counts = [f"{count} chunk{'s' if count > 1 else ''}" for count in CHUNKS]
    yield "| " + " | ".join([*columns, *counts]) + " |"
    yield "|" + "---|" * len(columns) + "--:|" * len(CHUNKS)


def _row(names: Sequence[str], dimensions: list[dict[str, Any]], algorithm: str, size: str) -> str:
    ratios = (f"{_link_ratio(dimensions, algorithm, size, count):.3f}" for count in CHUNKS)
    return "| " + " | ".join([*names, *ratios]) + " |"


def _link_ratio(dimensions: list[dict[str, Any]], algorithm: str, size: str, chunks: int) -> float:
    design = design_from(
        {
            "workload": {"collective": "all_reduce", "size": size},
            "cluster": {"npu": "a100-80gb", "dimensions": dimensions},
            "system": {"collective": [algorithm] * len(dimensions), "chunks": chunks},
        }
    )
    return simulate(design, "reference_links").iteration_time_s / simulate(design, "fast").iteration_time_s
