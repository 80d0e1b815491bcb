"""What the design to build loses by recomputing all layers, where the space leaves out to recompute some of them.

A space that has `none`, `selective` and `full` alone makes a job recompute everything, or nothing, however much memory
that leaves empty. Trainers recompute so many layers of each virtual stage (`recompute_layers`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace

from dse.evaluate.fullness import fullness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.space import Space
from dse.whatif.answers import Recomputed
from dse.whatif.batches import rivals
from dse.whatif.climb import Simulate, job_of, loss_against, most_behind, parallelism_of, try_settings
from simcore.check.load import parse_design
from simcore.layout.solve import NEARLY_FULL
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.stages import stage_layers

ROOMY = 0.8
"""Share of the memory: a design that needs no more may have recomputed more than it had to."""
_WORTH = 0.02
"""Share by which the design has to be better for it to be told."""
_LOOKED_AT, _MOST_NEAR = 200, 6
"""Trials behind the front that are looked at for other degrees, and those that are simulated with fewer layers."""


def find_recomputation(record: StudyRecord, space: Space, trial: TrialRecord, simulate: Simulate) -> Recomputed | None:
    """The design with as few layers of each virtual stage recomputed as leave it no more than `NEARLY_FULL`.

    Of the trial itself, else of the nearest ones on the same cluster that recompute all layers, too: with fewer, other
    degrees may be better. None where none is worth telling. `simulate` evaluates a document; where it says that one is
    of unsound form (`UnsoundError`), none exists.
    """
    asked = parallelism_of(space.template)
    if not recomputes_all(trial) or "solve" in str(asked.get("recompute")) or "recompute_layers" in asked:
        return None
    if (own := _recompute_fewer(record, trial, trial, simulate)) is not None:
        return own
    found = [_recompute_fewer(record, other, trial, simulate) for other in _near(record, trial)]
    return min((each for each in found if each is not None), key=lambda each: sum(each.loss.values()), default=None)


def _near(record: StudyRecord, trial: TrialRecord) -> list[TrialRecord]:
    """Trials near the front on the cluster of a trial that recompute all layers in other degrees, the nearest first."""
    own = trial.design or {}
    known = {job_of(trial)}
    found = []
    for other in sorted(
        (*record.front, *rivals(record, _LOOKED_AT)), key=lambda one: most_behind(record, trial, one.values)
    ):
        alike = (other.design or {}).get("cluster") == own.get("cluster") and recomputes_all(other)
        if alike and job_of(other) not in known:
            known.add(job_of(other))
            found.append(other)
    return found[:_MOST_NEAR]


def _recompute_fewer(
    record: StudyRecord, trial: TrialRecord, built: TrialRecord, simulate: Simulate
) -> Recomputed | None:
    """The design of a trial with the fewest layers recomputed, if it is better than the one to build."""
    found: dict[int, TrialRecord] = {}

    def fits(count: int) -> bool:
        outcome = try_settings(simulate, trial, recompute_layers=count)
        if outcome is None or outcome.metrics is None:
            return False
        found[count] = replace(trial, metrics=outcome.metrics, values=outcome.values)
        return fullness(found[count]) <= NEARLY_FULL

    layers = _layers_of_a_stage(trial)
    counts = range(1, layers)
    index = bisect_left(counts, True, key=fits)  # more layers that recompute need less memory
    if index == len(counts):
        return None
    other = found[counts[index]]
    loss = loss_against(record, built, other.values)
    if not is_worth_telling(loss):
        return None
    return Recomputed(trial.number, loss, fullness(other), counts[index], layers, built.number)


def is_worth_telling(loss: Mapping[str, float]) -> bool:
    """Whether a design is better by `_WORTH` in an objective, and worse in none."""
    return min(loss.values()) <= -_WORTH and max(loss.values()) <= 0


def recomputes_all(trial: TrialRecord) -> bool:
    """Whether a design recomputes all of every layer and has memory left."""
    given = parallelism_of(trial.design)
    return given.get("recompute") == "full" and "recompute_layers" not in given and 0 < fullness(trial) <= ROOMY


def _layers_of_a_stage(trial: TrialRecord) -> int:
    """The most layers of a virtual stage of a transformer; 0 of other workloads."""
    design = parse_design(trial.design or {})[0]
    model = None if design is None else getattr(design.workload, "model", None)
    if design is None or not isinstance(model, Transformer):
        return 0
    return max(stage_layers(model, design.parallelism))
