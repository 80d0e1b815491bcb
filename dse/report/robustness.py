"""How far a front can be trusted: which members stay on it when prices move, or when their time was predicted wrong.

Prices and predictions are computed from the journal alone, against every feasible trial: those that were simulated, and
not those that a proof has cut by bounds (`among` says so). Prices: those of the network,
the NPUs and the memory each move by `PRICES` up, down or not at all, in every combination, for all designs alike.
Prediction: a member's own time is longer than predicted while all others are as predicted, up to the upper end of the
result's own interval where it has one, else by `PREDICTION`. Batches are simulated (`dse.whatif.batches`): half and
twice the global batch, against the designs near the front.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import front_mask
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.summary import Summary
from dse.report.ties import time_stretch
from dse.report.units import format_number
from dse.report.values import trial_metrics
from dse.space.objective import Objective
from dse.whatif.answers import AtBatch
from simcore.metrics import METRICS, Mover, moves

Matrix = NDArray[np.float64]

PRICES = 0.3
"""By how much prices move."""
PREDICTION = 0.1
"""By how much a prediction may be off, where the result does not say."""
_PARTS = ("network", "npu", "memory")
_MOVERS: tuple[Mover, ...] = ("network", "npu", "memory", "total", "running")
"""Those prices, and what has them in it: running costs are capital and electricity."""


@dataclass(frozen=True, slots=True)
class Robustness:
    """Of one member of the front."""

    prices: float | None
    """Share of the price scenarios in which it is on the front; None where no objective depends on a price."""
    prediction: bool | None
    """Whether it stays when only its own time is at the upper end; None where no objective depends on the time."""
    batches: tuple[AtBatch, ...] = ()
    """What it is with other global batches; empty where that was not asked."""


def robustness(record: StudyRecord, summary: Summary) -> dict[int, Robustness]:
    """Robustness of each member of the front, by trial number."""
    trials = [trial for trial in record.feasible_trials if trial.metrics is not None]
    members = {trial.number for trial in summary.front}
    rows = [index for index, trial in enumerate(trials) if trial.number in members]
    if not rows:
        return {}
    shares = _price_shares(record, trials)
    return {
        trials[row].number: Robustness(
            None if shares is None else float(shares[row]),
            _survives(record, trials[row], trials),
            summary.what_if.batches.get(trials[row].number, ()),
        )
        for row in rows
    }


def describe_scope(summary: Summary) -> str:
    """What the answers hold among, where a proof has cut designs without simulating them; empty where none has."""
    proof = summary.proof
    if proof is None or not proof["cut"]:
        return ""
    return (
        f"Among the {format_number(summary.feasible)} feasible designs that were simulated, of "
        f"{format_number(proof['points'])} combinations: what the proof has cut by bounds is not compared with."
    )


def _price_shares(record: StudyRecord, trials: list[TrialRecord]) -> Matrix | None:
    """Share of the scenarios in which each trial is on the front `[trials]`."""
    named = {name for objective in record.objectives for name in objective.names}
    if not any(moves(name, mover) for name in named for mover in _MOVERS) or _is_unknown(record):
        return None
    prices = Prices.of(trials)
    calculated = [objective for objective in record.objectives if objective.expression is not None]
    known = {name: _values(trials, name) for o in calculated for name in o.names if name in METRICS}
    base = record.losses(tuple(trials))
    stays = np.zeros(len(trials))
    for factors in (scenarios := prices.scenarios()):
        columns = []
        for column, objective in enumerate(record.objectives):
            if objective.expression is None:
                values = prices.metric_at(objective.name, objective.sign * base[:, column], factors)
            else:
                moved = {
                    name: prices.metric_at(name, known[name], factors) for name in objective.names if name in known
                }
                values = _calculate_objective(objective, trials, moved)
            columns.append(objective.sign * values)
        stays += front_mask(np.stack(columns, axis=1))
    return stays / len(scenarios)


@dataclass(frozen=True)
class Prices:
    """What the designs cost [$]: `parts [trials, 3]`, the rest `[trials]`."""

    parts: Matrix
    total: Matrix
    """May have electricity in it, which does not move."""
    running: Matrix
    """With electricity, which running costs always have."""

    @classmethod
    def of(cls, trials: list[TrialRecord]) -> Prices:
        """What these trials cost; each was simulated."""
        parts = np.array([[_costs(trial)[part] for part in _PARTS] for trial in trials])
        electricity = np.array([(trial.metrics or {}).get("electricity_cost", 0.0) for trial in trials])
        total = np.array([_costs(trial)["total"] for trial in trials])
        return cls(parts, total, parts.sum(axis=1) + electricity)

    def scenarios(self) -> list[tuple[float, ...]]:
        """Factors of the parts; 1 for a part that costs nothing."""
        return list(product(*((1 - PRICES, 1.0, 1 + PRICES) if part.any() else (1.0,) for part in self.parts.T)))

    def metric_at(self, name: str, value: Matrix, factors: tuple[float, ...]) -> Matrix:
        """A metric `[trials]` at other prices."""
        before = self._by_mover(self.parts, 0.0)
        parts = self.parts * np.array(factors)
        after = self._by_mover(parts, parts.sum(axis=1) - self.parts.sum(axis=1))
        for mover in _MOVERS:
            if name == f"cost.{mover}":
                return after[mover]
            if power := moves(name, mover):
                over, under = (after, before) if power > 0 else (before, after)
                return value * _ratio(over[mover], under[mover])
        return value

    def _by_mover(self, parts: Matrix, more: Matrix | float) -> dict[Mover, Matrix]:
        return dict(zip(_MOVERS, (*parts.T, self.total + more, self.running + more), strict=True))


def _ratio(over: Matrix, under: Matrix) -> Matrix:
    ratio: Matrix = np.divide(over, under, out=np.ones_like(under), where=under > 0)
    return ratio


def _values(trials: list[TrialRecord], name: str) -> Matrix:
    """A metric of each trial; NaN where its workload lacks it."""
    return np.array([np.nan if (value := trial_metrics(trial)[name]) is None else value for trial in trials])


def _calculate_objective(objective: Objective, trials: list[TrialRecord], metrics: Mapping[str, Matrix]) -> Matrix:
    """An expression at other metrics `[trials]`; NaN, which is on no front, where it has no value there."""
    found = np.full(len(trials), np.nan)
    for row, trial in enumerate(trials):
        with suppress(ValueError):
            found[row] = objective.value({name: float(of[row]) for name, of in metrics.items()}, trial.design or {})
    return found


def _is_unknown(record: StudyRecord) -> bool:
    """Whether objectives cannot be calculated again: an expression over several workloads, each tuned for itself."""
    return record.purchase is not None and any(objective.expression is not None for objective in record.objectives)


def _costs(trial: TrialRecord) -> Mapping[str, float]:
    assert trial.metrics is not None
    costs: Mapping[str, float] = trial.metrics["cost"]
    return costs


def _survives(record: StudyRecord, member: TrialRecord, trials: list[TrialRecord]) -> bool | None:
    """Whether a member whose time is longer is still dominated by no other trial of another design."""
    if _is_unknown(record) or not any(
        moves(name, "time") for objective in record.objectives for name in objective.names
    ):
        return None
    slower = record.losses((member,))[0]
    for column, objective in enumerate(record.objectives):
        if objective.expression is None:
            slower[column] *= _slowdown(member) ** moves(objective.name, "time")
        else:
            names = [name for name in objective.names if name in METRICS]
            moved = {name: _values([member], name) * _slowdown(member) ** moves(name, "time") for name in names}
            slower[column] = objective.sign * _calculate_objective(objective, [member], moved)[0]
    others = record.losses(tuple(trial for trial in trials if trial.number != member.number))
    better = (others <= slower).all(axis=1) & (others < slower).any(axis=1)
    return not bool(better.any())


def _slowdown(trial: TrialRecord) -> float:
    """Longest time by the result's own interval, as a multiple of its prediction."""
    known = time_stretch(trial)
    return 1.0 + PREDICTION if known is None else known[1]
