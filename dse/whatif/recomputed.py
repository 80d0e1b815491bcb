"""What the design to build loses by recomputing all layers, where the space leaves out to solve how many have to.

A space that has `none`, `selective` and `full` alone makes a job recompute everything, or nothing, however much memory
that leaves empty (`recompute: solve`: as few layers as memory asks for).
"""

from __future__ import annotations

from dataclasses import replace

from dse.evaluate.read import trial_metrics
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.space import Space
from dse.whatif.answers import Solved
from dse.whatif.climb import Simulate, parallelism_of, try_settings

ROOMY = 0.8
"""Of the memory: a design that needs no more may have recomputed more than it had to."""
WORTH = 0.02
"""Share by which the design has to be better for it to be told."""


def solve_recomputation(record: StudyRecord, space: Space, trial: TrialRecord, simulate: Simulate) -> Solved | None:
    """The design with `recompute: solve`, where it is better by `WORTH` in an objective and worse in none; else None.

    `simulate` evaluates a document; where it says that one is of unsound form (`ValueError`), there is no such design.
    """
    if not _may_recompute_less(trial) or "solve" in str(parallelism_of(space.template).get("recompute")):
        return None
    outcome = try_settings(simulate, trial, recompute="solve", recompute_layers=None)
    if outcome is None or outcome.metrics is None:
        return None
    loss = {o.name: o.loss(trial.values[o.name], outcome.values[o.name]) or 0.0 for o in record.objectives}
    if min(loss.values()) > -WORTH or max(loss.values()) > 0:
        return None
    return Solved(trial.number, loss, _fullness(replace(trial, metrics=outcome.metrics)))


def _may_recompute_less(trial: TrialRecord) -> bool:
    """Whether a design recomputes all of every layer and has memory left."""
    given = parallelism_of(trial.design)
    return given.get("recompute") == "full" and not given.get("layers") and 0 < _fullness(trial) <= ROOMY


def _fullness(trial: TrialRecord) -> float:
    """Share of the NPU's memory that is reserved; 0 where that is not known."""
    metrics = trial_metrics(trial) if trial.metrics is not None else {}
    reserved, capacity = metrics.get("memory.reserved"), metrics.get("memory.capacity")
    return reserved / capacity if reserved and capacity else 0.0
