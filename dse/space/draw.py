"""Where the free numbers of a design come from: a sampler behind one small protocol.

A hole asks for an index, an integer or a real number by name, and only when it is live, so a space may branch. A
source that is `smooth` gets composite holes (degrees, shares) as weights that it can move a little at a time; any
other gets them as an index.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from simcore.document.problem import Refusal


class Draw(Protocol):
    """A source of choices."""

    @property
    def smooth(self) -> bool:
        """Whether composite holes come as weights."""
        ...

    def index(self, name: str, count: int, ordered: bool) -> int:
        """One of `count` alternatives; `ordered` where neighbours are alike."""
        ...

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """A number of [low, high]."""
        ...


class PlacedDraw(ABC):
    """A source that is told, before a hole asks, which hole of the document it is."""

    @abstractmethod
    def place(self, hole: Any, paths: tuple[tuple[str | int, ...], ...]) -> None:
        """`hole` will ask next, for what goes to `paths` of the document: one path, or one for each degree or share."""


def random_below(generator: np.random.Generator, count: int) -> int:
    """A whole number of [0, count), however large `count` is: a split can have more ways than 64 bits hold."""
    if count < 2**62:
        return int(generator.integers(count))
    return int.from_bytes(generator.bytes((count.bit_length() + 71) // 8)) % count


@dataclass
class RandomDraw:
    """Independent uniform choices."""

    generator: np.random.Generator
    smooth: ClassVar[bool] = False

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        return random_below(self.generator, count)

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        if log:
            return float(np.exp(self.generator.uniform(np.log(low), np.log(high))))
        return float(self.generator.uniform(low, high))


class InfiniteError(Refusal):
    """A continuous hole where only a finite space will do."""


@dataclass
class Odometer:
    """Every combination of a finite space in turn, whatever branches it has.

    A pass replays `prefix` and takes the first alternative of what comes after; `step` turns it to the next pass.
    """

    prefix: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    smooth: ClassVar[bool] = False
    _position: int = 0

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        if self._position == len(self.prefix):
            self.prefix.append(0)
            self.counts.append(count)
        value = self.prefix[self._position]
        self._position += 1
        return value

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """A continuous range cannot be enumerated: raises `InfiniteError`."""
        raise InfiniteError("a finite hole", "a continuous range", "give it a step", where=name)

    def step(self) -> bool:
        """Turn to the next combination; False when all have been."""
        self._position = 0
        while self.prefix:
            if self.prefix[-1] + 1 < self.counts[-1]:
                self.prefix[-1] += 1
                return True
            self.prefix.pop()
            self.counts.pop()
        return False


@dataclass
class FixedDraw:
    """Given indices, the first alternative where none is given: the base of one-at-a-time changes."""

    given: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    smooth: ClassVar[bool] = False

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        self.counts[name] = count
        return min(self.given.get(name, 0), count - 1)

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        return low


@dataclass
class RecordedDraw:
    """What a sampler drew before, by name; an alternative without choice was never asked for.

    Raises `KeyError` where another space was drawn from.
    """

    values: Mapping[str, Any]
    smooth: bool

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        return 0 if count == 1 else int(self.values[name])

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        return float(self.values[name])
