"""How much of an iteration waits for NPUs that are slower than the others, in words."""

from __future__ import annotations

from dse.evaluate.record import TrialRecord
from dse.report.units import format_percent
from simcore.check.load import parse_design
from simcore.engine.registry import QUICK
from simcore.simulate import simulate

WORTH_SAYING = 0.01
"""Share of the iteration below which nothing is said."""


def describe_straggling(trial: TrialRecord) -> str:
    """Which share of the iteration the stragglers of its cluster take; empty where there are none, or it is small.

    The others wait for them in collectives and in the pipeline, so that parts of an iteration call it communication,
    or a bubble.
    """
    metrics = trial.metrics or {}
    design = None if trial.workloads or trial.design is None else parse_design(trial.design)[0]
    seconds = metrics.get("iteration_time_s")
    played = metrics.get("engine") in QUICK
    if design is None or not design.cluster.stragglers or not seconds or not played:
        return ""
    whole = design.model_copy(update={"cluster": design.cluster.model_copy(update={"stragglers": ()})})
    waits = 1 - simulate(whole).iteration_time_s / seconds
    if waits < WORTH_SAYING:
        return ""
    return f"{format_percent(waits)} of the time waits for the stragglers, as communication or bubble"
