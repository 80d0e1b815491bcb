"""The messages of a step as arrays, of one group and of all groups of a dimension that do the same at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from simcore.network.pattern import Chain, Exchange, Listed, Pattern, Send, Shift, Spread, Tree
from simcore.network.tree import trees
from simcore.network.wiring import Shape, Slice

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Sent(NamedTuple):
    """Messages, one entry each."""

    source: Ints
    target: Ints
    share: Floats
    """How many times the step's share each of them is, over the whole step."""

    def of_groups(self, part: Slice, firsts: Ints) -> Sent:
        """These messages of a group on `part`, sent by each of the groups whose first NPUs are `firsts`.

        Entries are ordered by group.
        """
        source, target = (firsts[:, None] + member[None, :] * part.stride for member in (self.source, self.target))
        return Sent(source.ravel(), target.ravel(), np.tile(self.share, len(firsts)))

    def at(self, places: Ints) -> Sent:
        """These messages between the nodes that stand at `places` for theirs."""
        return Sent(places[self.source], places[self.target], self.share)


def first_npus(part: Slice) -> Ints:
    """The first NPU of each group that takes a dimension like `part`."""
    spans = np.arange(0, part.size, part.members * part.stride)
    return (spans[:, None] + np.arange(part.stride)[None, :]).ravel()


def messages_of(pattern: Pattern | Listed, members: int, shape: Shape) -> Sent:
    """All messages of a step among `members` connected like `shape`.

    Where neighbours pass on what goes further, a message is counted from its origin to its destination.
    """
    n = members
    match pattern:
        case Shift(steps):
            return _scaled(join(list(neighbours(n, shape))), float(steps))
        case Exchange(distance):
            source = np.arange(n)
            return _alike(source[(source ^ distance) < n], source[(source ^ distance) < n] ^ distance)
        case Spread():
            return join([_alike(np.arange(n), target) for target in peers(n, shape)])
        case Tree():
            return join([_tree_messages(np.array(parent)) for parent in trees(n)])
        case Chain(pieces):
            return _scaled(join(list(chains(n, shape))), float(pieces))
        case Send(distance):
            return _alike(np.arange(n - distance), np.arange(distance, n))
        case Listed(messages):
            ends = np.array([message[:2] for message in messages], np.int64)
            return Sent(ends[:, 0], ends[:, 1], np.array([share for _, _, share in messages]))
        case _:
            assert_never(pattern)


def neighbours(members: int, shape: Shape) -> Iterator[Sent]:
    """Each member's message to the next one, ring by ring: see `Shift`."""
    if shape.kind == "line":
        before = np.arange(members - 1)
        yield _alike(before, before + 1)
        yield _alike(before + 1, before)
        return
    orders = shape.orders(members)
    for order in map(np.array, orders):
        yield _alike(order, np.roll(order, -1), 1 / len(orders))


def chains(members: int, shape: Shape) -> Iterator[Sent]:
    """The hops from the first member on, ring by ring, in order."""
    orders = shape.orders(members)
    for order in orders:
        chain = np.roll(np.array(order), -order.index(0))
        yield _alike(chain[:-1], chain[1:], 1 / len(orders))


def peers(members: int, shape: Shape) -> Iterator[Ints]:
    """The targets of what members 0, 1, … send in a Spread: of each one's first message, then of each one's next.

    On a star in the order of `Shape.peers`.
    """
    member, leaf = np.arange(members), shape.leaf if shape.kind == "star" else members
    first, place = member - member % leaf, member % leaf
    for leaves in range(members // leaf):
        for places in range(leaf):
            if leaves or places:
                yield (first + leaves * leaf) % members + (place + places) % leaf


def _tree_messages(parent: Ints) -> Sent:
    """Half of the buffer over each edge, up and down."""
    child = np.flatnonzero(parent >= 0)
    above = parent[child]
    return _alike(np.concatenate([child, above]), np.concatenate([above, child]), 0.5)


def _alike(source: Ints, target: Ints, share: float = 1.0) -> Sent:
    return Sent(source, target, np.full(len(source), share))


def _scaled(sent: Sent, times: float) -> Sent:
    return sent._replace(share=sent.share * times)


def join(parts: list[Sent]) -> Sent:
    """All messages of several."""
    return Sent(*(np.concatenate(column) for column in zip(*parts, strict=True)))
