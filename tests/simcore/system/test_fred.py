"""FRED's fabrics (ISCA 2025, arXiv 2406.19580): bytes, times of all-reduces and hot spots of input and output."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import load_design, simulate
from simcore.network import Slice, block
from simcore.system.chunks import Chunker
from simcore.system.edge import busiest_edge_link, edge_share
from simcore.system.phase_cost import phase_cost
from simcore.system.placement import GroupSlice

MS = 1e-3
GB = 1e9
PUBLISHED = {  # section 8.1, time of 1 GB: what an NPU sends over its effective bandwidth
    "fred-mesh": (1.9 / 1500, 1.0 / 750, 1.6 / 750),
    "fred-a": (1.9 / 1875, 1.0 / 3000, 1.6 / 375),
    "fred-b": (1.0 / 1500, 1.0 / 3000, 1.0 / 375),
    "fred-c": (1.9 / 3000, 1.0 / 3000, 1.6 / 3000),
    "fred-d": (1.0 / 3000, 1.0 / 3000, 1.0 / 3000),
}
"""All-reduces of all 20 NPUs, of 2 neighbours and of 5 NPUs under different switches [s]."""


def load(fabric: str, **system: Any) -> Chunker:
    document = {
        "workload": {"collective": "all_reduce", "size": "1 GB"},
        "cluster": {"npu": "h100-80gb", "fabric": fabric, "npus": 20},
        "system": {"chunks": 64, **system},
    }
    return Chunker(load_design(document))


def seconds(chunker: Chunker, group: list[GroupSlice], steps: bool = False) -> float:
    """Time of the busiest dimension of an all-reduce of 1 GB; latencies and the first chunk's way are left out.

    `steps`: those of an algorithm one after the other, even if they use different links.
    """
    busy: dict[int, float] = {}
    split = chunker.split_collective("all_reduce", group, GB)
    for path, chunks in split.count_paths():
        for phase in path:
            time = phase.serialization + (phase.other_links if steps else 0)
            busy[phase.dimension] = busy.get(phase.dimension, 0.0) + chunks * time * 1e-12
    return max(busy.values())


def groups(chunker: Chunker) -> tuple[list[GroupSlice], list[GroupSlice], list[GroupSlice]]:
    """MP(20), and of MP(2)-DP(5)-PP(2) the groups of MP and DP."""
    if len(chunker.design.cluster.dimensions) == 1:
        return [GroupSlice(0, Slice(20, 20, 1))], [GroupSlice(0, Slice(20, 2, 1))], [GroupSlice(0, Slice(20, 5, 4))]
    inner, outer = Slice(4, 4, 1), GroupSlice(1, Slice(5, 5, 1))
    return [GroupSlice(0, inner), outer], [GroupSlice(0, Slice(4, 2, 1))], [outer]


@pytest.mark.parametrize("fabric", PUBLISHED)
def test_all_reduces_take_what_the_effective_bandwidths_of_the_paper_say(fabric: str) -> None:
    # The paper's mesh sends half of the chunks X first and half Y first, which themis comes near, by logical rings. On
    # a line ours are sweeps, of which those of several chunks use different links at the same time.
    mesh = fabric == "fred-mesh"
    chunker = load(fabric, inter_dimension="themis" if mesh else "baseline")
    took = [seconds(chunker, group, steps=mesh) for group in groups(chunker)]
    assert all(seconds(chunker, group) <= time for group, time in zip(groups(chunker), took, strict=True))
    exact = fabric not in ("fred-mesh", "fred-a")
    assert took[0] == pytest.approx(PUBLISHED[fabric][0], rel=1e-6 if exact else 0.06)
    assert took[1:] == pytest.approx(PUBLISHED[fabric][1:], rel=1e-6)


@pytest.mark.parametrize(("members", "ratio"), [(2, 1.0), (4, 2 / 3), (5, 5 / 8), (20, 10 / 19)])
def test_a_switch_that_reduces_passes_on_n_of_2_n_minus_1_parts_of_the_bytes(members: int, ratio: float) -> None:
    part = Slice(members, members, 1)
    there, without = (phase_cost("ring", block("switch"), "all_reduce", part, way) for way in (True, False))
    assert there.sent / without.sent == pytest.approx(ratio)
    assert there.load / without.load == pytest.approx(ratio)


@pytest.mark.parametrize("over", [1.0, 2.0, 8.0])
def test_two_levels_are_the_same_as_two_dimensions_and_as_a_fat_tree(over: float) -> None:
    tree = block("fat_tree", 4, over)
    levels = max(1.0, over / 4)  # each L1 switch passes 1 byte on, over 4 links of 1 / over
    assert phase_cost("ring", tree, "all_reduce", Slice(20, 20, 1), True).load == levels
    assert phase_cost("ring", tree, "all_reduce", Slice(20, 5, 4), True).load == over
    assert phase_cost("ring", tree, "all_reduce", Slice(20, 2, 1), True).load == 1.0


def trees_of_controllers(width: int, height: int) -> int:
    """The busiest link where a controller at each open side broadcasts to all NPUs, link by link.

    Its data go straight on from the edge through the whole row or column, and from there to both sides.
    """
    right = [[0] * (width - 1) for _ in range(height)]
    for column in range(width):
        for _ in ("above", "below"):
            for row in range(height):
                for x in range(column, width - 1):
                    right[row][x] += 1
    for row in range(height):  # from the left; those from the right go the other way
        for x in range(width - 1):
            right[row][x] += 1
    return max(max(row) for row in right)


@pytest.mark.parametrize(("width", "height"), [(4, 4), (5, 4), (4, 5), (6, 6)])
def test_the_busiest_link_carries_the_controllers_that_the_paper_counts(width: int, height: int) -> None:
    counted = max(trees_of_controllers(width, height), trees_of_controllers(height, width))
    assert busiest_edge_link(width, height) == counted == 2 * max(width, height) - 1


def test_controllers_of_the_5_by_4_mesh_reach_065_of_their_rate() -> None:
    document = {
        "workload": {"model": "gpt3-175b", "global_batch": 80},
        "parallelism": {"tensor": 2, "pipeline": 2},
        "cluster": {
            "npu": "h100-80gb",
            "fabric": "fred-mesh",
            "npus": 20,
            "placement": ["tensor", "context", "pipeline", "data"],
            "memory": {"expanded": {"capacity": "10 TB", "bandwidth": "2304 GB/s", "shared_by": 20, "edge": True}},
        },
    }
    assert edge_share(load_design(document)) == pytest.approx(0.65, abs=0.002)
    slow = simulate(load_design(document)).iteration_time_s
    document["cluster"]["memory"]["expanded"]["edge"] = False  # type: ignore[index]
    assert simulate(load_design(document)).iteration_time_s < slow
