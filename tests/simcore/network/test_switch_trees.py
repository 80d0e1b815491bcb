"""Switches that add up and copy: flows over their links and the closed forms say the same, on trees of every kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from idle_links import Idle

from simcore import load_design, simulate
from simcore.network import TREE_KINDS, Clos, Slice, block
from simcore.result import Result
from simcore.system.phase_cost import phase_cost, tree_cost

Document = dict[str, Any]
BYTE_A_PICOSECOND = 1e12
SIZE = 48.0 * 27_720  # of which every share here takes a whole number of picoseconds


@pytest.mark.parametrize("kind", TREE_KINDS)
def test_flows_take_as_long_as_the_closed_form_on_idle_trees(kind: str) -> None:
    checked = 0
    for size in (2, 4, 6, 8, 12):
        for leaf in (leaf for leaf in range(1, size + 1) if size % leaf == 0):
            for part in (Slice(size, m, s) for m in range(2, size + 1) for s in (1, 2, 4) if size % (m * s) == 0):
                its = block("fat_tree", leaf, 3.0)
                tree = its.tree(part)
                if its.needs(part) or tree is None:
                    continue
                cost = tree_cost(kind, tree, part.members)
                for latency in (0, 7, round(SIZE)):
                    took = Idle(its, BYTE_A_PICOSECOND, latency / 1e12).collective(
                        "ring", kind, part, SIZE, in_network=True
                    )
                    assert took == round(cost.load * SIZE) + cost.hops * latency, (part, leaf, latency)
                    checked += 1
    assert checked > 50


@pytest.mark.parametrize("kind", TREE_KINDS)
@pytest.mark.parametrize(("pod", "over"), [(0, (4.0,)), (8, (2.0, 3.0))])
def test_flows_take_as_long_as_the_closed_form_on_an_idle_clos(kind: str, pod: int, over: tuple[float, ...]) -> None:
    its = Clos.of(4, over, {"pod": pod} if pod else {})
    for part in (Slice(24, 24, 1), Slice(24, 8, 1), Slice(24, 4, 1), Slice(24, 12, 2), Slice(24, 3, 8)):
        tree = its.tree(part)
        cost = tree_cost(kind, tree, part.members)
        took = Idle(its, BYTE_A_PICOSECOND, 7e-12).collective("ring", kind, part, SIZE, in_network=True)
        expected = cost.load * SIZE + cost.hops * 7
        if part.stride == 1:
            assert took == pytest.approx(expected, abs=part.members)  # each flow is rounded
        else:
            assert took <= expected + part.members  # other groups, which have their share of the uplinks, are idle


def test_groups_of_a_clos_share_its_uplinks() -> None:
    its = Clos.of(8, (4.0, 2.0), {"pod": 16})
    whole, thin = (
        tree_cost("all_reduce", its.tree(part), part.members) for part in (Slice(64, 64, 1), Slice(64, 8, 8))
    )
    assert whole.load == 1.0
    assert thin.load == 4.0
    assert tree_cost("all_reduce", its.tree(Slice(64, 4, 16)), 4).load == 8.0
    assert [its.tree(part).meeting for part in (Slice(64, 64, 1), Slice(64, 8, 8), Slice(64, 4, 16))] == [1, 8, 16]


def network(*dimensions: Document) -> list[Document]:
    usual = {"topology": "switch", "bandwidth": "100 GB/s", "latency": "1 us"}
    return [{**usual, **dimension} for dimension in dimensions]


def run(kind: str, dimensions: list[Document], engine: str = "fast", size: float = SIZE, **system: Any) -> Result:
    document = {
        "workload": {"collective": kind, "size": f"{size} B"},
        "cluster": {"npu": "h100-80gb", "dimensions": dimensions},
        "system": {"chunks": 1, **system},
    }
    return simulate(load_design(document), engine)


@st.composite
def hierarchies(draw: st.DrawFn) -> list[Document]:
    """One to three levels, of which any may reduce."""
    dimensions = []
    for size in draw(st.lists(st.sampled_from([2, 3, 4]), min_size=1, max_size=3)):
        reducing = draw(st.sampled_from([True, True, False]))
        tree = {"topology": "fat_tree", "leaf": draw(st.sampled_from([1, size])), "oversubscription": 2.0}
        dimensions.append(
            {"size": size, "in_network": reducing, "collective": "ring", **draw(st.sampled_from([{}, tree]))}
        )
    return network(*dimensions)


@given(hierarchies(), st.sampled_from(TREE_KINDS), st.sampled_from(["tree", "scatter"]))
def test_one_chunk_takes_as_long_on_the_links_as_its_phases_on_every_hierarchy(
    dimensions: list[Document], kind: str, reduction: str
) -> None:
    if kind == "broadcast":  # round a ring it goes in two directions of a fat tree, at the pace of the slower one
        dimensions = [{**dimension, "in_network": True} for dimension in dimensions]
    phases, links = (run(kind, dimensions, engine, reduction=reduction) for engine in ("fast", "reference_links"))
    oversubscribed = any("leaf" in dimension for dimension in dimensions)
    if oversubscribed and not all(dimension["in_network"] for dimension in dimensions):
        assert links.iteration_time_s <= phases.iteration_time_s * (1 + 1e-9)  # a shift mixes near and far hops
    else:
        assert links.iteration_time_s == pytest.approx(phases.iteration_time_s, abs=0.5e-12)


@pytest.mark.parametrize(
    ("reduction", "reducing", "expected"),
    [
        ("tree", (True, True, True), (1, 1 / 4, 1 / 8)),  # one sum of S from each switch, over the NPUs below it
        ("scatter", (True, True, True), (6 / 4, 1 / 4, 1 / 8)),
        ("scatter", (False, False, False), (6 / 4, 1 / 4, 6 / 4 / 8)),
        ("tree", (True, False, False), (5 / 4, 1 / 4, 6 / 4 / 8)),  # halves around the rest: S up and S / 4 down
        ("tree", (False, True, True), (6 / 4, 1 / 4, 1 / 8)),
        ("tree", (False, False, True), (6 / 4, 1 / 4, 1 / 8)),
    ],
)
def test_an_all_reduce_sends_what_trees_and_scattering_leave(
    reduction: str, reducing: tuple[bool, ...], expected: tuple[float, ...]
) -> None:
    sizes = (4, 2, 4)
    dimensions = network(*({"size": n, "in_network": it} for n, it in zip(sizes, reducing, strict=True)))
    sent = [use.bytes_per_npu / SIZE for use in run("all_reduce", dimensions, reduction=reduction).network]
    assert sent == pytest.approx(expected)


def test_a_broadcast_over_a_tree_passes_each_uplink_once() -> None:
    dimensions = network({"size": 4, "in_network": True}, {"size": 4, "in_network": True, "bandwidth": "1 GB/s"})
    tree, scatter = (run("broadcast", dimensions, reduction=way).iteration_time_s for way in ("tree", "scatter"))
    slow = SIZE / 1e9
    assert tree == pytest.approx(slow / 4 + SIZE / 100e9 + 2e-6, rel=1e-6)
    assert scatter == pytest.approx(slow + SIZE / 100e9 + 2e-6, rel=1e-6)


@pytest.mark.parametrize("kind", TREE_KINDS)
@pytest.mark.parametrize("members", [2, 3, 8])
def test_switches_never_load_links_more_than_the_algorithm(kind: str, members: int) -> None:
    for over in (1.0, 2.0, 8.0):
        for part in (Slice(16, members, 1), Slice(16, members, 2)):
            its = block("fat_tree", 4, over)
            if members == 3 or its.needs(part):
                its = block("switch")
            there, without = (phase_cost("ring", its, kind, part, way) for way in (True, False))
            assert there.occupied <= without.occupied + 1e-12
            assert there.load <= without.load + 1e-12


def test_two_members_gain_nothing_from_a_switch_that_reduces() -> None:
    pair = network({"size": 2, "in_network": True})
    with_it, without = run("all_reduce", pair), run("all_reduce", network({"size": 2}))
    assert with_it.iteration_time_s == pytest.approx(without.iteration_time_s)


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_gather"])
def test_multicast_takes_the_oversubscription_off_what_leaves_a_leaf(kind: str) -> None:
    tree = {"topology": "fat_tree", "size": 16, "leaf": 8, "oversubscription": 4.0, "collective": "ring"}
    size = SIZE / 16 if kind == "all_gather" else SIZE
    with_it, without = (run(kind, network({**tree, "in_network": way}), size=size) for way in (True, False))
    hops = 2 if kind == "all_gather" else 4
    assert with_it.iteration_time_s == pytest.approx(SIZE / 100e9 + hops * 1e-6, rel=1e-6)
    assert without.iteration_time_s > 3 * with_it.iteration_time_s


def test_ports_of_one_switch_carry_less_without_it_in_an_all_gather() -> None:
    with_it, without = (run("all_gather", network({"size": 8, "in_network": way})) for way in (True, False))
    assert with_it.iteration_time_s == without.iteration_time_s


def test_chunks_of_an_all_reduce_use_both_directions_around_another_dimension() -> None:
    dimensions = network({"size": 8, "in_network": True}, {"size": 2, "bandwidth": "10 TB/s"})

    def seconds(engine: str, policy: str) -> float:
        system = {"chunks": 32, "intra_dimension": policy}
        return run("all_reduce", dimensions, engine, size=8e8, **system).iteration_time_s

    whole = 8e8 / 100e9
    assert seconds("fast", "scf") == pytest.approx(9 / 8 * whole, rel=0.08)
    assert seconds("reference_links", "scf") == pytest.approx(9 / 8 * whole, rel=0.08)
    # First come, first served: what goes up of all chunks is before what comes down of any.
    assert seconds("reference_links", "fifo") == pytest.approx(2 * whole, rel=0.01)
