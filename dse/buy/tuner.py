"""The best software of a workload on one cluster: what a study over clusters asks for each candidate.

Exactly, where the software is a finite space of moderate size: all of it is enumerated once per shape of cluster
(`dse.buy.software`); then, best ideal bound first, a candidate is passed over when its proven bound on this cluster is
worse than the best found, and simulated otherwise. What was best on earlier clusters is tried first, which makes the
cut deep and cannot change the answer. Where bounds do not hold for the engine nothing is passed over. Larger spaces,
and unless asked otherwise those of such an engine, are searched by a sampler, for a fixed number of designs.

*Best* is: feasible before infeasible before cut; then the tuned metric; then the other objectives in their order; then
the place in the enumeration.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.buy.software import Software, SoftwareCandidate, enumerate_software, loss_bound, params_key, shape_key
from dse.evaluate.evaluate import Evaluator, Outcome
from dse.execute.serial import Serial
from dse.proof.parts import is_proven_of
from dse.search import make_sampler, resolve_sampler
from dse.space.jobs import Job
from dse.space.objective import Objective
from dse.space.space import Space
from dse.study.memory import Memory
from dse.study.one_driver import OneDriver
from dse.study.stop import Limits
from dse.study.study import Study
from simcore.design.design import Design
from simcore.metrics import METRICS

EXACT = 20_000
"""Software of at most this many combinations is tuned exactly by `auto`."""
_REMEMBERED = 16
_ROUNDING = 1e-12
"""Relative: a bound and a result are rounded to floats on different ways."""

_RANKS = {"feasible": 0, "infeasible": 1, "cut": 2, "failed": 3}
Score = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TunedSoftware:
    """The best that was found: its outcome, and the values of its holes."""

    outcome: Outcome
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Tuner:
    """Tunes workloads on clusters for one metric; remembers shapes and what was best before."""

    evaluator: Evaluator
    tune: Objective
    sampler: str
    trials: int
    seed: int
    _software: dict[tuple[str, str], Software] = field(default_factory=dict, compare=False, repr=False)
    _recent: dict[str, deque[str]] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, space: Space, job: Job, document: Mapping[str, Any], first: Design) -> TunedSoftware:
        """The best software of a job on the cluster of `document`.

        `space` is the plain space of the two, `first` any design of it.
        """
        if self.sampler == "exact" or (self.sampler == "auto" and self._bounds_hold and space.count() <= EXACT):
            return self._tune_exactly(space, job, document, first)
        return self._tune_by_sampling(space)

    @property
    def _bounds_hold(self) -> bool:
        """Whether what is proven of the tuned metric holds for what the engine says."""
        engine = self.evaluator.engine
        names = [name for name in self.tune.names if name in METRICS]
        return isinstance(engine, str) and is_proven_of(engine, names)

    def score(self, outcome: Outcome, number: int) -> Score:
        """The sort key of an outcome; the best outcome has the smallest."""
        rank = float(_RANKS[outcome.state])
        missed = sum(violation for violation in outcome.violations.values() if violation > 0)
        if outcome.state == "failed":
            return (rank, missed, 0.0, float(number))
        others = [o for o in self.evaluator.objectives if o.name != self.tune.name]
        losses = [o.sign * outcome.values[o.name] for o in (self.tune, *others)]
        return (rank, missed if rank else 0.0, *losses, float(number))

    def _tune_exactly(self, space: Space, job: Job, document: Mapping[str, Any], first: Design) -> TunedSoftware:
        key = (job.name, shape_key(document, job.template, first))
        software = self._software.get(key)
        if software is None:
            software = self._software[key] = enumerate_software(space, self.tune)
        if not software.candidates:
            closest = software.closest
            return TunedSoftware(
                self.evaluator.evaluate_design(closest.design_on(first.cluster, first.cost)), closest.params
            )
        best: tuple[Score, Outcome, SoftwareCandidate] | None = None
        for candidate in self._order_candidates(job, software):
            limit = _limit(best[0]) if best is not None and self._bounds_hold else float("inf")
            if candidate.ideal > limit:
                continue
            design = candidate.design_on(first.cluster, first.cost)
            if limit < float("inf") and loss_bound(design, self.tune) > limit:
                continue
            outcome = self.evaluator.evaluate_design(design)
            score = self.score(outcome, candidate.number)
            if best is None or score < best[0]:
                best = score, outcome, candidate
        assert best is not None
        self._remember(job, best[2])
        return TunedSoftware(best[1], best[2].params)

    def _order_candidates(self, job: Job, software: Software) -> Iterator[SoftwareCandidate]:
        """What was best lately, then all by their ideal bound."""
        lately = [
            software.by_params[key] for key in reversed(self._recent.get(job.name, ())) if key in software.by_params
        ]
        yield from lately
        tried = {candidate.number for candidate in lately}
        yield from (candidate for candidate in software.candidates if candidate.number not in tried)

    def _remember(self, job: Job, candidate: SoftwareCandidate) -> None:
        recent = self._recent.setdefault(job.name, deque(maxlen=_REMEMBERED))
        key = params_key(candidate.params)
        if key in recent:
            recent.remove(key)
        recent.append(key)

    def _tune_by_sampling(self, space: Space) -> TunedSoftware:
        """By a study of its own: nothing is remembered from other clusters, so that the answer depends on none."""
        sampler = make_sampler(resolve_sampler(self.sampler, space), space, self.seed)
        found = Memory()
        Study(space, sampler, OneDriver(found)).run(Limits(self.trials), Serial(self.evaluator))
        best = min(found.trials, key=lambda trial: self.score(trial.outcome, trial.number))
        return TunedSoftware(best.outcome, best.params)


def _limit(score: Score) -> float:
    """The loss beyond which a bound says that a candidate is worse than one with this score."""
    return score[2] + _ROUNDING * abs(score[2]) if score[0] == 0 else float("inf")
