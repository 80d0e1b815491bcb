"""Congestion controls and their parameters are holes like any other."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_spaces import space, tiny

import dse
from dse.proof.certificate import proven_bounds
from simcore.document.problem import InputError

CONTROLS = [
    {"control": "none", "efficiency": 0.6},
    {"control": "dcqcn", "efficiency": {"choice": [0.5, 0.9]}},
    {"control": "hpcc", "efficiency": 0.7, "mtu": {"choice": ["1 kB", "4 kB"]}},
]


def with_transport(transport: Any) -> dict[str, Any]:
    document = tiny()
    return {**document, "cluster": {**document["cluster"], "transport": transport}}


def test_the_search_finds_the_transport_that_reaches_most_of_the_rate_and_its_bound_holds() -> None:
    plain, several = space(), space(with_transport({"choice": CONTROLS}))
    assert several.count() == 5 * plain.count()
    run = dse.optimize(several, trials=several.count(), sampler="exhaustive", seed=0, jobs=1)
    best = run.front.sort_values("iteration_time").iloc[0]
    transport = run.design(int(best.name)).cluster.transport
    assert transport is not None
    assert transport.reached.point == 0.9
    proven = proven_bounds(several, "auto")["iteration_time"]
    assert proven is not None
    assert 0 < proven <= best["iteration_time"]


def test_a_choice_of_an_unknown_control_is_an_error_of_the_space() -> None:
    with pytest.raises(InputError, match="did you mean 'dcqcn'"):
        space(with_transport({"choice": ["none", "dcqn"]}))
