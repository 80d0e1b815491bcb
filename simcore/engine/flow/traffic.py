"""Who sends how many bytes to whom in a phase: the plan of its algorithm, summed over all its steps.

A plan among n members has up to n^2 messages, each an object; here they are arrays, made from the steps' patterns, and
messages to everybody are one number. A test holds them to the plan. Shares are bytes per byte of the phase's buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from simcore.collective import SCATTERING, CustomAlgorithm, Step, algorithm_for
from simcore.network import Chain, Exchange, Listed, Send, Shape, Shift, Spread, Tree
from simcore.network.tree import trees

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Traffic(NamedTuple):
    """What the members of a group send to each other in a phase."""

    source: Ints
    """Member that sends, `[messages]`."""
    target: Ints
    """Member that receives."""
    share: Floats
    """Bytes per byte of the buffer."""

    def among_all(self, members: int, share: float) -> Traffic:
        """These and `share` from every member to every other one."""
        source, target = np.nonzero(~np.eye(members, dtype=bool))
        return _join([self, Traffic(source, target, np.full(len(source), share))])


class PhaseTraffic(NamedTuple):
    """What is sent in a phase, what everybody sends to everybody set apart."""

    listed: Traffic
    to_all: float
    """Bytes that every member sends to every other one, per byte of the buffer."""

    def all(self, members: int) -> Traffic:
        """Every message."""
        return self.listed.among_all(members, self.to_all) if self.to_all else self.listed


NOTHING = Traffic(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@lru_cache(maxsize=1024)
def phase_traffic(algorithm: str | CustomAlgorithm, kind: str, members: int, shape: Shape) -> PhaseTraffic:
    """The traffic of `kind` by `algorithm`, or its stand-in, among members connected like `shape`."""
    if kind == "shift":
        return PhaseTraffic(_to_neighbours(members, shape), 0.0)
    steps = algorithm_for(algorithm, kind, shape).steps(kind, members)
    to_all = 0.0 if kind == "broadcast" else sum(step.share for step in steps if isinstance(step.pattern, Spread))
    return PhaseTraffic(_join(list(_of_steps(steps, kind, members, shape))), to_all)


def _join(parts: list[Traffic]) -> Traffic:
    kept = [part for part in parts if len(part.source)]
    if len(kept) < 2:
        return kept[0] if kept else NOTHING
    return Traffic(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def _of_steps(steps: tuple[Step, ...], kind: str, n: int, shape: Shape) -> Iterator[Traffic]:
    """The messages of each step, those of everybody to everybody left out."""
    for number, step in enumerate(steps):
        match step.pattern:
            case Shift(count):
                scatters = kind in SCATTERING and number == 0
                swept = shape.kind == "line"
                yield (
                    _sweep(n, step.share, scatters) if swept else _scaled(_to_neighbours(n, shape), count * step.share)
                )
            case Exchange(distance):
                ranks = np.arange(n)
                sending = ranks[ranks % (2 * distance) == 0] if kind == "broadcast" else ranks
                yield Traffic(sending, sending ^ distance, np.full(len(sending), step.share))
            case Spread():
                if kind == "broadcast":
                    yield Traffic(np.zeros(n - 1, np.int64), np.arange(1, n), np.full(n - 1, step.share))
            case Tree():
                yield _along_trees(n, step.share / 2)
            case Chain(pieces):
                yield _down_the_chain(n, shape, pieces * step.share)
            case Listed(messages):
                source, target, times = (np.array(column) for column in zip(*messages, strict=True))
                yield Traffic(source.astype(np.int64), target.astype(np.int64), times * step.share)
            case Send():
                raise ValueError("a send is no step of a collective")
            case _:
                assert_never(step.pattern)


def _scaled(traffic: Traffic, factor: float) -> Traffic:
    return traffic._replace(share=traffic.share * factor)


def _to_neighbours(n: int, shape: Shape) -> Traffic:
    """See `Shift`: on to the next member; on a closed ring half each way, on a line all of it each way."""
    ranks = np.arange(n)
    onward = ranks[:-1] if shape.kind == "line" else ranks
    after = (onward + 1) % n
    if shape.kind == "star" or (shape.kind == "ring" and n == 2):
        return Traffic(onward, after, np.ones(n))
    share = np.full(2 * len(onward), 0.5 if shape.kind == "ring" else 1.0)
    return Traffic(np.concatenate([onward, after]), np.concatenate([after, onward]), share)


def _sweep(n: int, block: float, scatters: bool) -> Traffic:
    """A sweep from each end of a line: over a link goes what is meant for members beyond it, or comes from behind."""
    left, right = np.arange(n - 1), np.arange(1, n)
    before, beyond = right * block, (n - right) * block
    up, down = (beyond, before) if scatters else (before, beyond)
    return Traffic(np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([up, down]))


def _along_trees(n: int, half: float) -> Traffic:
    """Half of the buffer up and down each of two trees."""
    edges = [(child, parent) for tree in trees(n) for child, parent in enumerate(tree) if parent >= 0]
    child, parent = np.array(edges, np.int64).T
    return Traffic(np.concatenate([child, parent]), np.concatenate([parent, child]), np.full(2 * len(edges), half))


def _down_the_chain(n: int, shape: Shape, buffer: float) -> Traffic:
    """From the first member to the last; on a closed ring half of it each way round."""
    ranks = np.arange(n - 1)
    if shape.kind != "ring" or n == 2:
        return Traffic(ranks, ranks + 1, np.full(n - 1, buffer))
    back = -ranks % n
    source, target = np.concatenate([ranks, back]), np.concatenate([ranks + 1, (back - 1) % n])
    return Traffic(source, target, np.full(2 * (n - 1), buffer / 2))
