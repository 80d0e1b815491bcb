"""The least iteration time, or energy, of a trained model or of a collective: jobs on the lifted networks, best first.

In order of what they compute, jobs get the least time that their collectives add on the lifted networks
(`dse.proof.lifted`). Where a budget is split over all dimensions, drawn or solved, the best split of it
(`dse.space.split.bandwidth`) counts: the convex relaxation over all splits, and where they are drawn in few steps every
one of them. The search ends where no later job's compute is below the best of these, or after `MOST_REFINED` jobs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.proof.branch import Brancher, JobNode
from dse.proof.job_queue import Entry, JobQueue
from dse.proof.least import Leader, Search, Times
from dse.proof.lifted import Budget
from dse.proof.parts import SpacePart
from dse.space.split.bandwidth import optimal_split, split_time
from dse.space.split.geometric import WORST
from simcore.bounds.collective import CollectiveTime
from simcore.bounds.many import NetworkFamily, collective_bytes

Floats = NDArray[np.float64]

MOST_REFINED = 400
"""Jobs whose collectives are bounded, per shape."""


class TrainingSearch(Search):
    """The search for the least iteration time, or energy, of a trained model, or of a collective."""

    def __init__(self, queue: JobQueue, brancher: Brancher, budget: Budget | None) -> None:
        self.done = False
        self._queue, self._brancher, self._budget = queue, brancher, budget
        self._best, self._refined = np.inf, 0
        self._leader: Leader | None = None

    @property
    def leader(self) -> Leader | None:
        """See `Search.leader`."""
        first = self._queue.first_entry if self._queue.has_begun else None
        return Leader(first.job, None) if first is not None and first.least < self._best else self._leader

    @property
    def times(self) -> Times | None:
        """See `Search.times`."""
        if not self._queue.has_begun:
            return {}
        least = min(self._best, self._queue.least)
        return None if least == np.inf else {self._queue.goal.metric: float(least)}

    def advance(self) -> None:
        """See `Search.advance`: the next job of the queue."""
        if not self._queue.has_begun:
            self._queue.begin()
        elif not self.done and (entry := self._queue.step()) is not None:
            self._refine(entry)
        # A job whose collectives are not bounded any more counts by its compute, and those behind it are no better.
        over = self._queue.least >= self._best
        first = self._queue.first_entry
        self.done = over or (first is not None and first.fits and self._refined == MOST_REFINED)

    def _refine(self, entry: Entry) -> None:
        if not entry.networks:
            self._set_leader(entry.least, Leader(entry.job, None))
            return
        self._refined += 1
        for on in self._brancher.nodes(entry.job, entry.networks):
            seconds, network = _least_time(on, self._brancher, self._budget, self._enough_time(entry))
            self._set_leader(self._queue.goal.value_of(seconds, entry.joules), Leader(entry.job, network))

    def _enough_time(self, entry: Entry) -> float:
        """The time at which a job is no better than the best [s]."""
        goal = self._queue.goal
        return (self._best - goal.value_of(0.0, entry.joules)) / goal.per_second if goal.per_second else np.inf

    def _set_leader(self, least: float, leader: Leader) -> None:
        if least < self._best:
            self._best, self._leader = least, leader


def _least_time(
    node: JobNode, brancher: Brancher, budget: Budget | None, enough: float
) -> tuple[float, SpacePart | None]:
    """The least time of a job on its lifted networks, or something at least `enough`; and that network.

    Where a budget is split over all dimensions no network has the most of each: the best split of it is solved.
    """
    if not all(node.networks.linear):
        return node.compute, None  # a slower dimension of such a network could relieve another one
    live = [(family, where.start) for family, _, where in node.networks.spans() if node.live[where].any()]
    spans = [(float(brancher.seconds(node, family, budget is None).min()), start, family) for family, start in live]
    best, network = enough, node.networks.parts[min(spans, key=lambda span: span[:2])[1]]
    for lifted, start, family in sorted(spans, key=lambda span: span[:2]):
        if lifted >= best:
            break
        least = (
            lifted
            if budget is None
            else max(lifted, _least_split_time(node, brancher.own_family(node, family), budget, best))
        )
        if least < best:
            best, network = least, node.networks.parts[start]
    return best, network


def _least_split_time(node: JobNode, family: NetworkFamily, budget: Budget, enough: float) -> float:
    """The least time of a job on a family with any split of a budget, or something at least `enough` [s].

    Networks of a family may reach different shares of their bandwidths, and have different latencies.
    """
    assert family.bandwidths is not None
    ways = np.unique(np.hstack([family.bandwidths / family.rates, family.latencies]), axis=0)
    dims = family.rates.shape[1]
    return min(_least_time_of(node, family, budget, enough, way[:dims], way[dims:]) for way in ways)


def _least_time_of(
    node: JobNode, family: NetworkFamily, budget: Budget, enough: float, slowed: Floats, latencies: Floats
) -> float:
    """As `_least_split_time`, of links that are so much `slowed` and have such `latencies` `[dims]` [s]."""
    if node.iteration is None:
        return collective_bytes(node.design, family, slowed) / budget.most
    problems = [(constant, table * slowed) for constant, table in node.iteration.problems(family)]
    shares = budget.splits(len(slowed))
    if shares is None:
        return _solve_largest(problems, budget.most)
    constant, table = _largest_problem(problems, shares.mean(axis=0))
    hopeful = shares[_split_times(table, shares, constant) < enough]
    known: dict[Any, CollectiveTime] = {}
    for overlap in (False, True):
        if not len(hopeful):
            return enough
        each = np.broadcast_to(latencies, hopeful.shape)
        seconds = node.iteration.seconds(NetworkFamily(family.design, hopeful / slowed, each), known, overlap)
        better = seconds < enough
        hopeful, known = hopeful[better], {where: _times_on(better, time) for where, time in known.items()}
    return float(seconds.min())


def _times_on(networks: NDArray[np.bool_], time: CollectiveTime) -> CollectiveTime:
    """What a collective takes on some of the networks that its vectors are of."""
    busy, *ways = ({d: service[networks] for d, service in its.items()} for its in (time.busy, *time.ways))
    return replace(time, least=time.least[networks], busy=busy, ways=ways)


def _split_times(table: Floats, shares: Floats, constant: float) -> Floats:
    """The time of a problem at each of some splits `[ways]` [s]: as `split_time`, dimension by dimension."""
    longest = table[:, 0] / shares[:, :1]  # the largest along a last axis of a few numbers would take ten times as long
    for d in range(1, shares.shape[1]):
        np.maximum(longest, table[:, d] / shares[:, d : d + 1], out=longest)
    seconds: Floats = constant + longest.sum(axis=1)
    return seconds


def _largest_problem(
    problems: list[tuple[float, NDArray[np.float64]]], shares: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The problem that takes longest at some shares."""
    return max(problems, key=lambda problem: split_time(problem[1], shares, problem[0]))


def _solve_largest(problems: list[tuple[float, NDArray[np.float64]]], budget: float) -> float:
    """The time of the largest problem at equal shares, with the shares that are best for it [s]."""
    equal = np.full(problems[0][1].shape[1], budget / problems[0][1].shape[1])
    constant, table = _largest_problem(problems, equal)
    return split_time(table, optimal_split(table, budget), constant) * (1 - WORST)
