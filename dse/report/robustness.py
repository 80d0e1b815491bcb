"""How far a front can be trusted: which members stay on it when prices move, or when their time was predicted wrong.

Prices and predictions are computed from the journal alone, against every feasible trial. Prices: those of the network,
the NPUs and the memory each move by `PRICES` up, down or not at all, in every combination, for all designs alike.
Prediction: a member's own time is longer than predicted while all others are as predicted, up to the upper end of the
result's own interval where it has one, else by `PREDICTION`. Batches are simulated (`dse.whatif.batches`): half and
twice the global batch, against the designs near the front.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dse.pareto import front_mask
from dse.record import StudyRecord, TrialRecord
from dse.report.summary import Summary
from dse.report.ties import OF_TIME, stretch
from dse.whatif.record import AtBatch

Matrix = NDArray[np.float64]

PRICES = 0.3
"""By how much prices move."""
PREDICTION = 0.1
"""By how much a prediction may be off, where the result does not say."""
_PARTS = ("network", "npu", "memory")
_OF_PRICES = {*(f"cost.{part}" for part in _PARTS), "cost.total", "perf_per_cost", "cost_per_token", "cost_to_train"}
"""Metrics that move with those prices: running costs are capital and electricity (`simcore.cost.running`)."""


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
    trials = [trial for trial in record.feasible if trial.metrics is not None]
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


def _price_shares(record: StudyRecord, trials: list[TrialRecord]) -> Matrix | None:
    """Share of the scenarios in which each trial is on the front `[trials]`."""
    if not any(objective.name in _OF_PRICES for objective in record.objectives):
        return None
    parts = np.array([[_costs(trial)[part] for part in _PARTS] for trial in trials])
    moving = [(1 - PRICES, 1.0, 1 + PRICES) if parts[:, i].any() else (1.0,) for i in range(len(_PARTS))]
    scenarios = list(product(*moving))
    base = record.losses(tuple(trials))
    # A total may have electricity in it, what running costs always has: that does not move.
    total = np.array([_costs(trial)["total"] for trial in trials])
    capital = parts.sum(axis=1)
    running = capital + np.array([(trial.metrics or {}).get("electricity_cost", 0.0) for trial in trials])
    stays = np.zeros(len(trials))
    for factors in scenarios:
        moved = parts * np.array(factors)
        more, out = moved.sum(axis=1) - capital, base.copy()
        for column, objective in enumerate(record.objectives):
            name = objective.name.removeprefix("cost.")
            if objective.name == "cost.total":
                out[:, column] = objective.sign * (total + more)
            elif name in _PARTS:
                out[:, column] = objective.sign * moved[:, _PARTS.index(name)]
            elif objective.name == "perf_per_cost":
                out[:, column] *= np.divide(total, total + more, out=np.ones_like(total), where=total + more > 0)
            elif objective.name in _OF_PRICES:
                out[:, column] *= np.divide(running + more, running, out=np.ones_like(running), where=running > 0)
        stays += front_mask(out)
    return stays / len(scenarios)


def _costs(trial: TrialRecord) -> Mapping[str, float]:
    assert trial.metrics is not None
    costs: Mapping[str, float] = trial.metrics["cost"]
    return costs


def _survives(record: StudyRecord, member: TrialRecord, trials: list[TrialRecord]) -> bool | None:
    """Whether a member whose time is longer is still dominated by no other trial of another design."""
    powers = np.array([OF_TIME.get(objective.name, 0) for objective in record.objectives])
    if not powers.any():
        return None
    own = record.losses((member,))[0]
    slower = own * _slowdown(member) ** powers
    others = record.losses(tuple(trial for trial in trials if trial.number != member.number))
    better = (others <= slower).all(axis=1) & (others < slower).any(axis=1)
    return not bool(better.any())


def _slowdown(trial: TrialRecord) -> float:
    """Longest time by the result's own interval, as a multiple of its prediction."""
    known = stretch(trial)
    return 1.0 + PREDICTION if known is None else known[1]
