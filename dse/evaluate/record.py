"""A finished study as reports see it: values only, read back from the journal and `study.yaml`, nothing live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.idling import busy_knee
from dse.evaluate.pareto import front_mask, hypervolume, reference_point, shares_behind
from dse.evaluate.simplest import simplest_first
from dse.evaluate.trial import VALID as VALID
from dse.evaluate.trial import State as State
from dse.evaluate.trial import TrialRecord as TrialRecord
from dse.evaluate.trial import TunedRecord as TunedRecord
from dse.evaluate.trials import Trials
from dse.space.futures import Future
from dse.space.objective import Objective, losses
from dse.space.phases import Plan


@dataclass(frozen=True, slots=True)
class Purchase:
    """What a study that buys a cluster was asked: its workloads and their weights, what they are tuned for, futures."""

    names: tuple[str, ...]
    weights: tuple[float, ...]
    tune: Objective
    aggregate: str
    sections: tuple[str, ...]
    futures: tuple[Future, ...] = ()
    plans: tuple[Plan, ...] = ()
    """In which phases it may be bought, to compare."""


@dataclass(frozen=True)
class StudyRecord:
    """A study: what was asked, every trial in order, and what follows from them."""

    space: str
    objectives: tuple[Objective, ...]
    trials: Trials
    """In order of their numbers; made of any sequence of them."""
    bounds: Mapping[str, float | None]
    sampler: str
    seed: int
    prices: Mapping[str, str]
    """Source of each price used (or the word *assumed*), for the reports."""
    given_reference: Mapping[str, float] | None = None
    proof: Mapping[str, Any] | None = None
    """What the sampler proved of the whole space (`dse.search.base.Prover.proof`), if it proves anything."""
    purchase: Purchase | None = None
    notices: tuple[str, ...] = ()
    """What whoever reads the answer has to know of the space (`Space.notices`)."""
    leaders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Objective -> the design that its bound comes from, where one is known: the job that reaches it, on some network
    of its shape."""
    corners: tuple[tuple[float, ...], ...] | None = None
    """Values of all objectives, to be minimised: of what is not known to be worse than the front, no feasible design is
    better than some row in any of them (`dse.proof.certificate`). None: nothing is known of all together."""
    hypothetical: str = ""
    """Why clusters may be ones that nobody sells, as a sentence; empty where those are cut."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", Trials.of(self.trials))

    @cached_property
    def feasible_trials(self) -> Trials:
        """The trials that were simulated and meet every constraint."""
        return self.trials.select(self.trials.is_state("feasible"))

    def losses(self, trials: Sequence[TrialRecord]) -> NDArray[np.float64]:
        """Objective values to be minimised, `[len(trials), objectives]`."""
        if isinstance(trials, Trials):
            return np.stack([o.sign * trials.values(o.name) for o in self.objectives], axis=1)
        return losses(self.objectives, [trial.values for trial in trials])

    @cached_property
    def front(self) -> tuple[TrialRecord, ...]:
        """The feasible trials that no other dominates, by the objectives; of equal ones the simplest first."""
        matrix = self.losses(self.feasible_trials)
        found = np.flatnonzero(front_mask(matrix))
        keys = [self.feasible_trials.numbers[found], *matrix[found].T[::-1]]
        found = found[np.lexsort(keys)]
        trials = self.feasible_trials.select(found).whole
        return tuple(simplest_first(_group_equals(trials, matrix[found])))

    @cached_property
    def equals(self) -> dict[int, tuple[int, ...]]:
        """Member of the front -> the others with exactly its values in every objective, the simplest first."""
        groups = _group_equals(self.front, self.losses(self.front))
        return {
            trial.number: tuple(other.number for other in group if other is not trial)
            for group in groups
            for trial in group
        }

    @cached_property
    def knee(self) -> TrialRecord | None:
        """The knee of the front, without what only saves electricity (`dse.evaluate.idling`), if it has one."""
        if not self.front:
            return None
        index = busy_knee(self.objectives, self.losses(self.front))
        return None if index is None else self.front[index]

    @cached_property
    def reference(self) -> NDArray[np.float64] | None:
        """The hypervolume's reference point, to be minimised, `[objectives]`; None where nothing is feasible."""
        if self.given_reference is not None:
            given: NDArray[np.float64] = losses(self.objectives, [self.given_reference])[0]
            return given
        trials = self.feasible_trials
        return reference_point(self.losses(trials)) if len(trials) else None

    @property
    def behind(self) -> tuple[float | None, ...]:
        """By which share each member of the front is at most behind the true one (`shares_behind`), in its order.

        None where nothing is known.
        """
        front = self.front
        if self.corners is None or not front:
            return (None,) * len(front)
        corners = np.array(self.corners).reshape(-1, len(self.objectives))
        found = shares_behind(self.losses(front), corners)
        return tuple(float(share) if np.isfinite(share) else None for share in found)

    @cached_property
    def hypervolume(self) -> float:
        """Volume between the front and the reference point; 0 where nothing is feasible."""
        reference = self.reference
        return 0.0 if reference is None else hypervolume(self.losses(self.front), reference)


def _group_equals(trials: Sequence[TrialRecord], losses: NDArray[np.float64]) -> list[list[TrialRecord]]:
    """Trials in runs of equal `losses` `[len(trials), objectives]`, which are sorted."""
    groups: list[list[TrialRecord]] = []
    for place, trial in enumerate(trials):
        if place and (losses[place] == losses[place - 1]).all():
            groups[-1].append(trial)
        else:
            groups.append([trial])
    return groups
