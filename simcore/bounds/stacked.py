"""The bound of one training program on several families of networks at once (`simcore.bounds.many`).

Families of one shape differ in algorithms, chunks and policies. Two things make a stack of them quicker than each
alone. What a collective takes depends on the dimensions of its own group: families that agree on these share it.
And where collectives may go the same ways, bandwidths of all families are one vector, whose bound is one product.
Families that differ in policies which no bound looks at are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.collective import ByDimension, CollectiveTime
from simcore.bounds.many import Iteration, Matrix, NetworkFamily, collective_on
from simcore.bounds.overlap import lost_shares
from simcore.design.design import Design
from simcore.design.software import Software

UNSEEN = {"intra_dimension": "fifo", "active_chunks": "overlap", "priority": None}
"""Policies that bounds do not look at, each with a value that stands for all."""
_MOST_KNOWN = 4096
"""Types of collectives whose times are kept."""

Index = NDArray[np.int64]
Where = tuple[Any, ...]
Structure = tuple[Any, ...]


class FamilyStack:
    """Linear families of one shape, one after the other."""

    def __init__(self, families: Sequence[NetworkFamily]) -> None:
        self._families: list[NetworkFamily] = []
        seen: dict[Any, int] = {}
        first, rows = [0], []
        for family in families:
            key = (_unseen_apart(family.design), family.rates.tobytes(), family.latencies.tobytes())
            if key not in seen:
                seen[key] = len(self._families)
                self._families.append(family)
                first.append(first[-1] + len(family.rates))
            rows.append(np.arange(first[seen[key]], first[seen[key] + 1]))
        self._first = first
        self.rows: Index = np.concatenate(rows)
        """The network that stands for each one of the families given `[networks]`."""
        self._of_software: dict[str, _Known] = {}

    @property
    def count(self) -> int:
        """Networks that bounds tell apart."""
        return self._first[-1]

    def seconds(self, iteration: Iteration, software: Software, overlap: bool = True) -> Matrix:
        """Least time of a job with some software on each network that bounds tell apart `[count]` [s].

        Counted are the kernels, too, that move tokens to experts. `overlap`: with what overlap costs.
        """
        text = software.model_dump_json()
        if text not in self._of_software:
            self._of_software[text] = _Known(self._families, software)
        known, out = self._of_software[text], np.empty(self.count)
        wheres = [(where, key) for key, where in iteration.wheres()]
        each = [known.times(where, key, iteration) for where, key in wheres]
        groups: dict[Structure, list[int]] = {}
        for number in range(len(self._families)):
            alike = known.lost[number], *(times.structures[number] for times in each)
            groups.setdefault(alike, []).append(number)
        for (lost, *_), members in groups.items():
            stacked = [times.stack(tuple(members)) for times in each]
            rows = np.concatenate([np.arange(self._first[n], self._first[n + 1]) for n in members])
            shape = len(rows), self._families[0].rates.shape[1]
            out[rows] = iteration.seconds_with(stacked, shape, lost if overlap else ())
        return out


class _Known:
    """What collectives take on the families of a stack, with some software."""

    def __init__(self, families: Sequence[NetworkFamily], software: Software) -> None:
        designs = [family.design.model_copy(update={"software": software}) for family in families]
        self._families = [replace(family, design=design) for design, family in zip(designs, families, strict=True)]
        self.lost = [lost_shares(design) for design in designs]
        self._times: dict[Where, _Times] = {}
        self._alike: dict[tuple[int, ...], list[Any]] = {}

    def times(self, where: Where, key: tuple[Any, ...], iteration: Iteration) -> _Times:
        """What a type of collective takes on each family."""
        if where not in self._times:
            if len(self._times) >= _MOST_KNOWN:
                self._times.clear()
            dimensions = tuple(slice_.dimension for slice_ in where[-1])
            shared: dict[Any, CollectiveTime] = {}
            each = []
            for family, alike in zip(self._families, self._projections(dimensions), strict=True):
                if alike not in shared:
                    shared[alike] = collective_on(family, key, iteration.placement, kernels=True)
                each.append(shared[alike])
            self._times[where] = _Times(each)
        return self._times[where]

    def _projections(self, dimensions: tuple[int, ...]) -> list[Any]:
        """What the times of a group on these dimensions depend on, of each family."""
        if dimensions not in self._alike:
            self._alike[dimensions] = [_projection(family, dimensions) for family in self._families]
        return self._alike[dimensions]


class _Times:
    """What a type of collective takes on each family of a stack."""

    def __init__(self, each: Sequence[CollectiveTime]) -> None:
        self._each = each
        self._stacked: dict[tuple[int, ...], CollectiveTime] = {}

    @cached_property
    def structures(self) -> list[Structure]:
        """By what families must agree to be stacked: the dimensions that are served, and in how many ways."""
        return [(tuple(time.busy), tuple(map(tuple, time.ways)), len(time.sent)) for time in self._each]

    def stack(self, members: tuple[int, ...]) -> CollectiveTime:
        """What it takes on some of the families, one after the other."""
        if members not in self._stacked:
            self._stacked[members] = _stacked([self._each[number] for number in members])
        return self._stacked[members]


def _stacked(times: Sequence[CollectiveTime]) -> CollectiveTime:
    sizes = [len(time.least) for time in times]

    def together(each: Sequence[ByDimension]) -> ByDimension:
        return {
            d: np.concatenate([np.broadcast_to(of[d], size) for of, size in zip(each, sizes, strict=True)])
            for d in each[0]
        }

    ways = [together(way) for way in zip(*(time.ways for time in times), strict=True)]
    sent = [together(way) for way in zip(*(time.sent for time in times), strict=True)]
    least = np.concatenate([time.least for time in times])
    return CollectiveTime(least, together([time.busy for time in times]), ways, sent)


def _unseen_apart(design: Design) -> str:
    """A network, but for what differs within a family, and for policies that bounds do not look at."""
    system = design.system.model_copy(update=UNSEEN)
    dimensions = [_fixed(dimension) for dimension in design.cluster.dimensions]
    cluster = design.cluster.model_copy(update={"dimensions": (), "transport": None})
    return repr((design.algorithms, system, dimensions, cluster))


def _projection(family: NetworkFamily, dimensions: tuple[int, ...]) -> Any:
    """What collectives on some dimensions depend on: those, and which others reduce in their switches."""
    design, columns = family.design, list(dimensions)
    system = design.system.model_copy(update=UNSEEN)
    own = [(_fixed(design.cluster.dimensions[d]), design.algorithms[d]) for d in dimensions]
    others = [dimension.in_network for dimension in design.cluster.dimensions]
    links = family.rates[:, columns].tobytes(), family.latencies[:, columns].tobytes()
    return repr((own, others, system)), links


def _fixed(dimension: Any) -> Any:
    """A dimension, but for what differs within a family."""
    return dimension.model_copy(update={"bandwidth": 1.0, "latency": 0.0, "efficiency": 1.0})
