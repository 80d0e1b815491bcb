"""A short search downhill among the designs of a space that are alike in something: a machine, a number of NPUs.

It goes over the steps that reports ask about (`dse.whatif.steps`), from the study's own best design of the kind, from
designs near the front that are moved to it and from others drawn at random: first towards feasible designs, then
towards those whose objectives are together the least behind the front's knee, or behind a trial in the one that loses
most.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import VALID, StudyRecord, TrialRecord
from dse.space.constraint import describe_violation
from dse.space.draw import RandomDraw
from dse.space.space import Space
from dse.whatif.answers import DOES_NOT_FIT
from dse.whatif.batches import describe_broken, rivals
from dse.whatif.steps import steps_around
from simcore.check.load import parse_design
from simcore.document.problem import InputError, Refusal

_LOOKS = 20
"""Designs that may be looked at for each simulation: most are cut, which takes a fraction of its time."""
_MOVED, _DRAWN = 12, 200
"""Designs of the front, and near it, that are moved to a kind; designs of the space that are drawn."""
_CLIMBS = 4
"""Starts from which the search goes on, the best ones."""
_TIES = 0.01
"""Weight of all objectives together, beside the one that loses most: of equals in that the better one counts."""

Simulate = Callable[[Mapping[str, Any]], Outcome]
Named = Callable[[Mapping[str, Any] | None], str]
"""The kind of a design document; empty where it has none."""
Rank = tuple[int, float]
"""0 and how far behind the knee the objectives are together; or by how much constraints are missed, after 1 in a
simulation, after 2 before one, after 3 where a rule is broken."""
Ranked = tuple[Rank, TrialRecord]


def find_starts(record: StudyRecord, space: Space) -> list[TrialRecord]:
    """Designs to start from, of all kinds.

    First those one step from the front and from the trials nearest to it, of each choice of degrees one; then designs
    that are drawn at random.
    """
    starts: list[TrialRecord] = []
    seen = set()
    for trial in (*record.front[:_MOVED], *rivals(record, _MOVED)):
        if (job := job_of(trial)) not in seen:
            seen.add(job)
            starts += _neighbours(space, trial)
    rng = np.random.default_rng(record.seed)
    for _ in range(_DRAWN):
        try:
            filled = space.fill(RandomDraw(rng))
        except (Refusal, InputError):
            continue  # an expression without a value: the space has no such design
        starts.append(_unknown(filled.params, filled.document))
    return starts


def by_kind(starts: Sequence[TrialRecord], named: Named) -> dict[str, list[TrialRecord]]:
    """Kind -> the designs of it, in their order; those of no kind are left out."""
    found: dict[str, list[TrialRecord]] = {}
    for start in starts:
        if name := named(start.design):
            found.setdefault(name, []).append(start)
    return found


def job_of(trial: TrialRecord) -> str:
    """A trial's section `parallelism` as text: equal where all choices of degrees are."""
    return json.dumps(parallelism_of(trial.design), sort_keys=True)


def parallelism_of(document: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The section `parallelism` of a document; empty where there is none."""
    found = (document or {}).get("parallelism")
    return found if isinstance(found, Mapping) else {}


def try_settings(simulate: Simulate, trial: TrialRecord, **settings: Any) -> Outcome | None:
    """A trial's design with other `settings` of `parallelism` (None: not given); None where that is not feasible."""
    parallelism = {**parallelism_of(trial.design), **settings}
    given = {key: value for key, value in parallelism.items() if value is not None}
    return try_changed(simulate, trial, parallelism=given)


def try_changed(simulate: Simulate, trial: TrialRecord, **sections: Any) -> Outcome | None:
    """A trial's design with other `sections`; None where that is not feasible."""
    try:
        outcome = simulate({**(trial.design or {}), **sections})
    except Refusal:
        return None  # they do not suit such a design
    return outcome if outcome.state == "feasible" else None


def loss_against(record: StudyRecord, trial: TrialRecord, values: Mapping[str, float]) -> dict[str, float]:
    """Objective -> by which share of a trial's value another design with `values` is worse; below 0 better."""
    return {o.name: o.loss(trial.values[o.name], values[o.name]) or 0.0 for o in record.objectives}


def _neighbours(space: Space, trial: TrialRecord) -> Iterator[TrialRecord]:
    """The designs one step from a trial, not evaluated yet, as trials of no study."""
    near = steps_around(space, trial)
    for neighbour in () if near is None else near.neighbours():
        yield _unknown(neighbour.params, neighbour.document)


def _unknown(params: Mapping[str, Any], document: Any) -> TrialRecord:
    return TrialRecord(-1, "cut", {}, dict(params), {}, document)


@dataclass
class Climb:
    """A search downhill among the designs of one kind."""

    record: StudyRecord
    space: Space
    simulate: Simulate
    named: Named
    kind: str
    most: int
    """Simulations that it may take."""
    only: str = ""
    """The one constraint that counts: any valid design that keeps it will do; empty where all count."""
    beside: TrialRecord | None = None
    """The trial of which a design is looked for that is the least behind it; None: behind the front's knee."""
    simulated: int = 0
    looked: int = 0
    _missed: list[tuple[Mapping[str, Any], frozenset[str]]] = field(default_factory=list)
    """Each design that was looked at, and the constraints that it breaks."""
    _done: bool = False
    """Whether one was that will do."""

    def limits_beyond(self, nearest: TrialRecord) -> list[str]:
        """The constraints that all valid designs break that were looked at on more NPUs than the nearest one has."""
        npus = count_npus(nearest.design)
        larger = [missed for design, missed in self._missed if VALID not in missed and count_npus(design) > npus]
        return sorted(frozenset.intersection(*larger)) if larger else []

    def run(self, starts: Sequence[TrialRecord], own: Ranked | None = None) -> Ranked | None:
        """The best design that was found, evaluated; None where none could be. `own` is one that was found before."""
        looked = [own, *(self._look(start) for start in starts if self._may_look(self.most // 2))]
        known = sorted((ranked for ranked in looked if ranked is not None), key=lambda ranked: ranked[0])
        found = [self._climb(ranked) for ranked in known[:_CLIMBS]]
        return min(found, key=lambda ranked: ranked[0], default=None)

    def _climb(self, best: Ranked) -> Ranked:
        """The first better neighbour of each design, until none is better or the simulations are used up."""
        while True:
            for neighbour in _neighbours(self.space, best[1]):
                if not self._may_look(self.most):
                    return best
                ranked = self._look(neighbour) if self.named(neighbour.design) == self.kind else None
                if ranked is not None and ranked[0] < best[0]:
                    best = ranked
                    break
            else:
                return best

    def _may_look(self, most: int) -> bool:
        return not self._done and self.simulated < most and self.looked < most * _LOOKS

    def _look(self, other: TrialRecord) -> Ranked | None:
        """A design, evaluated; None where the space has no such design, or it failed."""
        assert other.design is not None
        try:
            outcome = self.simulate(other.design)
        except Refusal:
            return None
        self.looked += 1
        self.simulated += outcome.metrics is not None
        if outcome.state == "failed":
            return None
        self._done |= bool(self.only) and self._missed_by(outcome) == 0
        self._missed.append((other.design, frozenset(name for name, by in outcome.violations.items() if by > 0)))
        return self._rank(outcome), replace(
            other,
            state=outcome.state,
            values=outcome.values,
            violations=outcome.violations,
            design=outcome.design,
            metrics=outcome.metrics,
            error=outcome.error or _broken(outcome),
        )

    def _missed_by(self, outcome: Outcome) -> float:
        """By how much a design misses what counts; 0 where it keeps all of that."""
        counts = (VALID, self.only) if self.only else outcome.violations
        return sum(max(0.0, outcome.violations.get(name, 0.0)) for name in counts)

    def _rank(self, outcome: Outcome) -> Rank:
        if outcome.state != "feasible":
            missed = self._missed_by(outcome)
            broken = outcome.violations.get(VALID, 0.0) > 0
            return 3 if broken else 2 if outcome.metrics is None else 1, missed
        if self.beside is not None:
            loss = loss_against(self.record, self.beside, outcome.values).values()
            return 0, max(loss) + _TIES * sum(loss)
        return 0, behind_knee(self.record, outcome.values)


def _broken(outcome: Outcome) -> str:
    """What a design breaks, and by how much where that is known."""
    missed = [(name, by) for name, by in outcome.violations.items() if by > 0]
    if outcome.cut_by == "fits" and len(missed) == 1:
        return f"{DOES_NOT_FIT}, {100 * missed[0][1]:.2g} % more memory would be needed"
    if outcome.metrics is None:
        rule = outcome.cut_by or ""
        known = outcome.violations.get(rule, 0.0)
        told = f" missed by {describe_violation(rule, known)} at the least" if known > 0 and rule != VALID else ""
        return f"{describe_broken(outcome)}{told}"
    return ", ".join(f"{name} missed by {describe_violation(name, by)}" for name, by in missed)


def behind_knee(record: StudyRecord, values: Mapping[str, float]) -> float:
    """How far behind the front's knee the objectives are together."""
    base = record.knee or record.front[0]
    behind = [o.loss(base.values[o.name], values[o.name]) for o in record.objectives]
    return sum(share for share in behind if share is not None)


def most_behind(record: StudyRecord, trial: TrialRecord, values: Mapping[str, float]) -> float:
    """By which share of a trial's value another design with `values` is worse in the objective that loses most."""
    return max(loss_against(record, trial, values).values())


def count_npus(document: Mapping[str, Any] | None) -> int:
    """The NPUs of a design document; 0 where they are not known."""
    design = parse_design(document or {})[0]
    return 0 if design is None else design.cluster.npus
