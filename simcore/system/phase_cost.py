"""What a phase of a collective costs whatever its size: load per byte, hops, and the messages that make up the load.

Alone, a chunk takes all steps one after the other. Its dimension is occupied for as long as the busiest of the links
takes that carry them: where steps use different links, the next chunk follows on those that are done. The two phases of
an all-reduce on a dimension are half of one such load each: on a line, the way there of a sweep loads its ends and the
way back its middle, and while one chunk scatters another one gathers.

Switches that add up and copy (`in_network`) do it where no link then carries more. In their tree a link carries S in
the busier direction and S b / n in the other one, with b of the n members below it. On one switch that is more than
the (n - 1) / n S of a reduce_scatter or an all_gather by the NPUs themselves (measured on 8 H100s: all_gather at 300
GB/s by NVLS, 350 round a ring; NVIDIA/nccl, issue 1506). It is less above the leaves of an oversubscribed fat tree;
and where both are halves of one all_reduce, with other dimensions between them, since they use opposite directions:
S (n + 1) / n for both instead of 2 S (n - 1) / n (NVLS inside a node, another algorithm between nodes). Then each
occupies the links for half of that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.collective import CustomAlgorithm, Step, algorithm_for
from simcore.design.efficiency import EfficiencyTable, slowdown
from simcore.network import (
    ADDED_KINDS,
    TREE_KINDS,
    Block,
    Listed,
    Loads,
    Pattern,
    Send,
    Shift,
    Slice,
    StepCost,
    SwitchTree,
)

_SAME = 1 - 1e-12
"""Shares of a load above this differ from all of it by the order of sums alone."""
_HALVES = ("reduce_scatter", "all_gather")


@dataclass(frozen=True, eq=False)
class PhaseCost:
    """Cost of a phase per byte of the buffer / bandwidth, in hops, and bytes sent per byte of the buffer."""

    load: float
    """Load of its steps one after the other."""
    hops: float
    sent: float
    steps: tuple[tuple[Loads, ...], ...]
    """For each step the links that may be its busiest, each with its load, message by message size (both per byte of
    the buffer): `load` is the sum over steps of the busiest one's."""
    occupied: float
    """Load of the link that is busiest over all steps."""
    links: NDArray[np.float64]
    """Load of each link that may be that one, by size of message `[links, messages]`."""
    messages: tuple[float, ...]
    """Sizes of messages, per byte of the buffer."""
    in_switch: bool = False
    """Whether switches add up and copy: flows over their tree, no steps of an algorithm."""

    @cached_property
    def in_a_row(self) -> int:
        """Messages that the busiest link carries one after the other; one where switches add up and copy."""
        if self.in_switch:
            return 1
        busiest = self.links[self.links.sum(axis=1).argmax()]
        return max(1, round(float((busiest / np.array(self.messages)).sum())))

    def load_of(self, size: float, efficiency: float | EfficiencyTable) -> float:
        """The load of a phase of `size` [B], as if all its messages got the best share of the bandwidth."""
        if not isinstance(efficiency, tuple):
            return self.load
        return sum(
            max(sum(load * slowdown(efficiency, message * size) for load, message in link) for link in step)
            for step in self.steps
        )

    def occupied_of(self, size: float, efficiency: float | EfficiencyTable) -> float:
        """What is `occupied` of that."""
        if not isinstance(efficiency, tuple):
            return self.occupied
        slowed = np.array([slowdown(efficiency, message * size) for message in self.messages])
        return float((self.links @ slowed).max())

    def elsewhere_of(self, size: float, efficiency: float | EfficiencyTable) -> float:
        """The part of that load that the busiest link does not carry."""
        if not isinstance(efficiency, tuple):
            return max(0.0, self.load - self.occupied)
        return max(0.0, self.load_of(size, efficiency) - self.occupied_of(size, efficiency))


@lru_cache(maxsize=4096)
def phase_cost(
    algorithm: str | CustomAlgorithm,
    topology: Block,
    kind: str,
    part: Slice,
    in_network: bool = False,
    of_two: bool = False,
) -> PhaseCost:
    """Cost of `kind` by `algorithm`, or by switches, for a group on `part` of a dimension.

    `of_two`: it is the reduce-scatter or the all-gather of an all-reduce.
    """
    tree = topology.tree(part) if in_network and kind in TREE_KINDS else None
    if tree is None:
        return _algorithm_cost(algorithm, topology, kind, part, of_two)
    switched = tree_cost(kind, tree, part.members, of_two)
    if kind == "all_reduce":
        return switched
    kinds = _HALVES if of_two else (kind,)
    less = sum(_algorithm_cost(algorithm, topology, one, part, of_two).occupied for one in kinds)
    return (
        switched if len(kinds) * switched.occupied <= less else _algorithm_cost(algorithm, topology, kind, part, of_two)
    )


def tree_cost(kind: str, tree: SwitchTree, members: int, of_two: bool = False) -> PhaseCost:
    """All flows pass each level one after the other; a switch takes as long to add as a step between neighbours."""
    piece = 1 / members if kind in _HALVES else 1.0
    added = kind in ADDED_KINDS
    links = tuple(((1 / (level.links * level.rate), piece / level.links),) for level in tree.levels)
    load = [load for ((load, _),) in links]
    shares = [(1 + level.below / members) / 2 if of_two else 1.0 for level in tree.levels]
    carried = np.diag(np.multiply(load, shares))
    return PhaseCost(
        max(load),
        len(links) * (2 if added else 1),
        1.0 if added else 1 / members,
        (links,),
        float(carried.max()),
        carried,
        tuple(message for ((_, message),) in links),
        in_switch=True,
    )


@lru_cache(maxsize=4096)
def _algorithm_cost(
    algorithm: str | CustomAlgorithm, topology: Block, kind: str, part: Slice, of_two: bool
) -> PhaseCost:
    if kind == "shift":
        return _one_step(topology.step(Shift(1), part))
    load, hops = 0.0, 0.0
    steps: list[tuple[Loads, ...]] = []
    taken = algorithm_for(algorithm, kind, topology.shape(part)).steps(kind, part.members)
    for step_taken in taken:
        pattern = step_taken.pattern
        if isinstance(pattern, Listed):
            cost, by_link = topology.listed(pattern, part)
            links = tuple(sorted(set(by_link.values())))
        else:
            cost = topology.step(pattern, part)
            links = (cost.loads,)
        load += cost.load * step_taken.share
        hops += cost.hops
        steps.append(tuple(_scale_loads(link, step_taken) for link in links))
    sent = (2 if kind == "all_reduce" else 1) * (part.members - 1) / part.members
    over = _links_over(taken, topology, part)
    loads = over.loads * (_turn_share(algorithm, topology, part) if of_two else 1.0)
    busiest = float(loads.sum(axis=1).max())
    occupied = load if busiest > load * _SAME else busiest
    return PhaseCost(load, hops, sent, tuple(steps), occupied, loads, over.messages)


@lru_cache(maxsize=1024)
def _turn_share(algorithm: str | CustomAlgorithm, topology: Block, part: Slice) -> float:
    """What the busiest link carries of a reduce-scatter and an all-gather, over what each one's busiest carries."""
    both = [
        algorithm_for(algorithm, kind, topology.shape(part)).steps(kind, part.members)
        for kind in ("reduce_scatter", "all_gather")
    ]
    apart = [_links_over(steps, topology, part).loads.sum(axis=1).max() for steps in both]
    together = _links_over([*both[0], *both[1]], topology, part).loads.sum(axis=1).max()
    share = float(together / sum(apart))
    return 1.0 if share > _SAME else share


@lru_cache(maxsize=4096)
def send_cost(topology: Block, part: Slice, distance: int) -> PhaseCost:
    """Cost of a message to the member `distance` further on."""
    return _one_step(topology.step(Send(distance), part))


def _one_step(cost: StepCost) -> PhaseCost:
    """The cost of one message, which occupies the dimension as long as it takes."""
    loads = np.array([[load for load, _ in cost.loads]])
    messages = tuple(message for _, message in cost.loads)
    return PhaseCost(cost.load, cost.hops, 1.0, ((cost.loads,),), cost.load, loads, messages)


def _scale_loads(link: Loads, step: Step) -> Loads:
    return tuple((load * step.share, message * step.share / step.pieces) for load, message in link)


class _Over(NamedTuple):
    """What links carry over several steps: `loads` `[links, sizes]` by the size of a `message`."""

    loads: NDArray[np.float64]
    messages: tuple[float, ...]


def _links_over(steps: Sequence[Step], topology: Block, part: Slice) -> _Over:
    """The different links over all steps.

    Where some steps are patterns and others lists of messages, the busiest of either count as one and the same.
    """
    patterns = [(step, step.pattern) for step in steps if not isinstance(step.pattern, Listed)]
    listed = [(step, step.pattern) for step in steps if isinstance(step.pattern, Listed)]
    found = []
    if patterns:
        found.append(_over_patterns(patterns, topology, part))
    if listed:
        found.append(_over_messages(listed, topology, part))
    return found[0] if len(found) == 1 else _any_two(*found)


def _any_two(first: _Over, second: _Over) -> _Over:
    """Each link of the one with each of the other."""
    a, b = len(first.loads), len(second.loads)
    loads = np.hstack([np.repeat(first.loads, b, axis=0), np.tile(second.loads, (a, 1))])
    return _Over(loads, first.messages + second.messages)


def _over_patterns(steps: Sequence[tuple[Step, Pattern]], topology: Block, part: Slice) -> _Over:
    """Over steps that are patterns; the messages of each pass all its links alike."""
    each = [topology.carried(pattern, part) for _, pattern in steps]
    different = np.unique(np.stack(each, axis=1), axis=0)
    loads, messages = [], []
    for (step, pattern), column in zip(steps, different.T, strict=True):
        for share, message in _scale_loads(topology.step(pattern, part).messages, step):
            loads.append(column * share)
            messages.append(message)
    return _Over(np.stack(loads, axis=1), tuple(messages))


def _over_messages(steps: Sequence[tuple[Step, Listed]], topology: Block, part: Slice) -> _Over:
    """Over steps that are lists of messages."""
    links: dict[int, Loads] = defaultdict(tuple)
    for step, pattern in steps:
        for link, loads in topology.listed(pattern, part)[1].items():
            links[link] += _scale_loads(loads, step)
    messages = sorted({message for loads in links.values() for _, message in loads})
    found = np.zeros((len(links), len(messages)))
    for row, loads in zip(found, links.values(), strict=True):
        for load, message in loads:
            row[messages.index(message)] += load
    return _Over(found, tuple(messages))
