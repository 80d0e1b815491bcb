"""What flat rings put on the links of each dimension: one ring over all members of a group, both ways at once.

Its messages cross one dimension after the other, the innermost first, as those of the link level do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simcore.engine.link_use.tenant import Tenant
from simcore.network.sent import Ints, Sent
from simcore.system.placement import GroupSlice

Rings = dict[int, dict[tuple[int, ...], list["RingMessages"]]]
"""What crosses each dimension, by the coordinates of a row (that of the dimension itself 0)."""


class RingMessages(NamedTuple):
    """Messages in a row."""

    npus: int
    """The class that sends them."""
    group: str
    sent: Sent
    """From node to node, each with its bytes in an iteration."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal where the messages are."""
        return self.npus, self.group, *(column.tobytes() for column in self.sent)


def rings_of(tenant: Tenant) -> Rings:
    """The flat rings of a job; empty where it has none."""
    found: Rings = defaultdict(lambda: defaultdict(list))
    for group in dict.fromkeys(group for _, group in tenant.work.flat):
        bytes_of = {its: sent for (its, name), sent in tenant.work.flat.items() if name == group}
        _add_rings(tenant, group, bytes_of, found)
    return found


def _add_rings(tenant: Tenant, group: str, bytes_of: dict[int, float], found: Rings) -> None:
    sizes = [dimension.size for dimension in tenant.design.cluster.dimensions]
    strides = np.cumprod([1, *sizes[:-1]])
    members = _members(tenant.classes.placement[group], sizes, strides)
    source = np.concatenate([members.ravel(), members.ravel()])
    target = np.concatenate([np.roll(members, -1, axis=1).ravel(), np.roll(members, 1, axis=1).ravel()])
    sending = tenant.classes.numbers[source]
    size = np.array([bytes_of.get(its, 0.0) / 2 for its in range(len(tenant.classes.stages))])[sending]
    here = source // strides[:, None] % np.array(sizes)[:, None]
    there = target // strides[:, None] % np.array(sizes)[:, None]
    for number in range(len(sizes)):
        crossed = np.flatnonzero((here[number] != there[number]) & (size > 0))
        at = np.concatenate([there[:number], np.zeros_like(here[:1]), here[number + 1 :]])[:, crossed]
        rows, of_row = np.unique(np.concatenate([at, sending[None, crossed]]), axis=1, return_inverse=True)
        for place, row in enumerate(rows.T.tolist()):
            its = crossed[of_row.reshape(-1) == place]
            sent = Sent(here[number][its], there[number][its], size[its])
            found[number][tuple(row[:-1])].append(RingMessages(row[-1], group, sent))


def _members(group: tuple[GroupSlice, ...], sizes: list[int], strides: Ints) -> Ints:
    """The members of every group, `[groups, members]`: neighbours differ in one dimension by one place."""
    npus = np.arange(int(np.prod(sizes)))
    first = np.ones(len(npus), bool)
    for where in group:
        first &= npus // (strides[where.dimension] * where.part.stride) % where.part.members == 0
    columns = [npus[first]]
    for where in group:
        step = strides[where.dimension] * where.part.stride
        columns = [
            column + i * step
            for i in range(where.part.members)
            for column in (columns if i % 2 == 0 else columns[::-1])
        ]
    return np.stack(columns, axis=1)


def coordinates(sizes: list[int], number: int) -> Iterator[tuple[int, ...]]:
    """Coordinates of every row along a dimension, its own being 0."""
    for place in range(int(np.prod(sizes)) // sizes[number]):
        at = []
        for other, size in enumerate(sizes):
            at.append(0 if other == number else place % size)
            place = place if other == number else place // size
        yield tuple(at)
