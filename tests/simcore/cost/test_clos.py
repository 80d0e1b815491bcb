"""Switches and cables of published networks, by the rules of `simcore.cost.clos`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.cost.clos import Clos, cable
from simcore.document.problem import Refusal

H100 = [
    (4, 32, 16, 0, 1024, 1024, 0),
    (8, 64, 32, 0, 2048, 2048, 0),
    (16, 128, 128, 64, 4096, 4096, 4096),
    (32, 256, 256, 128, 8192, 8192, 8192),
    (64, 512, 512, 256, 16384, 16384, 16384),
]
"""Units of 32 nodes, leaves, spines, cores, cables between nodes and leaves, leaves and spines, spines and cores:
NVIDIA DGX SuperPOD with DGX H100, RA-11333-001 V11 (2023-09-22), table 3."""


def counts(tree: Clos) -> tuple[int, ...]:
    return tree.leaves, tree.spines, tree.cores, tree.node_links, tree.leaf_links, tree.spine_links


@pytest.mark.parametrize(("units", "leaves", "spines", "cores", "down", "middle", "top"), H100)
def test_a_superpod_of_h100_has_the_published_switches_and_cables(
    units: int, leaves: int, spines: int, cores: int, down: int, middle: int, top: int
) -> None:
    assert counts(cable(32 * units, 8, 64)) == (leaves, spines, cores, down, middle, top)


@pytest.mark.parametrize(
    ("units", "nodes", "leaves", "spines", "with_manager", "middle"),
    [(1, 31, 8, 4, 252, 256), (2, 63, 16, 8, 508, 512), (3, 95, 24, 16, 764, 768), (4, 127, 32, 16, 1020, 1024)],
)
def test_a_superpod_with_its_fabric_manager_has_the_published_switches_and_cables(
    units: int, nodes: int, leaves: int, spines: int, with_manager: int, middle: int
) -> None:
    """Ibid., table 4; that of DGX B200 (network-fabrics of its reference architecture) is the same."""
    tree = cable(nodes, 8, 64)
    assert nodes == 32 * units - 1
    assert counts(tree) == (leaves, spines, 0, with_manager - 4, middle, 0)  # 4 of the cables are the manager's


@pytest.mark.parametrize("units", [2, 4, 8, 16, 32, 64])
def test_a_superpod_of_b200_is_cabled_as_one_of_h100(units: int) -> None:
    """NVIDIA DGX SuperPOD with DGX B200, network-fabrics: its larger table, units of 32 nodes of 8 NICs at 400 Gb/s."""
    published = {row[0]: row[1:] for row in H100} | {2: (16, 8, 0, 512, 512, 0)}
    assert counts(cable(32 * units, 8, 64)) == published[units]


def test_a_superpod_of_140_a100_nodes_has_the_published_switches() -> None:
    """NVIDIA DGX SuperPOD with DGX A100, RA-09950-001: 7 units of 20 nodes, switches of 40 ports."""
    assert counts(cable(140, 8, 40)) == (56, 80, 28, 1120, 1120, 1120)


@pytest.mark.parametrize(
    ("units", "leaves", "spines", "cables"),
    [(1, 8, 4, 576), (2, 16, 8, 1152), (4, 32, 18, 2304), (8, 64, 36, 4608), (18, 144, 72, 10368)],
)
def test_a_superpod_of_b300_at_800_gb_per_s_has_the_published_switches_and_cables(
    units: int, leaves: int, spines: int, cables: int
) -> None:
    """NVIDIA DGX SuperPOD with DGX B300 (XDR): units of 72 nodes, switches of 144 ports."""
    assert counts(cable(72 * units, 8, 144)) == (leaves, spines, 0, cables, cables, 0)


@pytest.mark.parametrize(
    ("units", "leaves", "spines"), [(1, 16, 8), (2, 32, 16), (4, 64, 32), (8, 128, 64), (16, 256, 128)]
)
def test_two_planes_of_b300_have_the_published_switches(units: int, leaves: int, spines: int) -> None:
    """NVIDIA DGX SuperPOD with DGX B300 (Spectrum-X): units of 64 nodes, two planes of 128 ports at 400 Gb/s."""
    tree = cable(64 * units, 8, 128).times(2)
    assert (tree.leaves, tree.spines) == (leaves, spines)


def test_sixteen_units_of_gb300_have_the_published_switches() -> None:
    """NVIDIA DGX SuperPOD with DGX GB300: 8 racks of 18 trays with 4 NICs a unit, switches of 144 ports."""
    assert counts(cable(16 * 8 * 18, 4, 144)) == (128, 72, 0, 9216, 9216, 0)


@pytest.mark.parametrize(("nodes", "switches"), [(8, 1), (9, 5)])
def test_one_switch_joins_as_many_nics_as_it_has_ports(nodes: int, switches: int) -> None:
    assert cable(nodes, 8, 64).switches == switches


@given(
    st.integers(1, 600), st.integers(1, 16), st.sampled_from([32, 40, 64, 128, 144]), st.sampled_from([1.0, 2.0, 3.0])
)
def test_no_switch_has_more_links_than_ports_and_no_leaf_too_few_uplinks(
    nodes: int, rails: int, radix: int, oversubscription: float
) -> None:
    tree = cable(nodes, rails, radix, oversubscription)
    assert tree.node_links == nodes * rails
    assert tree.node_links + tree.leaf_links <= radix * tree.leaves
    assert tree.leaf_links + tree.spine_links <= radix * tree.spines
    assert tree.spine_links <= radix * tree.cores
    assert tree.leaves == 1 or tree.leaf_links * oversubscription >= tree.node_links


@given(st.integers(2, 64), st.integers(1, 8))
def test_thinner_trees_have_fewer_switches_above_their_leaves(nodes: int, rails: int) -> None:
    full, thin = (cable(4 * nodes, rails, 32, ratio, leaf=8) for ratio in (1.0, 4.0))
    assert thin.spines + thin.cores <= full.spines + full.cores


def test_more_nics_than_three_levels_have_are_refused_with_both_numbers() -> None:
    with pytest.raises(Refusal, match=r"switches of 64 ports can join, got 800,000; at most 65,536 fit"):
        cable(100_000, 8, 64)


def test_pods_that_switches_cannot_join_are_refused_by_their_name() -> None:
    """Without pods there is a tree of three levels."""
    assert cable(4096, 8, 64, 1.0, 32).cores
    assert cable(4096, 8, 64, 1.0, 32, 512).cores
    with pytest.raises(Refusal, match=r"pods that switches of 64 ports can join, got pods of 256 nodes; leave 'pod'"):
        cable(4096, 8, 64, 1.0, 32, 256)


def test_a_leaf_with_too_many_nodes_is_refused_with_what_fits() -> None:
    with pytest.raises(Refusal, match=r"a leaf of 64 ports with a port up for 1 down, got 40 down; at most 32 fit"):
        cable(128, 8, 64, 1.0, 40)
