"""Which members of a front cannot be told apart by what the simulator knows of its own errors.

Two members *tie* in an objective where neither is better than the other in `SURE` of the scenarios or more
(`dse.whatif.scenarios`): in each scenario both are wrong together where they rest on the same numbers, so most of an
error cancels. Two members are *tied* where they tie in every objective that depends on the time; what else they differ
in (a price, memory) is for the reader to weigh. Where no objective depends on the time, no members are tied. Nothing is
known (None) without scenarios; of a member that was left out of them nothing is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.evaluate.record import TrialRecord
from dse.space.objective import Objective
from dse.whatif.answers import Scenarios
from simcore.metrics import exponent_of

SURE = 0.9
"""Share of the scenarios in which a design must be the better one to be called better: pairs of measured designs of
which the model was as sure were in that order as often (docs/accuracy.md)."""


def ties(
    objectives: Sequence[Objective], front: Sequence[TrialRecord], scenarios: Scenarios | None
) -> dict[int, tuple[int, ...]] | None:
    """Member -> the members it is tied with, by trial number in the order of the front; None where it is not known."""
    timed = [o for o in objectives if any(exponent_of(name, "time") for name in o.names)]
    numbers = [trial.number for trial in front]
    if not timed:
        return dict.fromkeys(numbers, ())
    if scenarios is None:
        return None
    return {
        one: tuple(
            other
            for other in numbers
            if one in scenarios.members
            and other in scenarios.members
            and one != other
            and all(_tie(scenarios.better[o.name], one, other) for o in timed)
        )
        for one in numbers
    }


def _tie(better: Mapping[tuple[int, int], float], one: int, other: int) -> bool:
    return max(better[one, other], better[other, one]) < SURE
