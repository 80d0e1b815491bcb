"""What worn links cost a phase step by step.

A phase occupies its dimension for as long as the link takes that is busiest over all steps; alone, a chunk takes all
steps one after the other, each as long as its own busiest link takes (`simcore.system.phase_cost`). A worn link moves
both: a sweep along a line of 8 whose middle link has half its rate occupies that for 8 blocks instead of the first link
for 7, and takes 11, since 3 have passed before the first one is there. So does a hop of an exchange between members
that are not neighbours: those in between receive a message whole, so what one hop takes longer those after it wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from simcore.collective import SCATTERING, CustomAlgorithm, Step, algorithm_for
from simcore.engine.flow.traffic import join
from simcore.engine.flow.wires import Bools, Wires
from simcore.network import Chain, Exchange, Shape, Shift, Slice, Spread, Tree
from simcore.network.sent import Floats, Ints, Sent, messages_of

MEMBERS = 64
"""Steps of a larger group are not told apart: its chunks fly as on sound links."""


Tracks = tuple[tuple[Sent, ...], ...]
"""The messages of a step: of each of its tracks, which go at once, those of one hop after the other."""


@lru_cache(maxsize=1024)
def phase_steps(algorithm: str | CustomAlgorithm, kind: str, members: int, shape: Shape) -> tuple[Tracks, ...]:
    """The messages of each step of a phase, bytes per byte of its buffer; steps that load links alike are one.

    None where all steps are alike, where they overlap (trees, chains), and of groups of more than `MEMBERS`.
    """
    if kind in ("shift", "broadcast") or members > MEMBERS:
        return ()
    steps = algorithm_for(algorithm, kind, shape).steps(kind, members)
    if any(isinstance(step.pattern, Tree | Chain) for step in steps):
        return ()
    found = [tracks for number, step in enumerate(steps) for tracks in _parts(step, number, kind, members, shape)]
    return tuple(found) if len(found) > 1 else ()


def _parts(step: Step, number: int, kind: str, n: int, shape: Shape) -> Iterator[Tracks]:
    match step.pattern:
        case Shift() if shape.kind == "line":
            yield from _sweep(n, step.share, kind in SCATTERING and number == 0)
        case Exchange(distance) if shape.kind != "star":
            yield _hops(distance, n, shape, step.share)
        case Spread() if shape.kind == "line":
            yield from _passed_along(n, step.share)
        case pattern:
            sent = messages_of(pattern, n, shape)
            yield ((sent._replace(share=sent.share * step.share),),)


def _sweep(n: int, block: float, scatters: bool) -> Iterator[Tracks]:
    """A sweep from each end of a line (`Shift`): scattering, the first block of an end goes all the way."""
    for time in range(n - 1):
        left = np.arange(time + 1) if scatters else np.arange(time, n - 1)
        onward = Sent(left, left + 1, np.full(len(left), block))
        yield ((join([onward, _mirrored(onward, n)]),),)


def _passed_along(n: int, piece: float) -> Iterator[Tracks]:
    """Everybody to everybody along a line: at most 1 / (n - 1) of what passes the middle at a time, farthest first."""
    most = n * n // 4
    held = np.triu(np.full((n, n), n - 1, np.int64), 1)
    for _ in range(n - 1):
        before = held[:, ::-1].cumsum(axis=1)[:, ::-1] - held
        leaving = np.clip(most - before, 0, held)
        count = leaving.sum(axis=1)[:-1]
        held -= leaving
        held[1:] += leaving[:-1]
        held[np.diag_indices(n)] = 0
        left = np.flatnonzero(count)
        onward = Sent(left, left + 1, count[left] * piece / (n - 1))
        yield ((join([onward, _mirrored(onward, n)]),),)


def _hops(distance: int, n: int, shape: Shape, share: float) -> Tracks:
    """An Exchange between neighbours: a track each way; around a ring the farthest one goes half each way."""
    low = np.arange(n)[(np.arange(n) & distance) == 0]
    up, down, size = low, low + distance, share
    if shape.kind == "ring" and 2 * distance == n > 2:
        up, down, size = np.arange(n), np.arange(n), share / 2
    hops, each = range(distance), np.full(len(up), size)
    return (
        tuple(Sent((up + hop) % n, (up + hop + 1) % n, each) for hop in hops),
        tuple(Sent((down - hop) % n, (down - hop - 1) % n, each) for hop in hops),
    )


def _mirrored(sent: Sent, n: int) -> Sent:
    return Sent(n - 1 - sent.source, n - 1 - sent.target, sent.share)


def find_worn(
    steps: Sequence[Tracks], part: Slice, firsts: Ints, mine: Bools, wires: Wires, places: Ints | None = None
) -> tuple[float, float]:
    """How much longer than on sound links a phase's steps take one after the other, and its busiest link over all.

    In bytes / injection bandwidth per byte of its buffer, of the groups that are `mine` among those whose first nodes
    are `firsts`, all of which do the same at once. `places`: the nodes of `wires` that these are, unless the same.
    """
    places = np.arange(wires.size) if places is None else places
    found = [_times(steps, part, firsts, mine, its, places) for its in (wires, wires.whole)]
    return found[0][0] - found[1][0], found[0][1] - found[1][1]


def _times(
    steps: Sequence[Tracks], part: Slice, firsts: Ints, mine: Bools, wires: Wires, places: Ints
) -> tuple[float, float]:
    """What steps take one after the other, and the busiest link over all of them.

    A step takes as long as its slowest track, whose hops wait for each other, or its busiest link.
    """
    by_link: Floats = np.zeros(len(wires.rate))
    used, together = np.zeros(len(wires.rate), bool), 0.0
    for tracks in steps:
        in_step, slowest, ours = np.zeros(len(wires.rate)), 0.0, np.zeros(len(wires.rate), bool)
        for hops in tracks:
            one_by_one = 0.0
            for hop in hops:
                its = wires.load(hop.of_groups(part, firsts[mine]).at(places))
                load = its + wires.load(hop.of_groups(part, firsts[~mine]).at(places)) if not mine.all() else its
                times = np.divide(load, wires.rate, out=np.zeros(len(load)), where=wires.rate > 0)
                one_by_one += float(times[its > 0].max())
                in_step += times
                ours |= its > 0
            slowest = max(slowest, one_by_one)
        together += max(slowest, float(in_step[ours].max()))
        by_link += in_step
        used |= ours
    return together, float(by_link[used].max())
