"""Extends the front at its cheap end: looks for cheaper networks, and for jobs that still meet the constraints on them.

On a cheaper network the job of the cheapest design may break a limit on results (a time, a power), and what would meet
it lies several steps away. So the job follows: moves of it, each kept where the estimates miss the limits by less. What
was reached on a network is where the next look at it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import job_of, link_genes, moves, with_value
from dse.space.objective import Objective
from simcore.metrics import BEFORE, is_of

NETWORKS, CLIMB = 4, 32
"""Cheaper networks that are looked at at a time, and moves of the job on each."""

Network = tuple[tuple[str, float], ...]


@dataclass
class EndCandidates:
    """Makes candidates beyond the designs that are best by an objective known without simulation."""

    candidates: Candidates
    _reached: dict[Network, Candidate] = field(default_factory=dict)
    """The design of each network whose job misses the limits least."""

    def make_beyond(self, parents: Sequence[Candidate]) -> Iterator[Candidate | None]:
        """Candidates beyond the best of `parents`, by each such objective."""
        allowed = [parent for parent in parents if parent.known and parent.missed_violation <= 0.0]
        for objective in self.candidates.space.objectives:
            if allowed and is_of(objective.name, BEFORE):
                best = min(allowed, key=lambda parent: (_loss(objective, parent), parent.key))
                yield from self._vary_network(best)
                yield from self._climb(objective, _loss(objective, best))

    def _vary_network(self, parent: Candidate) -> Iterator[Candidate | None]:
        """The job on every network one small move away."""
        draw = self.candidates.generator
        for name, value in moves(parent.genes, self.candidates.products, draw):
            if not parent.genes[name].is_of_job:
                yield self._note(self.candidates.make_changed(parent, with_value(parent.genes, name, value)))

    def _climb(self, objective: Objective, best: float) -> Iterator[Candidate | None]:
        """Moves of the jobs on better networks, where they come nearest to the limits."""
        better = [c for c in self._reached.values() if _loss(objective, c) < best and c.missed_violation > 0.0]
        for candidate in sorted(better, key=lambda c: (c.missed_violation, c.key))[:NETWORKS]:
            network = candidate.network
            for _ in range(CLIMB):
                yield self._note(self._move_job(self._reached[network]))
                if self._reached[network].missed_violation <= 0.0:
                    break

    def _move_job(self, candidate: Candidate) -> Candidate | None:
        """The design with its job moved a little, or by several moves together."""
        draw, products = self.candidates.generator, self.candidates.products
        if draw.random() < 0.5:
            genes = link_genes(candidate.genes, products, draw)
        else:
            found = [(n, v) for n, v in moves(candidate.genes, products, draw) if candidate.genes[n].is_of_job]
            genes = with_value(candidate.genes, *found[int(draw.integers(len(found)))]) if found else candidate.genes
        return self.candidates.make_changed(candidate, {**candidate.genes, **job_of(genes)})

    def _note(self, candidate: Candidate | None) -> Candidate | None:
        if candidate is not None and candidate.known and candidate.violation <= 0.0:
            network = candidate.network
            before = self._reached.get(network)
            if before is None or candidate.missed_violation < before.missed_violation:
                self._reached[network] = candidate
        return candidate


def _loss(objective: Objective, candidate: Candidate) -> float:
    return objective.sign * (candidate.known[objective.name] or 0.0)
