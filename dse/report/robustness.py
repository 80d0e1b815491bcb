"""How far a front can be trusted: how sure each member's place is, and what it is with other batches and prices.

How sure: by the scenarios (`dse.whatif.scenarios`), against the designs nearest to the front. Batches are simulated
(`dse.whatif.batches`): half and twice the global batch, against the designs near the front. Prices: what designs cost
where those of the network, the NPUs or the memory move for all designs alike, computed from the journal alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.read import price_list
from dse.evaluate.record import TrialRecord
from dse.report.summary import Summary
from dse.report.units import format_number
from dse.whatif.answers import AtBatch, Sureness
from simcore.cost.ownership import Terms
from simcore.metrics import Mover, exponent_of

Matrix = NDArray[np.float64]

PRICES = 0.3
"""By how much prices move."""
PARTS: tuple[Mover, ...] = ("network", "npu", "memory")
_MOVERS: tuple[Mover, ...] = (*PARTS, "capital", "total", "yearly", "tco")
"""Prices that are moved, and what has them in it."""


@dataclass(frozen=True, slots=True)
class Robustness:
    """Robustness of one member of the front."""

    sure: Sureness | None
    """Over the scenarios; None where it was not asked."""
    batches: tuple[AtBatch, ...] = ()
    """What it is with other global batches; empty where that was not asked."""


def robustness(summary: Summary) -> dict[int, Robustness]:
    """Robustness of each member of the front, by trial number."""
    known = summary.what_if
    sure = {} if known.scenarios is None else known.scenarios.members
    return {
        trial.number: Robustness(sure.get(trial.number), known.batches.get(trial.number, ())) for trial in summary.front
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


@dataclass(frozen=True)
class Prices:
    """What the designs cost [$]: `parts [trials, 3]`, the rest `[trials, 4]`."""

    parts: Matrix
    whole: Matrix
    """Capital, total, yearly cost and total cost of ownership; what does not follow from a price does not move."""
    per_dollar: Matrix
    """What a dollar of the price adds to each of them."""

    @classmethod
    def of(cls, trials: Iterable[TrialRecord]) -> Prices:
        """What these trials cost, which are read once, one after the other; each was simulated."""
        rows = [(*(_costs(trial)[part] for part in PARTS), *_whole(trial), *_per_dollar(trial)) for trial in trials]
        parts, whole, per_dollar = np.split(np.array(rows), [len(PARTS), len(_MOVERS)], axis=1)
        return cls(parts, whole, per_dollar)

    def metric_at(self, name: str, value: Matrix, factors: tuple[float, ...]) -> Matrix:
        """A metric `[trials]` at other prices."""
        parts = self.parts * np.array(factors)
        more = (parts - self.parts).sum(axis=1)[:, None] * self.per_dollar
        before, after = _by_mover(self.parts, self.whole), _by_mover(parts, self.whole + more)
        for mover in _MOVERS:
            if power := exponent_of(name, mover):
                over, under = (after, before) if power > 0 else (before, after)
                return value * _ratio(over[mover], under[mover])
        return value


def _by_mover(parts: Matrix, whole: Matrix) -> dict[Mover, Matrix]:
    return dict(zip(_MOVERS, (*parts.T, *whole.T), strict=True))


def _whole(trial: TrialRecord) -> tuple[float, ...]:
    costs, metrics = _costs(trial), trial.metrics or {}
    capital = sum(costs.get(part, 0.0) for part in (*PARTS, "storage", "other"))
    owned = metrics.get("ownership_cost")  # None in journals of versions without it
    return capital, costs["total"], metrics.get("yearly_cost") or 0.0, capital if owned is None else owned


def _per_dollar(trial: TrialRecord) -> tuple[float, ...]:
    """What a dollar adds to capital, total, yearly cost and total cost of ownership."""
    listed = price_list(trial)
    if listed is None:
        return 1.0, 1.0, 0.0, 1.0
    return 1.0, 1.0, listed.support, Terms.of(listed, 0).per_dollar


def _ratio(over: Matrix, under: Matrix) -> Matrix:
    ratio: Matrix = np.divide(over, under, out=np.ones_like(under), where=under > 0)
    return ratio


def _costs(trial: TrialRecord) -> Mapping[str, float]:
    assert trial.metrics is not None
    costs: Mapping[str, float] = trial.metrics["cost"]
    return costs
