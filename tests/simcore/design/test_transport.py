"""`cluster.transport`: a control by name or as a section, its parameters with units, and what contradicts buffers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from designs import dimension, training

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.policy.control import CONTROLS
from simcore.simulate import simulate
from simcore.uncertainty.parameters import service_errors


def plain() -> dict[str, Any]:
    return training({"data": 8, "tensor": 4}, [dimension(size=4), dimension(size=8)])


def with_transport(transport: Any) -> Design:
    document = plain()
    return design_from({**document, "cluster": {**document["cluster"], "transport": transport}})


def test_a_name_alone_is_the_control() -> None:
    named, spelled = with_transport("dcqcn"), with_transport({"control": "dcqcn", "pfc": True})
    assert named == spelled
    assert named.document()["cluster"]["transport"] == {"control": "dcqcn"}


def test_no_transport_is_none_and_is_not_written() -> None:
    design = design_from(plain())
    assert design.cluster.transport is None
    assert "transport" not in design.document()["cluster"]


def test_what_is_given_comes_back_with_its_units() -> None:
    given = {
        "control": "dcqcn",
        "parameters": {"step": "5 MB/s", "recovery": 5},
        "mtu": "4 KB",
        "buffer": "64 MB",
        "marking": {"low": "100 kB", "high": "400 kB", "most": 0.2},
    }
    design = with_transport(given)
    transport = design.cluster.transport
    assert transport is not None
    assert transport.payload == 4000
    assert transport.parameters == {"step": 5e6, "recovery": 5.0}
    assert design_from(design.document()).document() == design.document()


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ("dcqn", r"cluster\.transport\.control: .*did you mean 'dcqcn'"),
        ({"control": "hpcc", "buffer": "1 kB"}, r"cluster\.transport\.buffer: expected switches with a buffer"),
        ({"control": "dcqcn", "buffer": "0 B"}, r"cluster\.transport\.buffer: "),
        ({"control": "dctcp", "parameters": {"gian": 0.1}}, r"parameters: .*'gian'; did you mean 'gain'"),
        ({"control": "none", "parameters": {"gain": 0.1}}, r"parameters: .*'gain'; it has none"),
        ({"control": "dcqcn", "parameters": {"step": 5e6}}, r"parameters: expected a bandwidth for 'step'"),
        ({"control": "dcqcn", "parameters": {"gain": -1}}, r"parameters: expected a number above 0 for 'gain'"),
        ({"control": "dcqcn", "marking": {"low": "4 MB", "high": "1 MB"}}, r"marking: expected 'low' of at most"),
        (
            {"control": "dcqcn", "buffer": "1 MB", "marking": {"low": "1 MB", "high": "2 MB"}},
            r"marking\.high: expected at most the buffer \(1 MB\), got 2 MB",
        ),
        ({"control": "dcqcn", "buffer": "1 MB"}, r"transport\.marking: .*the usual ones of 'dcqcn'"),
        ({"control": "timely", "marking": {"low": "1 MB", "high": "1 MB"}}, r"marking: expected a control that heeds"),
        ({"control": "none", "threshold": "40 MB"}, r"threshold: expected at most the buffer"),
    ],
)
def test_what_cannot_be_is_said_at_its_place(transport: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        with_transport(transport)


def test_engines_without_packets_give_the_outermost_dimension_its_share_of_the_rate() -> None:
    whole, half = design_from(plain()), with_transport({"control": "none", "efficiency": 0.5})
    (inner, outer), (same, slowed) = (simulate(design).network for design in (whole, half))
    assert slowed.busy_s == pytest.approx(2 * outer.busy_s)
    assert same.busy_s == inner.busy_s


def test_what_no_control_lets_a_design_beat_is_a_bound_of_it_too() -> None:
    for transport in ("dcqcn", {"control": "none", "efficiency": 0.5}):
        design = with_transport(transport)
        least = bound(design)["iteration_time"]
        assert least is not None
        assert least <= simulate(design).iteration_time_s
    slowed, whole = bound(design)["iteration_time"], bound(design_from(plain()))["iteration_time"]
    assert slowed is not None
    assert whole is not None
    assert slowed > whole


def test_the_share_comes_with_its_range_and_says_where_it_is_from() -> None:
    design = with_transport({"control": "hpcc", "mtu": "4 kB"})
    assert design.cluster.transport is not None
    point, low, high = design.cluster.transport.reached
    assert low <= point <= high < 4000 / 4082 + 1e-9
    assert (
        simulate(design).provenance["transport"].startswith(f"hpcc: {point:.3f} of the rate ({low:.3f} to {high:.3f})")
    )
    errors = service_errors(design, design.cluster.dimensions[-1], "all_reduce", flat=False, routed=False)
    assert next(error.of for error in errors) == "hpcc"
    assert not any(
        error.of == "hpcc"
        for error in service_errors(design, design.cluster.dimensions[0], "all_reduce", flat=False, routed=False)
    )


@pytest.mark.parametrize("control", list(CONTROLS))
def test_the_shares_are_those_of_the_study(control: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "roce.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{control}` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert row is not None
    assert tuple(float(share) for share in row.groups()) == CONTROLS[control].reached
