"""What a report simulates unbidden: a variation of a design that the fast engine plays, in a few milliseconds."""

from __future__ import annotations

from dse.evaluate.record import TrialRecord
from simcore.check.check import check
from simcore.design.design import Design
from simcore.engine.registry import engine_named
from simcore.simulate import simulate

_QUICK = "fast"
"""The engine: others may take long."""


def seconds_as(trial: TrialRecord, alike: Design) -> float | None:
    """Iteration time of a variation of a trial's design [s]; None where the trial was not simulated as quickly.

    Or where the variation breaks rules, as it may of a journal that a stranger has written.
    """
    quick = (trial.metrics or {}).get("engine") == _QUICK
    return simulate(alike, engine_named(_QUICK)).iteration_time_s if quick and not check(alike) else None
