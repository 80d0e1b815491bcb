"""From a candidate cluster to its outcome: the software of every workload tuned on it, and one value per objective.

    cluster ─▶ constraints on the cluster alone ─▶ for each workload: tune ─▶ weighted or worst
                        │ broken: cut, nothing is tuned

A constraint holds for a cluster where it holds for every workload; its violation is the worst one. A workload that no
software runs (nothing fits) makes the cluster one that is cut, with proven bounds as values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.buy.tuner import TunedSoftware, Tuner
from dse.evaluate.aggregate import Aggregate, aggregate, is_shared
from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import VALID, State, TunedRecord
from dse.space.constraint import Constraint
from dse.space.draw import FixedDraw
from dse.space.fill import FilledDocument
from dse.space.interval import design_bound
from dse.space.jobs import Job, is_software
from dse.space.objective import Objective
from dse.space.order import ORDERABLE
from dse.space.screen import is_known_before
from dse.space.space import Space
from simcore.bounds.design import bound_any_design
from simcore.check.load import parse_sound
from simcore.cost.orderable import order_of
from simcore.cost.price import price_problems
from simcore.design.design import Design
from simcore.document.problem import format_path
from simcore.metrics import CLUSTER, METRICS, is_of, metrics_before
from simcore.result import Result

_STATES: tuple[State, ...] = ("failed", "cut", "infeasible", "feasible")
"""The state of a cluster is the first of these that one of its workloads is in."""


def tuning_objective(space: Space) -> Objective:
    """What software is tuned for: the metric that the study names, else the first objective that it can change."""
    name = space.settings.tune
    own = [objective for objective in space.objectives if not is_shared(objective)]
    if name is None and own:
        return own[0]
    name = name or "iteration_time"
    listed = next((objective for objective in space.objectives if objective.name == name), None)
    if listed is not None:
        return listed
    return Objective(name, METRICS[name].direction, METRICS[name].unit)


@dataclass(frozen=True)
class Buyer:
    """Evaluates candidate clusters of a space with jobs."""

    space: Space
    tuner: Tuner
    how: Aggregate

    def __call__(self, document: Mapping[str, Any]) -> Outcome:
        """The outcome of one candidate: the decided sections, with the holes of software in them."""
        key = self.space.key(FilledDocument(document))
        tuned = [self._tune_job(job, document) for job in self.space.jobs]
        outcomes = [entry.outcome for entry in tuned]
        states = {outcome.state for outcome in outcomes}
        state: State = next(s for s in _STATES if s in states)
        names = [objective.name for objective in self.space.objectives]
        records = tuple(_record(job, entry, names) for job, entry in zip(self.space.jobs, tuned, strict=True))
        first = outcomes[0]
        values: dict[str, float] = {}
        if state != "failed":
            weights = [job.weight for job in self.space.jobs]
            values = aggregate(
                self.how, self.space.objectives, weights, [o.values for o in outcomes], self.space.shares
            )
        return Outcome(
            key,
            state,
            values,
            _worst_violations([outcome.violations for outcome in outcomes]),
            first.design,
            first.metrics,
            self._join_texts([outcome.cut_by for outcome in outcomes]),
            self._join_texts([outcome.error for outcome in outcomes]),
            records,
        )

    @property
    def engine(self) -> str | Callable[[Design], Result]:
        """See `Evaluate.engine`."""
        return self.tuner.evaluator.engine

    def prepare(self) -> None:
        """See `Evaluate.prepare`."""
        self.tuner.evaluator.prepare()

    def failure_outcome(self, document: Mapping[str, Any], text: str) -> Outcome:
        """See `Evaluate.failure_outcome`."""
        unknown = {VALID: 0.0} | {constraint.name: 1.0 for constraint in self.space.constraints}
        return Outcome(self.space.key(FilledDocument(document)), "failed", {}, unknown, dict(document), error=text)

    def _join_texts(self, texts: Sequence[str | None]) -> str | None:
        """Joins the messages of the workloads, each preceded by the workload's name if there are several."""
        several = len(self.space.jobs) > 1
        pairs = zip(self.space.jobs, texts, strict=True)
        said = [f"{job.name}: {text}" if several else text for job, text in pairs if text]
        return "; ".join(said) or None

    def _tune_job(self, job: Job, document: Mapping[str, Any]) -> TunedSoftware:
        space = replace(
            self.space.space_of_job(job), template={**document, **job.template}, objectives=(self.tuner.tune,)
        )
        first = parse_sound(space.fill(FixedDraw()).document)
        entry = self._rule_out(first) or self.tuner(space, job, document, first)
        if entry.outcome.state != "cut":
            return entry
        # Its own bounds are those of one software; what the cluster is told with must hold for all of them.
        values = cluster_bounds(first, self.space.objectives)
        return replace(entry, outcome=replace(entry.outcome, values=values))

    def _rule_out(self, design: Design) -> TunedSoftware | None:
        """The outcome of a cluster that breaks a constraint on the cluster alone; None if it breaks none."""
        constraints = [c for c in self.space.constraints if _is_of_cluster(c) and is_known_before(c, design)]
        if not constraints or price_problems(design):
            return None
        known, document = metrics_before(design, None, CLUSTER), design.document()
        violations = {constraint.name: constraint.violation(known, document) for constraint in constraints}
        broken = [name for name, violation in violations.items() if violation > 0]
        if not broken:
            return None
        why = next(iter(order_of(design.cluster).notes), None) if broken[0] == ORDERABLE else None
        every = {VALID: 0.0} | {c.name: violations.get(c.name, 0.0) for c in self.space.constraints}
        return TunedSoftware(Outcome(design.key, "cut", {}, every, document, cut_by=broken[0], error=why), {})


def _record(job: Job, entry: TunedSoftware, names: Sequence[str]) -> TunedRecord:
    """What a study keeps of a workload on a cluster; of its values those of these objectives."""
    outcome = entry.outcome
    return TunedRecord(
        job.name,
        outcome.state,
        {name: outcome.values[name] for name in names if name in outcome.values},
        entry.params,
        outcome.violations,
        outcome.design,
        outcome.metrics,
        outcome.cut_by,
        outcome.error,
    )


def _worst_violations(violations: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: max(each[name] for each in violations) for name in violations[0]}


def _is_of_cluster(constraint: Constraint) -> bool:
    """Whether a constraint speaks of the cluster's hardware and its price alone."""
    return all(
        is_of(format_path(path), CLUSTER) or (path[0] == "cluster" and not is_software(path))
        for path in constraint.expression.paths
    )


def cluster_bounds(design: Design, objectives: Sequence[Objective]) -> dict[str, float]:
    """What no software of the design's workload can beat on its cluster; 0 where nothing is proven."""
    proven = bound_any_design(design)
    if not price_problems(design):
        proven = {**proven, **metrics_before(design, None, CLUSTER)}
    document = design.document()
    return {objective.name: design_bound(objective, proven, document) or 0.0 for objective in objectives}
