"""What a report simulates unbidden: a variation of a design that the fast engine plays, in a few milliseconds."""

from __future__ import annotations

from dse.evaluate.record import TrialRecord
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.engine.registry import QUICK, engine_named
from simcore.simulate import simulate

_QUICK = "fast"
"""The engine: others may take long."""


def seconds_as(trial: TrialRecord, alike: Design) -> float | None:
    """Iteration time of a variation of a trial's design [s]; None where the trial was simulated by a slow engine.

    Where groups share links it is the trial's time, times what the fast engine says of the two. None, too, where the
    variation breaks rules, as it may of a journal that a stranger has written, or that engine cannot play them.
    """
    metrics = trial.metrics or {}
    if metrics.get("engine") not in QUICK or check(alike):
        return None
    try:
        seconds = simulate(alike, engine_named(_QUICK)).iteration_time_s
        if metrics["engine"] == _QUICK:
            return seconds
        own = parse_design(trial.design or {})[0]
        return None if own is None else metrics["iteration_time_s"] * seconds / simulate(own, _QUICK).iteration_time_s
    except InputError:
        return None  # links that failed, or carry less
