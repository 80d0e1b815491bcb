"""Algorithms that a design spells out, one ring over all dimensions, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest
from agreement import differences
from drawn_designs import npu

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.simulate import simulate

RING, SWITCH = "ring", "switch"


def neighbours(members: int) -> dict[str, Any]:
    """A ring all-reduce in one direction, as a list of messages."""
    messages = []
    for step in range(2 * members - 2):
        for b in range(members):
            source = (b + 1 + step) % members
            target = (source + 1) % members
            scattering = step < members - 1
            messages.append({"step": step, "source": source, "target": target, "blocks": [b], "reduce": scattering})
    return {"all_reduce": {"members": members, "blocks": members, "messages": messages}}


def design(algorithm: str, kind: str = "all_reduce", own: Any = None, sizes: tuple[int, ...] = (4,)) -> Design:
    return design_from(
        {
            "workload": {"collective": kind, "size": "48 MB"},
            "cluster": {
                "npu": npu("1 us"),
                "dimensions": [
                    {"topology": SWITCH, "size": n, "bandwidth": "20 GB/s", "latency": "1 us"} for n in sizes
                ],
            },
            "system": {"collective": [algorithm] * len(sizes), "chunks": 2, "algorithms": own or {}},
        }
    )


def test_a_ring_spelled_out_takes_as_long_as_the_ring() -> None:
    own = design("custom:mine", own={"mine": neighbours(4)})
    assert simulate(own).iteration_time_s == simulate(design("ring")).iteration_time_s
    assert differences(own) == []


def test_an_algorithm_of_ones_own_survives_its_document() -> None:
    own = design("custom:mine", own={"mine": neighbours(4)})
    assert design_from(own.document()) == own
    assert "algorithms" not in design("ring").document()["system"]


def test_a_kind_that_an_own_algorithm_lacks_uses_direct() -> None:
    own = design("custom:mine", "all_to_all", {"mine": neighbours(4)})
    assert simulate(own).iteration_time_s == simulate(design("direct", "all_to_all")).iteration_time_s


def test_over_links_its_steps_take_what_the_closed_form_says() -> None:
    own = design("custom:mine", own={"mine": neighbours(4)})
    one = own.model_copy(update={"system": own.system.model_copy(update={"chunks": 1})})
    assert simulate(one, "reference_links").iteration_time_s == pytest.approx(simulate(one).iteration_time_s, abs=1e-10)


def lacking(last: int) -> dict[str, Any]:
    own = neighbours(4)
    own["all_reduce"]["messages"] = own["all_reduce"]["messages"][:last]
    return own


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({}, r"system.collective\[0\]: expected an algorithm of system.algorithms \(none\), got 'custom:mine'"),
        ({"mien": neighbours(4)}, "did you mean 'mien'"),
        ({"mine": lacking(20)}, "expected messages that leave the data of a all_reduce where it must be, got member"),
        ({"mine": neighbours(3)}, "expected the 4 members that 'all' has on dimension 0, got 3"),
        (
            {
                "mine": {
                    "all_reduce": {
                        "members": 4,
                        "blocks": 1,
                        "messages": [{"step": 0, "source": 0, "target": 4, "blocks": [0]}],
                    }
                }
            },
            r"expected members below 4 and blocks below 1, got 0 -> 4 with blocks \[0\]",
        ),
        (
            {"mine": {"all_gather": {"members": 4, "blocks": 3, "messages": []}}},
            "expected 4 blocks for 4 members, got 3",
        ),
    ],
)
def test_a_wrong_algorithm_is_a_clear_error(own: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        design("custom:mine", own=own)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"expected one of ring, .*direct\[N\], custom:NAME, got .?'rign'.*'ring'"):
        design("rign")


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather"])
def test_one_ring_over_all_dimensions_goes_at_the_pace_of_the_slowest(kind: str) -> None:
    """Each half of a block crosses to the other dimension through a port of its own (see `Chunker`)."""
    flat = design("flat_ring", kind, sizes=(4, 2))
    assert differences(flat) == []
    by_links = simulate(flat, "reference_links").iteration_time_s
    assert by_links == pytest.approx(simulate(flat).iteration_time_s, rel=0.01)


def test_one_ring_within_one_dimension_is_the_ring() -> None:
    for kind in ("all_reduce", "all_to_all", "broadcast"):
        assert simulate(design("flat_ring", kind)).iteration_time_s == simulate(design("ring", kind)).iteration_time_s


def test_a_ring_over_some_dimensions_only_is_refused() -> None:
    document = design("ring", sizes=(4, 2)).document()
    document["system"]["collective"] = ["flat_ring", "ring"]
    with pytest.raises(InputError, match="flat_ring on every dimension outside of one that has it"):
        design_from(document)


def test_a_group_over_several_dimensions_is_one_ring_whatever_the_inner_ones_do_for_their_own() -> None:
    mixed, flat = (design("flat_ring", sizes=(4, 2)).document() for _ in range(2))
    mixed["system"]["collective"] = ["direct", "flat_ring"]
    for document in (mixed, flat):
        document["cluster"]["dimensions"][0]["topology"] = "fully_connected"
    assert differences(design_from(mixed)) == []
    assert simulate(design_from(mixed)).iteration_time_s == simulate(design_from(flat)).iteration_time_s


def test_software_that_joins_all_by_one_ring_runs_on_nodes_that_send_directly() -> None:
    document = {
        "workload": {"model": "llama3-8b", "global_batch": 64},
        "parallelism": {"tensor": 8, "pipeline": 8},
        "cluster": {"npu": "mi300x", "fabric": "mi300x-node", "npus": 64},
        "software": "deepspeed",
    }
    found = design_from(document)
    assert found.algorithms == ("direct", "flat_ring")
    assert design_from(found.document()).document() == found.document()
    inside = [found.with_("system.collective", ["direct", name]) for name in ("flat_ring", "ring")]
    assert len({simulate(each).iteration_time_s for each in inside}) == 1


def test_a_window_over_neighbours_is_refused() -> None:
    document = design("direct[2]").document()
    document["cluster"]["dimensions"][0]["topology"] = RING
    with pytest.raises(InputError, match=r"expected an algorithm for a ring, got 'direct\[2\]'"):
        design_from(document)


def test_bandwidth_aware_gives_the_fastest_dimension_the_whole_chunk() -> None:
    document = design("ring", sizes=(4, 4)).document()
    document["cluster"]["dimensions"][1]["bandwidth"] = "80 GB/s"
    document["system"]["inter_dimension"] = "bandwidth_aware"
    aware = design_from(document)
    document["system"]["inter_dimension"] = "baseline"
    assert differences(aware) == []
    assert simulate(aware).iteration_time_s < simulate(design_from(document)).iteration_time_s


def test_a_flat_ring_may_leave_links_unused_at_link_level() -> None:
    # No message crosses the outer dimension at most places of the inner one.
    flat = design("flat_ring", sizes=(4, 4))
    by_links = simulate(flat, "reference_links")
    assert 0 < by_links.iteration_time_s <= simulate(flat).iteration_time_s
