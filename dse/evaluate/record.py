"""A finished study as reports see it: values only, read back from the journal and `study.yaml`, nothing live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import front_mask, hypervolume, knee, reference_point, shares_behind
from dse.space.futures import Future
from dse.space.objective import Objective, losses
from dse.space.phases import Plan

State = Literal["feasible", "infeasible", "cut", "failed"]
VALID = "valid"
"""Name of the constraint that a design is one at all: degrees divide, stages have layers, …"""


@dataclass(frozen=True, slots=True)
class TunedRecord:
    """One workload on one cluster with the best software that was found for it there (`dse.buy`).

    `params` are the holes of that software; the other fields are as in `TrialRecord`.
    """

    name: str
    state: State
    values: Mapping[str, float]
    params: Mapping[str, Any]
    violations: Mapping[str, float]
    design: Mapping[str, Any] | None
    metrics: Mapping[str, Any] | None
    cut_by: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One distinct design that was proposed.

        proposed ──▶ cut          a rule on inputs forbids it: never simulated, `values` are bounds by phases
            │
            └──▶ simulated ──▶ feasible
                     │    └──▶ infeasible   breaks a constraint on results; keeps its simulated values
                     └───────▶ failed       the evaluation raised; `error` says what

    `violations` maps each constraint to how much it is missed (<= 0: met). `metrics` is the result of the simulation
    (`simcore.Result.document()`), `design` the complete design document (None where it could not be built). Of a
    cluster that is bought for several workloads they are those of the first one; `workloads` has them all.
    """

    number: int
    state: State
    values: Mapping[str, float]
    params: Mapping[str, Any]
    violations: Mapping[str, float]
    design: Mapping[str, Any] | None = None
    metrics: Mapping[str, Any] | None = None
    cut_by: str | None = None
    error: str | None = None
    workloads: tuple[TunedRecord, ...] = ()
    sections: tuple[str, ...] = ()
    """The sections of the design that all workloads share."""

    @property
    def missed(self) -> dict[str, float]:
        """The constraints that it breaks, each with how much."""
        return {name: violation for name, violation in self.violations.items() if violation > 0}

    @property
    def parts(self) -> tuple[tuple[str, TrialRecord], ...]:
        """The designs of this trial: itself, or one for each workload, each with the workload's name."""
        if not self.workloads:
            return (("", self),)
        return tuple(
            (w.name, replace(self, params=w.params, design=w.design, metrics=w.metrics, workloads=()))
            for w in self.workloads
        )

    @property
    def decided_document(self) -> Mapping[str, Any] | None:
        """The trial's design document; for several workloads, the sections that they share."""
        if self.design is None or not self.workloads:
            return self.design
        kept = {section: self.design[section] for section in self.sections if section in self.design}
        if "cluster" in kept:
            kept["cluster"] = {key: value for key, value in kept["cluster"].items() if key != "placement"}
        return kept


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
    trials: tuple[TrialRecord, ...]
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

    @property
    def feasible_trials(self) -> tuple[TrialRecord, ...]:
        """The trials that were simulated and meet every constraint."""
        return tuple(trial for trial in self.trials if trial.state == "feasible")

    def losses(self, trials: tuple[TrialRecord, ...]) -> NDArray[np.float64]:
        """Objective values to be minimised, `[len(trials), objectives]`."""
        return losses(self.objectives, [trial.values for trial in trials])

    @property
    def front(self) -> tuple[TrialRecord, ...]:
        """The feasible trials that no other dominates, by the first objective, then by number."""
        trials = self.feasible_trials
        matrix = self.losses(trials)
        chosen = [
            (tuple(row), trial) for row, trial, keep in zip(matrix, trials, front_mask(matrix), strict=True) if keep
        ]
        return tuple(trial for _, trial in sorted(chosen, key=lambda pair: (pair[0], pair[1].number)))

    @property
    def knee(self) -> TrialRecord | None:
        """The front's knee, if it has one."""
        front = self.front
        index = knee(self.losses(front)) if front else None
        return None if index is None else front[index]

    @property
    def reference(self) -> NDArray[np.float64] | None:
        """The hypervolume's reference point, to be minimised, `[objectives]`; None where nothing is feasible."""
        if self.given_reference is not None:
            given: NDArray[np.float64] = losses(self.objectives, [self.given_reference])[0]
            return given
        trials = self.feasible_trials
        return reference_point(self.losses(trials)) if trials else None

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

    @property
    def hypervolume(self) -> float:
        """Volume between the front and the reference point; 0 where nothing is feasible."""
        reference = self.reference
        return 0.0 if reference is None else hypervolume(self.losses(self.front), reference)
