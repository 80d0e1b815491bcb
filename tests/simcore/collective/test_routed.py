"""Tokens on their way to experts: copies by counting, phases by hand, what kernels take against DeepEP's own times."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.collective.routed import Routing, Way, by_network_alone, kernel_seconds, routed_of
from simcore.system.chunks import Chunker, Chunks
from simcore.system.placement import place


def counted(routing: Routing, shares: int) -> float:
    """Different shares of the experts of every choice that a router has, on average."""
    experts, top_k, groups, top_groups = routing
    size = experts // groups
    found = []
    for chosen in combinations(range(groups), top_groups):
        allowed = [expert for expert in range(experts) if expert // size in chosen]
        found += [len({expert * shares // experts for expert in taken}) for taken in combinations(allowed, top_k)]
    return sum(found) / len(found)


@given(
    st.sampled_from([(4, 2, 1, 1), (6, 3, 1, 1), (8, 2, 4, 2), (8, 3, 4, 3), (12, 3, 3, 2), (12, 2, 6, 1)]),
    st.sampled_from([1, 2, 3, 4, 6, 12]),
)
def test_copies_are_those_of_all_choices(numbers: tuple[int, int, int, int], shares: int) -> None:
    routing = Routing(*numbers)
    if routing.experts % shares == 0:
        assert routing.copies(shares) == pytest.approx(counted(routing, shares))


def test_deepseek_v3_sends_a_token_to_at_most_four_of_eight_nodes_and_to_fewer_on_average() -> None:
    free, limited = Routing(256, 8), Routing(256, 8, 8, 4)
    assert free.copies(8) == pytest.approx(8 * (1 - 0.338), rel=1e-3)  # C(224, 8) / C(256, 8)
    assert 3.5 < limited.copies(8) < 4
    assert limited.copies(64) < free.copies(64) < 8
    assert free.copies(256) == pytest.approx(8)


def test_a_kind_says_its_routing() -> None:
    routing = Routing(256, 8, 8, 4)
    routed = routed_of(routing.kind("combine", 14336))
    assert routed is not None
    assert (routed.way, routed.routing, routed.row) == ("combine", routing, 14336)
    assert by_network_alone(routing.kind("combine", 14336)) == routing.kind("combine")
    assert routed_of("all_to_all") is None


def test_hybrid_ep_moves_tokens_faster_than_deepep_and_its_network_is_the_same() -> None:
    routing = Routing(256, 8)
    by_deepep, by_hybrid = routing.kind("dispatch", 4096), routing.kind("dispatch", 4096, "hybridep")
    assert by_network_alone(by_hybrid) == by_network_alone(by_deepep)
    slow, quick = [routed for kind in (by_deepep, by_hybrid) if (routed := routed_of(kind)) is not None]
    assert (quick.row, quick.library, slow.library) == (4096, "hybridep", "deepep")
    assert sum(kernel_seconds(quick, 1e8, 8)) < 0.6 * sum(kernel_seconds(slow, 1e8, 8))


def split(kind: str, size: float, nodes: int = 4, fabric: str = "dgx-h100") -> Chunks:
    document: dict[str, Any] = {
        "workload": {"collective": "all_to_all", "size": "1 MB"},
        "cluster": {"npu": "h100-80gb", "fabric": fabric, "npus": 8 * nodes},
        "system": {"chunks": 16},
    }
    design = design_from(document)
    group = next(slices for slices in place(design)[0].values() if slices)
    return Chunker(design).split_collective(kind, group, size)


def test_a_token_crosses_the_nics_once_a_node_and_the_links_of_a_node_once_an_npu() -> None:
    routing = Routing(256, 8)
    size = 1e6 * 16
    ((outer, inner),) = split(routing.kind("dispatch"), size).paths
    assert (outer.dimension, inner.dimension) == (1, 0)
    assert outer.sent == pytest.approx(1e6 * routing.copies(4) * 3 / 4)
    assert inner.sent == pytest.approx(1e6 * routing.copies(32) * 7 / 8)
    ((first, second),) = split(routing.kind("combine"), size).paths
    assert (first, second) == (inner, outer)
    ((plain, _),) = split("all_to_all", 8 * size).paths  # a row for each of eight experts
    assert plain.sent > inner.sent


def test_a_kernel_takes_what_it_reads_and_the_longer_of_what_it_copies_and_what_the_links_carry() -> None:
    routing, row, size = Routing(256, 8), 14336, 1e6 * 16
    routed = routed_of(routing.kind("dispatch", row))
    assert routed is not None
    first, copied = kernel_seconds(routed, 1e6, 32)
    ((_, bare),) = split(routing.kind("dispatch"), size).paths
    ((_, moved),) = split(routing.kind("dispatch", row), size).paths
    assert moved.serialization == pytest.approx(first * 1e12 + max(copied * 1e12, bare.serialization), abs=2)
    assert moved.latency > bare.latency


@pytest.mark.parametrize(
    ("fabric", "tokens", "hidden", "top_k", "experts", "dispatch", "combine"),
    [  # aiconfigurator wideep_deepep_normal sglang/0.5.12: 8 GPUs, 8 bits there, 16 bits back, 24 multiprocessors
        ("dgx-h100", 16384, 7168, 8, 256, 1936.3e-6, 3598.7e-6),
        ("dgx-h100", 131072, 2048, 8, 128, 6851.2e-6, 8486.5e-6),
        ("dgx-h100", 131072, 6144, 4, 128, 8605.1e-6, 15280e-6),
        ("dgx-b200", 16384, 7168, 8, 256, 1637.2e-6, 2634.3e-6),
        ("dgx-b200", 65536, 4096, 22, 512, 6234.8e-6, 9329.0e-6),
        ("dgx-b200", 131072, 6144, 4, 128, 8613.6e-6, 13950e-6),
    ],
)
def test_kernels_inside_a_node_take_what_deepep_takes(
    fabric: str, tokens: int, hidden: int, top_k: int, experts: int, dispatch: float, combine: float
) -> None:
    """To 30 %: the model's kernels have 20 multiprocessors, those measured 24."""
    routing = Routing(experts, top_k)
    for kind, bytes_each, measured in (("dispatch", 1 + 4 / 128, dispatch), ("combine", 2, combine)):
        row = int(hidden * bytes_each)
        chunks = split(routing.kind(kind, row), tokens * row, 1, fabric)  # type: ignore[arg-type]
        took = sum(path[0].serialization * count for path, count in chunks.count_paths()) / 1e12
        assert measured * 0.95 < took < measured * 1.3


@pytest.mark.parametrize(
    ("npus", "row", "way", "rate"),
    [  # DeepEP, branch hybrid-ep, docs/README_Hybrid-EP.md: GB200, 32 multiprocessors, GB/s of all copies
        (8, 14336, "dispatch", 764.03e9),
        (16, 7168, "dispatch", 650.48e9),
        (16, 14336, "combine", 666.26e9),
        (32, 14336, "dispatch", 642.23e9),
        (36, 14336, "combine", 596.99e9),
    ],
)
def test_hybrid_ep_inside_a_domain_takes_what_its_kernels_take(npus: int, row: int, way: Way, rate: float) -> None:
    routing, size = Routing(8 * npus, 8), 4096.0 * row
    document: dict[str, Any] = {
        "workload": {"collective": "all_to_all", "size": "1 MB"},
        "cluster": {"npu": "gb200", "fabric": "gb200-nvl72", "npus": npus},
    }
    design = design_from(document)
    group = next(slices for slices in place(design)[0].values() if slices)
    chunks = Chunker(design).split_collective(routing.kind(way, row, "hybridep"), group, size)
    took = sum(path[0].serialization * count for path, count in chunks.count_paths()) / 1e12
    assert took == pytest.approx(size * routing.copies(npus) / rate, rel=0.15)
