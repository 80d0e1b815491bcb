"""When a study stops before its trials are spent: time, a front that no longer grows, a front near its proven bounds.

All but time depend on the outcomes alone, and are looked at between batches, so a study with the same seed stops at the
same trial on any machine. A study that stops by time has fewer trials on a slower machine; those it has are the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluate import Outcome
from dse.evaluate.pareto import front_mask, hypervolume, reference_point
from dse.space.objective import Objective, losses

GROWTH = 1e-3
"""Share of the hypervolume that counts as growth."""
_ROUNDING = 1e-9
"""Share by which rounding may put a best value beyond its bound."""


@dataclass(frozen=True)
class Limits:
    """When to stop; None: no such limit."""

    trials: int
    """Distinct designs."""
    seconds: float | None = None
    stagnation: int | None = None
    """Trials over which the hypervolume grows by less than `GROWTH`."""
    gap: float | None = None
    """Share by which each objective's best may still miss its proven bound."""
    bounds: Mapping[str, float | None] = field(default_factory=dict)
    """The proven bounds, by objective."""


@dataclass
class StopRules:
    """Watches a study from its start: `see` every outcome, `reason` between batches."""

    limits: Limits
    objectives: tuple[Objective, ...]
    done: int = 0
    """Trials that it does not see."""

    def __post_init__(self) -> None:
        self._begun = time.monotonic()
        self._trials = self.done
        self._worst: NDArray[np.float64] | None = None
        self._front = np.empty((0, len(self.objectives)))
        self._new: list[NDArray[np.float64]] = []
        self._fronts: list[tuple[int, NDArray[np.float64]]] = []

    def see(self, outcome: Outcome) -> None:
        """One more trial."""
        self._trials += 1
        if outcome.state == "feasible":
            self._new.append(losses(self.objectives, [outcome.values])[0])

    def reason(self) -> str | None:
        """Why the study stops now: `trials`, `time`, `stagnation` or `gap`; None where it goes on."""
        limits = self.limits
        if self._trials >= limits.trials:
            return "trials"
        if limits.seconds is not None and time.monotonic() - self._begun >= limits.seconds:
            return "time"
        if limits.stagnation is None and limits.gap is None:
            return None
        self._update()
        if limits.stagnation is not None and self._stagnates(limits.stagnation):
            return "stagnation"
        return "gap" if limits.gap is not None and self._near(limits.gap) else None

    def _update(self) -> None:
        if not self._new:
            return
        points = np.vstack([self._front, *self._new])
        worst = points.max(axis=0)
        self._worst = worst if self._worst is None else np.maximum(worst, self._worst)
        self._front = points[front_mask(points)]
        self._new.clear()

    def _stagnates(self, trials: int) -> bool:
        """Whether the front of so many trials ago was as good; both measured from the worst value seen."""
        if self._worst is None:
            return False
        self._fronts.append((self._trials, self._front))
        earlier = [front for number, front in self._fronts if number <= self._trials - trials]
        if not earlier:
            return False
        del self._fronts[: len(earlier) - 1]
        reference = reference_point(self._worst[None, :])
        return hypervolume(earlier[-1], reference) >= (1 - GROWTH) * hypervolume(self._front, reference)

    def _near(self, gap: float) -> bool:
        """Whether no objective can get better than the best found by more than `gap`.

        A best value beyond its bound is near nothing: that bound is none.
        """
        if not len(self._front):
            return False
        best = self._front.min(axis=0)
        known = [self.limits.bounds.get(objective.name) for objective in self.objectives]
        return all(
            bound is not None and -_ROUNDING * abs(loss) <= loss - objective.sign * bound <= gap * abs(loss)
            for loss, bound, objective in zip(best, known, self.objectives, strict=True)
        )


def gap_problem(bounds: Mapping[str, float | None], objectives: Sequence[Objective]) -> str | None:
    """Why a gap cannot be watched in a space with such bounds: the objectives that have none."""
    missing = [objective.name for objective in objectives if bounds.get(objective.name) is None]
    return f"no proven bound of {', '.join(missing)}" if missing else None
