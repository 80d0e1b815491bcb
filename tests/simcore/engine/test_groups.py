"""Uneven groups of a collective, and store-and-forward switching."""

from __future__ import annotations

from typing import Any

import pytest
from drawn_designs import npu
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.check.check import check
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.simulate import simulate

KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")


def collective(groups: list[int] | None, topology: str = "switch", kind: str = "all_reduce", **more: Any) -> Design:
    sizes = [sum(groups) if groups else 8, *more.pop("outer", [])]
    dimensions = [{"topology": topology, "size": n, "bandwidth": "25 GB/s", "latency": "700 ns"} for n in sizes]
    dimensions[0]["collective"] = more.pop("algorithm", "ring")
    workload: dict[str, Any] = {"collective": kind, "size": "6 MB"} | ({"groups": groups} if groups else {})
    document = {"workload": workload, "cluster": {"npu": npu("1 us"), "dimensions": dimensions, **more}}
    return design_from({**document, "system": {"chunks": 4}})


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(2, 6), min_size=1, max_size=4),
    st.sampled_from(["switch", "fully_connected", "ring", "mesh"]),
    st.sampled_from(KINDS),
    st.sampled_from([[], [2]]),
)
def test_both_engines_play_uneven_groups_alike(groups: list[int], topology: str, kind: str, outer: list[int]) -> None:
    design = collective(groups, topology, kind, outer=outer)
    assert not check(design)
    fast, reference = simulate(design), simulate(design, "reference")
    assert fast.iteration_time_s == reference.iteration_time_s
    least = bound(design)["iteration_time"]
    assert least is not None
    assert least <= fast.iteration_time_s


def test_the_slowest_group_decides_and_groups_of_a_switch_do_not_meet() -> None:
    together = simulate(collective([5, 3]), "reference_links").iteration_time_s
    alone = [simulate(collective([n]), "reference_links").iteration_time_s for n in (5, 3)]
    assert together == max(alone)


def test_one_group_of_all_is_the_usual_collective() -> None:
    assert simulate(collective([8])).iteration_time_s == simulate(collective(None)).iteration_time_s


def test_groups_that_do_not_fill_the_dimension_or_suit_the_algorithm_are_told_together() -> None:
    document = collective([5, 3]).document()
    document["workload"]["groups"] = [5, 2]
    document["system"]["collective"] = ["halving_doubling"]
    found = [problem.expected for problem in check(Design.model_validate(document)) if problem.path[1] == "groups"]
    assert found == ["groups that fill the 8 NPUs of cluster.dimensions[0]", "a power of two for 'halving_doubling'"]


def test_storing_and_forwarding_takes_longer_over_several_hops_only() -> None:
    def seconds(kind: str, topology: str, switching: str) -> float:
        design = collective(None, topology, kind, switching=switching)
        return simulate(design, "reference_links").iteration_time_s

    assert seconds("send_recv", "mesh", "store_and_forward") > seconds("send_recv", "mesh", "cut_through")
    assert seconds("all_gather", "ring", "store_and_forward") == seconds("all_gather", "ring", "cut_through")


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_engines_of_phases_refuse_to_store_and_forward(engine: str) -> None:
    with pytest.raises(InputError, match="reference_links"):
        simulate(collective(None, switching="store_and_forward"), engine)


def test_the_keys_survive_the_canonical_document() -> None:
    design = collective([5, 3], switching="store_and_forward")
    assert design_from(design.document()).document() == design.document()
    assert "switching" not in collective(None).document()["cluster"]
