"""Switches that reduce for a number of groups at the same time: who gets a tree, and what the others do."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import load_design, simulate
from simcore.document.problem import InputError
from simcore.result import Result
from simcore.system.trees import crowded_out

Document = dict[str, Any]


def training(inner: Document, outer: Document | None = None, **more: Any) -> Document:
    usual = {"topology": "switch", "size": 8, "latency": "1 us", "collective": "ring", "library": {}}
    document = {
        "workload": {"model": "llama3-8b", "global_batch": 256},
        "parallelism": {"tensor": 2, "zero": 0, "microbatch": 4},
        "cluster": {
            "npu": "h100-80gb",
            "dimensions": [
                {**usual, "bandwidth": "450 GB/s", "tier": "node", **inner},
                {**usual, "bandwidth": "50 GB/s", "tier": "pod", **(outer or {})},
            ],
        },
    }
    return {**document, **more}


def run(document: Document) -> Result:
    return simulate(load_design(document))


REDUCING = {"in_network": True}


def test_groups_get_trees_in_the_order_of_their_priority_and_the_others_are_named() -> None:
    # On each switch of 8: 4 groups of tensor parallelism, 2 apart 2 groups of data parallelism.
    result = run(training({**REDUCING, "trees": 5}))
    assert result.fallbacks == (
        "no tree of the 5 of a switch on dimension 0 is left for the groups of 'data' (4 members, 2 apart): "
        "they go by ring",
    )
    turned = training(
        {**REDUCING, "trees": 5}, system={"priority": ["data", "tensor", "context", "expert", "pipeline"]}
    )
    assert ["'tensor'" in text for text in run(turned).fallbacks] == [True]
    assert run(training({**REDUCING, "trees": 6})).fallbacks == ()
    assert run(training(REDUCING)).fallbacks == ()


def test_groups_without_a_tree_send_what_the_algorithm_sends() -> None:
    # On a switch of 32: 8 groups of 4 in tensor parallelism, 4 groups of 8 in data parallelism.
    def sent(inner: Document) -> float:
        parallelism = {"tensor": 4, "zero": 0, "microbatch": 4}
        return run(training({"size": 32, **inner}, parallelism=parallelism)).network[0].bytes_per_npu

    every, none = sent(REDUCING), sent({})
    tensor, data = (sent({**REDUCING, "trees": trees}) for trees in (11, 7))
    assert every < min(tensor, data)
    assert max(tensor, data) < none
    assert (none - tensor) + (none - data) == pytest.approx(none - every)


def test_a_switch_has_trees_for_each_of_the_rows_that_it_joins() -> None:
    # On the outer dimension each of 8 rails has a switch of its own: one data group on each.
    assert run(training({}, {**REDUCING, "trees": 1})).fallbacks == ()


def test_a_leaf_counts_the_groups_below_it() -> None:
    tree = {"topology": "fat_tree", "size": 16, "leaf": 4, "in_network": True}
    document = training({**tree, "trees": 2}, parallelism={"tensor": 2, "microbatch": 4})
    notes = run(document).fallbacks
    assert len(notes) == 1
    assert "'data'" in notes[0]


def test_the_engines_agree_where_some_groups_have_no_tree() -> None:
    document = {
        "workload": {
            "model": {"hidden": 256, "layers": 2, "heads": 8, "vocabulary": 512, "sequence_length": 64},
            "global_batch": 4,
        },
        "parallelism": {"tensor": 2, "zero": 0},
        "cluster": {
            "npu": "h100-80gb",
            "dimensions": [
                {"topology": "switch", "size": 4, "bandwidth": "9 GB/s", "latency": "1 us", **REDUCING, "trees": 2},
                {"topology": "switch", "size": 2, "bandwidth": "1 GB/s", "latency": "1 us", **REDUCING, "trees": 2},
            ],
        },
        "system": {"chunks": 3},
    }
    design = load_design(document)
    fast, reference = (simulate(design, engine) for engine in ("fast", "reference"))
    assert fast.fallbacks == reference.fallbacks != ()
    assert fast.iteration_time_s == reference.iteration_time_s


@pytest.mark.parametrize("groups", [[4, 4], [2, 2, 4], [4, 2, 2]])
def test_groups_side_by_side_count_one_by_one(groups: list[int]) -> None:
    document = {
        "workload": {"collective": "all_reduce", "size": "1 MB", "groups": groups},
        "cluster": {
            "npu": "h100-80gb",
            "dimensions": [
                {"topology": "switch", "size": 8, "bandwidth": "1 GB/s", "latency": "0 s", **REDUCING, "trees": 2}
            ],
        },
    }
    crowded = crowded_out(load_design(document))
    assert len(crowded) == len(set(groups)) - 1


@pytest.mark.parametrize(
    ("dimension", "message"),
    [
        ({**REDUCING, "trees": 0}, r"dimensions\[0\].trees: expected greater than 0"),
        (
            {**REDUCING, "topology": "ring"},
            r"dimensions\[0\].in_network: expected false on what is no switch, got true",
        ),
    ],
)
def test_trees_that_cannot_be_are_refused(dimension: Document, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_design(training(dimension))


def test_trees_of_a_switch_that_does_not_reduce_change_nothing() -> None:
    """So that a space may leave `in_network` open on a switch that has so many."""
    assert run(training({"trees": 4})).iteration_time_s == run(training({})).iteration_time_s


def order(inner: Document, outer: Document, rate: str = "50 GB/s") -> tuple[bool | None, tuple[str, ...]]:
    result = run(training({**inner}, {"bandwidth": rate, **outer}))
    return result.orderable, result.order_notes


def test_what_reduces_for_more_groups_than_its_switches_can_is_not_sold() -> None:
    assert order({**REDUCING, "trees": 12}, {**REDUCING, "trees": 256}) == (True, ())
    assert order(REDUCING, {})[1] == (
        "cluster.dimensions[0].trees: expected at most 12, which switches of dgx-h100 have, got any number; add "
        "'trees: 12'",
    )
    assert order({}, {**REDUCING, "trees": 257})[1] == (
        "cluster.dimensions[1].trees: expected at most 256, which switches between nodes have, got 257; add "
        "'trees: 256'",
    )


def test_a_switch_of_a_rate_that_never_reduces_is_not_sold_as_one_that_does() -> None:
    (note,) = order({}, {**REDUCING, "nics": 32, "nic_bandwidth": "12.5 GB/s", "bandwidth": "50 GB/s"})[1]
    assert "a switch with ports of 12.5 GB/s that reduces, got none" in note
