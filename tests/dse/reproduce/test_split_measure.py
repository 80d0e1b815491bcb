"""A split of a budget as a measure: LIBRA's study in miniature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.reproduce.measures import MEASURES

STUDY = Path(__file__).parents[3] / "studies" / "libra"
SPLIT = MEASURES["split"]


def numbers(run: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return SPLIT.read(STUDY, run, changes).numbers()


def test_the_best_split_of_the_form_is_no_worse_there_than_the_equal_one() -> None:
    found = numbers({"split": "msft-1t.yaml", "budget": "500 GB/s"})
    assert set(found) == {"equal", "time", "time_cost"}
    assert found["time"]["closed"] < found["equal"]["closed"]
    assert (
        found["time_cost"]["closed"] * found["time_cost"]["network"]
        < found["time"]["closed"] * found["time"]["network"]
    )
    assert all(sum(way["share"].values()) == pytest.approx(500) for way in found.values())


def test_what_the_simulator_solves_is_best_in_the_simulator() -> None:
    found = numbers({"split": "gpt3.yaml", "simulator": True})
    assert found["solved"]["simulated"] < min(found[way]["simulated"] for way in ("equal", "time", "time_cost"))
    assert found["time"]["closed"] < found["solved"]["closed"]


def test_a_network_for_a_group_suits_its_members_less_than_their_own() -> None:
    group = ["gpt3.yaml", "msft-1t.yaml"]
    for model in group:
        own = numbers({"split": model, "budget": "500 GB/s"})["time"]["closed"]
        theirs = numbers({"split": model, "budget": "500 GB/s", "solved_for": group})["time"]["closed"]
        assert own < theirs < 1.1 * own


def test_alternatives_set_keys_of_the_measure_and_of_the_designs() -> None:
    run = {"split": "gpt3.yaml"}
    more = numbers(run, budget="1000 GB/s")
    assert sum(more["equal"]["share"].values()) == pytest.approx(1000)
    later = numbers(run, **{"cluster.dimensions[0].latency": "1 ms"})
    assert later["equal"]["simulated"] > numbers(run)["equal"]["simulated"]
    assert later["equal"]["closed"] == numbers(run)["equal"]["closed"]
    identities = {
        SPLIT.read(STUDY, run, changes).identity for changes in ({}, {"budget": "1 TB/s"}, {"system.chunks": 2})
    }
    assert len(identities) == 3
