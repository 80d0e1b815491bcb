"""Exact: the true Pareto front of a finite space, by branch and bound.

Land and Doig (1960); for several objectives Ehrgott (2005), section 8.

    job (workload, parallelism) ─ cannot be, does not fit, breaks a constraint ─▶ cut with all its networks
      ├─ its compute alone, with the exact cost and memory of each network ─▶ dominated: cut
      └─ its least time on each network, collectives included ─▶ dominated: cut
           └─ open: simulated, those first that no other open design can beat

A design is cut only where a simulated feasible design dominates its *bounds*, so nothing on the front is lost, designs
of equal values included. What was cut by which rule, and what is open where the trials end, is the proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import dominated_mask, front_mask, shares_behind
from dse.proof.branch import Brancher, JobNode, Matrix
from dse.proof.parts import Networks, Parts, SpacePart, has_proven_kinds
from dse.search.base import Proposal, Prover
from dse.space.fill import has_solved_split
from dse.space.space import Space
from simcore.check.load import parse_sound
from simcore.document.problem import InputError, Problem

MOST = 10**9
"""Combinations of the largest space that is taken on."""
DOMINATED = "bound"
"""The rule that cuts what cannot be on the front."""
FIRST_BLOCK = 64
"""Jobs whose designs are bounded before the first are simulated; later blocks are twice as long each."""

MOST_CORNERS = 500
"""Rows that say how good open designs could be."""

Index = NDArray[np.int64]


@dataclass
class _OpenDesigns:
    """Open designs: bounds `[n, objectives]` to be minimised; the number of the node, and of the network in it."""

    bounds: Matrix
    node: Index
    network: Index

    def keep(self, mask: NDArray[np.bool_]) -> _OpenDesigns:
        return _OpenDesigns(self.bounds[mask], self.node[mask], self.network[mask])

    def __add__(self, other: _OpenDesigns) -> _OpenDesigns:
        return _OpenDesigns(
            np.concatenate([self.bounds, other.bounds]),
            np.concatenate([self.node, other.node]),
            np.concatenate([self.network, other.network]),
        )


class Exact(Prover):
    """Needs a finite space of at most `MOST` combinations: raises `InputError` for another."""

    def __init__(self, space: Space, seed: int) -> None:
        del seed
        if space.jobs:
            fix = "use another sampler; study.tune_sampler can be exact"
            raise InputError([Problem(("study", "sampler"), "one workload for exact", f"{len(space.jobs)}", fix)])
        if not has_proven_kinds(space.template):
            expected = "one workload of a kind of whose times bounds are proven, for exact"
            problem = Problem(("study", "sampler"), expected, "another kind of workload", "use another sampler")
            raise InputError([problem])
        points = space.count()
        if points > MOST:
            found = "a continuous hole" if points == float("inf") else f"{points:.3g}"
            fix = "give every range a step, take alternatives away, or use another sampler"
            problem = Problem(("study", "sampler"), f"at most {MOST:,} combinations for exact", found, fix)
            raise InputError([problem])
        self._space, self._points = space, int(points)
        self._solved = has_solved_split(space.template)
        """Whether designs have shares that were solved for them: others could be better than any of them."""
        self._parts = Parts.of(space)
        self._brancher = Brancher(space.objectives, space.constraints)
        self._front = np.empty((0, len(space.objectives)))
        self._counts: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._asked: dict[str, NDArray[np.float64]] = {}
        self._failed: list[NDArray[np.float64]] = []
        """Bounds of what was proposed and not answered yet, and of what failed."""
        self._nodes: list[tuple[SpacePart, Networks]] = []
        self._open = _OpenDesigns(np.empty((0, len(space.objectives))), np.empty(0, np.int64), np.empty(0, np.int64))
        self._chosen = np.empty((0, len(space.objectives)))
        """Bounds of what will be proposed next."""
        self._bounded = False
        self._stream = self._search()

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`."""
        return next(self._stream, None)

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.tell`."""
        if all(violation <= 0 for violation in violations.values()):
            front = np.concatenate([self._front, [losses]])
            self._front = np.unique(front[front_mask(front)], axis=0)
        self._asked.pop(proposal.key or "", None)

    def settle(self, proposal: Proposal) -> None:
        """What it came to was told before it was proposed."""
        self._asked.pop(proposal.key or "", None)

    def reject(self, proposal: Proposal) -> None:
        """It failed in the simulator: it could be anything that its bounds allow."""
        if proposal.key in self._asked:
            self._failed.append(self._asked[proposal.key])
            del self._asked[proposal.key]

    def proof(self) -> dict[str, Any]:
        """See `Prover.proof`."""
        unanswered = np.array(list(self._asked.values())).reshape(-1, self._front.shape[1])
        waiting = np.concatenate([self._chosen, unanswered])  # of a study that ends before they are answered
        still = ~self._dominated_mask(self._open.bounds)
        left = np.concatenate([self._open.bounds[still], waiting[~self._dominated_mask(waiting)]])
        failed = np.array(self._failed).reshape(-1, self._front.shape[1])
        failed = failed[~self._dominated_mask(failed)]  # of the others it does not matter what they are
        cut = Counter(self._brancher.cut)
        cut[DOMINATED] = self._counts[DOMINATED] + int((~still).sum())
        bounds: dict[str, float | None] = {}
        for column, objective in enumerate(self._space.objectives):
            values = [float(matrix[:, column].min()) for matrix in (self._front, left, failed) if len(matrix)]
            known = self._bounded and values and min(values) > -np.inf and not self._solved
            bounds[objective.name] = objective.sign * min(values) if known else None
        return {
            "points": self._points,
            "cut": {rule: cut[rule] for rule in sorted(cut) if cut[rule]},
            "repeats": self._counts["repeats"],
            "simulated": self._counts["simulated"],
            "open": len(left) if self._bounded else None,
            "failed": len(failed),
            "complete": self._bounded and not len(left) and not len(failed),
            "solved_shares": self._solved,
            "bounds": bounds,
            "corners": _corners(np.concatenate([left, failed])) if self._bounded and not self._solved else None,
        }

    def _search(self) -> Iterator[Proposal]:
        """All proposals: after each block of jobs the best of the open designs, in the end all that stay open."""
        nodes = self._feasible_nodes()
        start, block = 0, FIRST_BLOCK
        while start < len(nodes):
            for done, (number, node) in enumerate(nodes[start : start + block], start):
                still = f"{len(self._open.bounds):,} designs open"
                self.on_note(f"bounded {done:,} of {len(nodes):,} jobs, {still}", done / len(nodes))
                self._bound(number, node)
            start, block = start + block, 2 * block
            self.on_note(f"bounded {min(start, len(nodes)):,} of {len(nodes):,} jobs", None)
            if start < len(nodes):
                yield from self._propose()
        self._bounded = True
        while len(self._open.bounds):
            yield from self._propose()

    def _feasible_nodes(self) -> list[tuple[int, JobNode]]:
        """Jobs that fit somewhere, by shape of network, those of least compute first."""
        found: list[tuple[int, JobNode]] = []
        count = self._parts.count_jobs()
        for checked, job in enumerate(self._parts.jobs()):
            self.on_note(f"checked {checked:,} of {count:,} jobs, {len(found):,} can be", checked / count)
            for node in self._brancher.nodes(job, self._parts.networks_of(job)):
                found.append((len(self._nodes), node))
                self._nodes.append((job, node.networks))
        found.sort(key=lambda entry: (entry[1].compute, entry[0]))
        return found

    def _bound(self, number: int, node: JobNode) -> None:
        """Open the designs of a node that nothing simulated so far dominates."""
        hopeful = ~self._dominated_mask(self._brancher.relaxed_bounds(node))
        networks = np.flatnonzero(node.live)
        self._counts[DOMINATED] += int((~hopeful).sum())
        if hopeful.any():
            bounds, hopeful = self._brancher.bounds(node, hopeful)
            dominated = hopeful & self._dominated_mask(bounds)
            self._counts[DOMINATED] += int(dominated.sum())
            these = _OpenDesigns(bounds, np.full(len(networks), number), networks)
            self._open = self._open + these.keep(hopeful & ~dominated)

    def _propose(self) -> Iterator[Proposal]:
        """The open designs whose bounds no other's dominate, of equal bounds one; as long as they stay open."""
        dominated = self._dominated_mask(self._open.bounds)
        self._counts[DOMINATED] += int(dominated.sum())
        self._open = self._open.keep(~dominated)
        self._tell_gap()
        best = np.flatnonzero(front_mask(self._open.bounds))
        _, first = np.unique(self._open.bounds[best], axis=0, return_index=True)
        chosen = np.zeros(len(self._open.bounds), bool)
        chosen[best[first]] = True
        these = self._open.keep(chosen)
        order = np.lexsort(these.bounds.T[::-1])
        # Whoever breaks off here finds every design in one of the two, some in both, but none in neither.
        self._chosen = these.bounds
        self._open = self._open.keep(~chosen)
        for place, i in enumerate(order):
            self._chosen = these.bounds[order[place:]]
            if (proposal := self._proposal(these, i)) is not None:
                self._chosen = these.bounds[order[place + 1 :]]
                yield proposal
        self._chosen = these.bounds[:0]

    def _proposal(self, these: _OpenDesigns, i: int) -> Proposal | None:
        """One of the open designs, from now on asked for; None where it is dominated by now, or a repeat."""
        if self._dominated_mask(these.bounds[i : i + 1])[0]:
            self._counts[DOMINATED] += 1
            return None
        job, networks = self._nodes[these.node[i]]
        filled = self._parts.fill_design(job, networks.parts[these.network[i]])
        key = parse_sound(filled.document).key
        if key in self._seen:
            self._counts["repeats"] += 1
            return None
        self._asked[key] = these.bounds[i]
        self._seen.add(key)
        self._counts["simulated"] += 1
        return Proposal(filled, key=key)

    def _tell_gap(self) -> None:
        """Say how many designs are open once all jobs are bounded, and how far behind them the front can be."""
        if self._bounded and len(self._front) and len(self._open.bounds):
            behind = float(shares_behind(self._front, np.array(_corners(self._open.bounds))).max())
            far = f", the front at most {behind:.2%} behind" if np.isfinite(behind) else ""
            self.on_note(f"{len(self._open.bounds):,} designs open{far}", None)

    def _dominated_mask(self, bounds: Matrix) -> NDArray[np.bool_]:
        """Which `bounds` `[n, objectives]` some simulated feasible design dominates."""
        return dominated_mask(self._front, bounds)


def _corners(bounds: Matrix) -> list[list[float]]:
    """What no open design is better than in any objective: the best of their bounds, neighbours taken together."""
    best = np.unique(bounds[front_mask(bounds)], axis=0)
    if len(best) > MOST_CORNERS:
        first = np.linspace(0, len(best), MOST_CORNERS, endpoint=False).astype(np.int64)
        best = np.minimum.reduceat(best, first, axis=0)
    rows: list[list[float]] = best.tolist()
    return rows
