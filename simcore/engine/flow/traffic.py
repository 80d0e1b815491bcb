"""Who sends how many bytes to whom in a phase: the plan of its algorithm, summed over all its steps.

A plan among n members has up to n^2 messages, each an object; here they are arrays, made from the steps' patterns, and
messages from everybody to everybody are one number. A test holds them to the plan. Shares are bytes per byte of the
phase's buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simcore.collective import SCATTERING, CustomAlgorithm, Step, algorithm_for
from simcore.network import Exchange, Listed, Shape, Shift, Spread
from simcore.network.loads import sum_up
from simcore.network.sent import Floats, Ints, Sent, messages_of

NOTHING = Sent(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class PhaseTraffic(NamedTuple):
    """What the members of a group send to each other in a phase, from who sends it off to where it is one message."""

    listed: Sent
    to_all: float
    """Bytes that every member of a star sends to every other one, beside what is listed."""
    at_once: float = 1.0
    """Messages that a member has on their way at a time, on average over what it sends."""

    def times(self, other: PhaseTraffic) -> float | None:
        """How many times as much it sends as another one that sends between the same members; None where it differs."""
        mine, its = (one.listed for one in (self, other))
        if (
            len(mine.source) != len(its.source)
            or (mine.source != its.source).any()
            or (mine.target != its.target).any()
        ):
            return None
        shares, others = np.append(mine.share, self.to_all), np.append(its.share, other.to_all)
        times = float(shares.sum() / others.sum())
        return times if np.allclose(shares, times * others, rtol=1e-12, atol=0.0) else None

    def all(self, members: int) -> Sent:
        """Every message."""
        return join([self.listed, to_everybody(members, self.to_all)]) if self.to_all else self.listed

    def of(self, member: int, members: int) -> Sent:
        """What one member sends."""
        its = self.listed.source == member
        listed = Sent(*(column[its] for column in self.listed))
        if not self.to_all:
            return listed
        others = np.delete(np.arange(members), member)
        return join([listed, Sent(np.full(members - 1, member), others, np.full(members - 1, self.to_all))])


@lru_cache(maxsize=1024)
def phase_traffic(algorithm: str | CustomAlgorithm, kind: str, members: int, shape: Shape) -> PhaseTraffic:
    """The traffic of `kind` by `algorithm`, or its stand-in, among members connected like `shape`."""
    if kind == "shift":
        return PhaseTraffic(messages_of(Shift(1), members, shape), 0.0)
    if kind == "send_recv":
        return PhaseTraffic(Sent(np.zeros(1, np.int64), np.full(1, members - 1), np.ones(1)), 0.0)
    steps = algorithm_for(algorithm, kind, shape).steps(kind, members)
    spread = [step.share for step in steps if isinstance(step.pattern, Spread)]
    to_all = sum(spread) if kind != "broadcast" and shape.kind == "star" else 0.0
    listed = _summed(join(list(_of_steps(steps, kind, members, shape))), members)
    return PhaseTraffic(listed, to_all, _at_once(steps, members, shape))


def _at_once(steps: Sequence[Step], members: int, shape: Shape) -> float:
    """Messages that leave a member together: of a Spread on a star all of a window, of a list all of a source's."""
    bytes_sent, weighted = 0.0, 0.0
    for step in steps:
        each, many = step.share, 1
        if isinstance(step.pattern, Spread) and shape.kind == "star":
            each, many = step.share * (members - 1), min(step.pattern.window or members, members - 1)
        elif isinstance(step.pattern, Listed):
            many = max(Counter(source for source, _, _ in step.pattern.messages).values())
        bytes_sent += each
        weighted += each * many
    return weighted / bytes_sent if bytes_sent else 1.0


def to_everybody(members: int, share: float) -> Sent:
    """`share` from every member to every other one."""
    source, target = np.nonzero(~np.eye(members, dtype=bool))
    return Sent(source, target, np.full(len(source), share))


def join(parts: Sequence[Sent]) -> Sent:
    """All messages of several lists."""
    kept = [part for part in parts if len(part.source)]
    if len(kept) < 2:
        return kept[0] if kept else NOTHING
    return Sent(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def _summed(sent: Sent, members: int) -> Sent:
    """One message for all between two members."""
    pairs, number = np.unique(sent.source * members + sent.target, return_inverse=True)
    return Sent(pairs // members, pairs % members, sum_up(number.reshape(-1), sent.share, len(pairs)))


def _of_steps(steps: Sequence[Step], kind: str, n: int, shape: Shape) -> Iterator[Sent]:
    """The messages of each step, those of everybody to everybody left out."""
    for number, step in enumerate(steps):
        match step.pattern:
            case Shift() if shape.kind == "line":
                yield _sweep(n, step.share, kind in SCATTERING and number == 0)
            case Exchange(distance) if kind == "broadcast":
                sending = np.arange(0, n, 2 * distance)
                yield Sent(sending, sending + distance, np.full(len(sending), step.share))
            case Spread() if kind == "broadcast":
                yield Sent(np.zeros(n - 1, np.int64), np.arange(1, n), np.full(n - 1, step.share))
            case Spread():
                if shape.kind != "star":
                    yield _passed_on(n, step.share, shape)
            case pattern:
                sent = messages_of(pattern, n, shape)
                yield sent._replace(share=sent.share * step.share)


def _passed_on(n: int, piece: float, shape: Shape) -> Sent:
    """What neighbours pass on of pieces from everybody to everybody: each step's are one message."""
    left = np.arange(n - 1 if shape.kind == "line" or n == 2 else n)
    right = (left + 1) % n
    around = n * n // 8 if n % 2 else n * n / 8
    pieces = np.full(n, around) if len(left) == n else (left + 1.0) * (n - 1 - left)
    source, target = np.concatenate([left, right]), np.concatenate([right, left])
    return Sent(source, target, np.concatenate([pieces, pieces]) * piece)


def _sweep(n: int, block: float, scatters: bool) -> Sent:
    """A sweep from each end of a line: over a link goes what is meant for members beyond it, or comes from behind."""
    left, right = np.arange(n - 1), np.arange(1, n)
    behind, beyond = right * block, (n - right) * block
    up, down = (beyond, behind) if scatters else (behind, beyond)
    return Sent(np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([up, down]))


__all__ = ["Floats", "Ints", "PhaseTraffic", "Sent", "join", "phase_traffic", "to_everybody"]
