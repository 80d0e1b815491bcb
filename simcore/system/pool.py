"""What reaches NPUs of a memory: their share of it, and of each level of the fabric that a pool has between.

A pool (ASTRA-sim 2.0, arXiv 2303.14006, on disaggregated memory) spreads all data evenly over its memory nodes, so that
NPUs that all read at the same time share each level's ports equally: with n NPUs below a port of B, each gets B / n.
Transfers are pieces that follow one another, so the slowest level counts, and the latencies of all. Memory nodes are at
the outermost switch; of a ring, a line or a torus each switch has its part of them, and all NPUs reading is an
all-to-all between these.

Where the fabric copies what it reads and adds up what it writes (`in_network`), a port carries once what all NPUs below
it have in common: with d different contents below, each NPU gets B / d. That is an all-gather on the way from the
memory, and a reduce-scatter on the way to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simcore.design.design import Design
from simcore.design.memory import ExpandedMemory
from simcore.design.pool import PoolLevel
from simcore.document.problem import Path, Problem
from simcore.network import Slice
from simcore.system.phase_cost import PhaseCost, phase_cost
from simcore.system.placement import GroupSlice

Sizes = tuple[int, ...]


class Reach(NamedTuple):
    """What reaches an NPU of an expanded memory, each direction."""

    rate: float
    """While all NPUs that share do the same [B/s]."""
    latency: float
    """[s]."""


def own_reach(expanded: ExpandedMemory) -> Reach:
    """Reach of data that no other NPU reads, or writes."""
    each = [expanded.rate]
    for level, below in _levels(expanded):
        each.append(level.bandwidth / (below * (1.0 if level.switched else _exchange(level).load)))
    return Reach(min(each), _latency(expanded))


def common_reach(design: Design, expanded: ExpandedMemory, group: Sequence[GroupSlice]) -> Reach:
    """Reach of data that each group such as `group` has in common, through a fabric that copies and adds up."""
    sizes = tuple(dimension.size for dimension in design.cluster.dimensions)
    all_contents = _contents(sizes, tuple(group), expanded.shared_by)
    each = [expanded.bandwidth / all_contents]
    for level, below in _levels(expanded):
        load = float(_contents(sizes, tuple(group), below))
        if not level.switched:  # from each to each, or all of it round to all
            load = min(load * _exchange(level).load, all_contents * _spread(level).load)
        each.append(level.bandwidth / load)
    return Reach(min(each), _latency(expanded))


def _levels(expanded: ExpandedMemory) -> Iterator[tuple[PoolLevel, int]]:
    """Each level, with the NPUs below one of its ports."""
    below = 1
    for level in expanded.fabric:
        yield level, below
        below *= level.size


def _latency(expanded: ExpandedMemory) -> float:
    steps = (level.latency * (1.0 if level.switched else _exchange(level).hops) for level in expanded.fabric)
    return expanded.latency + sum(steps)


def _exchange(level: PoolLevel) -> PhaseCost:
    return phase_cost("direct", level.block, "all_to_all", _whole(level))


def _spread(level: PoolLevel) -> PhaseCost:
    return phase_cost("ring", level.block, "all_gather", _whole(level))


def _whole(level: PoolLevel) -> Slice:
    return Slice(level.size, level.size, 1)


@lru_cache(maxsize=1024)
def _contents(sizes: Sizes, group: tuple[GroupSlice, ...], under: int) -> int:
    """Groups such as `group` that have members among `under` NPUs in a row, at the most of all such rows."""
    npus = np.arange(math.prod(sizes))
    first = npus.copy()
    for where in group:
        inside, part = math.prod(sizes[: where.dimension]), where.part
        place = npus // inside % sizes[where.dimension] // part.stride % part.members
        first -= place * part.stride * inside
    rows = np.sort(first.reshape(-1, under), axis=1)
    return int(1 + (np.diff(rows, axis=1) > 0).sum(axis=1).max(initial=0))


_AT: Path = ("cluster", "memory", "expanded")


def pool_problems(design: Design, expanded: ExpandedMemory) -> Iterator[Problem]:
    """What keeps the levels of a pool from joining its NPUs, and its switches from copying and adding up."""
    if expanded.fabric:
        yield from _misfits(expanded)
        if expanded.edge:
            expected = "false where a fabric leads to the memory"
            yield Problem((*_AT, "edge"), expected, "true", "leave one of them out")
    if not expanded.in_network:
        return
    if not expanded.fabric:
        yield Problem((*_AT, "in_network"), "false where no fabric could copy and add up", "true", "give its 'fabric'")
    if not expanded.streams:
        found = ", ".join(expanded.place)
        expected = "weights, which NPUs have in common, where the fabric copies and adds up"
        yield Problem((*_AT, "place"), expected, found, "leave 'in_network' out")
    if expanded.shared_by != design.cluster.npus:
        expected = f"all {design.cluster.npus} NPUs, where the fabric gathers for all of a group"
        yield Problem((*_AT, "shared_by"), expected, str(expanded.shared_by))


def shared_pool_problems(design: Design) -> Iterator[Problem]:
    """A pool whose ports several jobs would share."""
    memory = design.cluster.memory
    if memory is not None and memory.expanded is not None and memory.expanded.fabric:
        expected = "none where several jobs would share its ports"
        yield Problem((*_AT, "fabric"), expected, "a fabric", "simulate each job as a design of its own")


def _misfits(expanded: ExpandedMemory) -> Iterator[Problem]:
    joined = math.prod(level.size for level in expanded.fabric)
    if joined != expanded.shared_by:
        expected = f"levels whose sizes multiply to the {expanded.shared_by} NPUs that share it"
        yield Problem((*_AT, "fabric"), expected, str(joined))
    for number, level in enumerate(expanded.fabric):
        at = (*_AT, "fabric", number)
        if number < len(expanded.fabric) - 1 and not level.switched:
            expected = "'switch' on all levels but the outermost"
            yield Problem((*at, "topology"), expected, f"'{level.topology}'")
        if level.topology != "torus" and (level.sides or level.wrap):
            yield Problem(at, "sides of a torus alone", f"those of a {level.topology}")
        else:
            for misfit in level.block.misfits(level.size):
                yield Problem((*at, misfit.key), misfit.expected, misfit.found, misfit.fix)
