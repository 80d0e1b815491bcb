"""What a study came to, in numbers: how its trials ended, the front, its knee and hypervolume, distance from bounds.

Computed once and handed to every report, so that all of them say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.buy.regret import Regret, future_regrets, regrets
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.importance import UNKNOWN, Importance
from dse.report.ties import ties
from dse.report.values import finite_or_none
from dse.whatif.answers import NOTHING, WhatIf


@dataclass(frozen=True)
class Summary:
    """A study in numbers; values are in the objectives' own directions and SI units."""

    trials: int
    """All distinct trials: simulated, cut and failed."""
    feasible: int
    infeasible: int
    """Simulated, but a constraint on results is missed."""
    cut: Mapping[str, int]
    """Trials that were never simulated, by the rule that forbade them; the most frequent first."""
    failed: int
    front: tuple[TrialRecord, ...]
    knee: int | None
    """Number of the knee's trial."""
    hypervolume: float | None
    reference: tuple[float, ...]
    """Reference point of the hypervolume; empty where nothing is feasible and none was given."""
    best: Mapping[str, float | None]
    """Best feasible value of each objective."""
    bounds: Mapping[str, float | None]
    """Proven bound of each objective, None where none is known."""
    proof: Mapping[str, Any] | None
    """What the sampler proved of the whole space, if it proves anything."""
    gaps: Mapping[str, float | None]
    """|best - bound| / |best|: the share by which no design can be better than the best found."""
    behind: tuple[float | None, ...] = ()
    """By which share each member of the front is at most behind the true front, in its order; None: not known."""
    regrets: tuple[Regret, ...] = ()
    """Regret of each workload that a cluster is bought for."""
    futures: tuple[Regret, ...] = ()
    """Regret in each future that it is bought for."""
    ties: Mapping[int, tuple[int, ...]] | None = None
    """Member of the front -> members it is tied with (`dse.report.ties`), by trial; None: not known."""
    equals: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Member of the front -> others with its values in every objective, by trial; the simplest stands first there."""
    what_if: WhatIf = NOTHING
    """The front at other batches, and the designs around it."""
    importance: Importance = UNKNOWN
    """Which parameters mattered; the terminal does without."""

    @property
    def cuts(self) -> int:
        """Number of cut trials."""
        return sum(self.cut.values())


def summarize(record: StudyRecord, what_if: WhatIf = NOTHING) -> Summary:
    """The numbers of a study; `what_if` are the answers to questions that took simulations (`dse.whatif`)."""
    trials = record.trials
    states = trials.count("state")
    rules = Counter[str]()
    for rule, count in trials.select(trials.is_state("cut")).count("cut_by").items():
        rules[rule or "unknown"] += count
    front, knee, reference = record.front, record.knee, record.reference
    signs = [objective.sign for objective in record.objectives]
    best = _best_values(record)
    bounds = {objective.name: finite_or_none(record.bounds.get(objective.name)) for objective in record.objectives}
    return Summary(
        trials=len(record.trials),
        feasible=states["feasible"],
        infeasible=states["infeasible"],
        cut=dict(sorted(rules.items(), key=lambda item: (-item[1], item[0]))),
        failed=states["failed"],
        front=front,
        knee=None if knee is None else knee.number,
        hypervolume=finite_or_none(record.hypervolume),
        reference=() if reference is None else tuple(s * float(x) for s, x in zip(signs, reference, strict=True)),
        best=best,
        bounds=bounds,
        proof=record.proof,
        gaps={name: _gap(best[name], bound) for name, bound in bounds.items()},
        behind=record.behind,
        regrets=regrets(record),
        futures=future_regrets(record),
        ties=ties(record.objectives, front, what_if.scenarios),
        equals=record.equals,
        what_if=what_if,
    )


def _best_values(record: StudyRecord) -> dict[str, float | None]:
    best: dict[str, float | None] = {}
    for objective in record.objectives:
        values = record.feasible_trials.values(objective.name)
        values = values[np.isfinite(values)]
        best[objective.name] = float(values.min() if objective.sign > 0 else values.max()) if len(values) else None
    return best


def _gap(best: float | None, bound: float | None) -> float | None:
    if best is None or bound is None or (best == 0 and bound != 0):
        return None
    return abs(best - bound) / abs(best) if best else 0.0
