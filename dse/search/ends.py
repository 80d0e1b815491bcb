"""The front's ends by what no simulation needs: a cheaper network, and a job that still meets the limits on it.

On a cheaper network the job of the cheapest design may break a limit on results (a time, a power), and what would meet
it lies several steps away. So the job follows: small moves, each kept where the estimates miss the limits by less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dse.constraint import KNOWN_BEFORE
from dse.objective import Objective
from dse.search.candidates import MISSED, Candidate, Candidates
from dse.search.genome import moves, with_value

NETWORKS, CLIMB = 6, 12
"""Cheaper networks that are looked at for a design, and small moves of the job on each."""


@dataclass
class Ends:
    """Makes candidates beyond the designs that are best by an objective known without simulation."""

    candidates: Candidates

    def beyond(self, parents: Sequence[Candidate]) -> Iterator[Candidate | None]:
        """Candidates beyond the best of `parents`, by each such objective."""
        allowed = [parent for parent in parents if parent.known and (parent.known[MISSED] or 0.0) <= 0.0]
        for objective in self.candidates.space.objectives:
            if allowed and objective.expression is None and objective.name in KNOWN_BEFORE:
                best = min(allowed, key=lambda parent: (_loss(objective, parent), parent.key))
                yield from self._beyond(best, objective)

    def _beyond(self, parent: Candidate, objective: Objective) -> Iterator[Candidate | None]:
        left = NETWORKS
        for candidate in self._near(parent, of_job=False):
            yield candidate
            if candidate is None or not candidate.known or _loss(objective, candidate) >= _loss(objective, parent):
                continue
            yield from self._climbed(candidate)
            left -= 1
            if not left:
                return

    def _climbed(self, candidate: Candidate) -> Iterator[Candidate | None]:
        """Small moves of the job, towards the limits."""
        left = CLIMB
        while left and _missed(candidate) > 0.0:
            before = candidate
            for other in self._near(before, of_job=True):
                yield other
                left -= 1
                if other is not None and other.known and _missed(other) < _missed(before):
                    candidate = other
                if candidate is not before or not left:
                    break
            if candidate is before:
                return

    def _near(self, parent: Candidate, of_job: bool) -> Iterator[Candidate | None]:
        """Designs one small move of the job away, or of the network, in random order."""
        draw = self.candidates.generator
        found = [
            (name, value)
            for name, value in moves(parent.genes, self.candidates.products, draw)
            if parent.genes[name].of_job == of_job
        ]
        for i in draw.permutation(len(found)):
            yield self.candidates.changed(parent, with_value(parent.genes, *found[i]))


def _loss(objective: Objective, candidate: Candidate) -> float:
    return objective.sign * (candidate.known[objective.name] or 0.0)


def _missed(candidate: Candidate) -> float:
    return candidate.known[MISSED] or 0.0
