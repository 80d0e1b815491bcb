"""Draws of what is not known: every error has a name, and designs that share the name share the error.

In *scenarios* each name has a stratified normal draw (a Latin hypercube, McKay et al. 1979): `count` equal shares of
probability, the middle of each once, in an order that follows from the name alone. So a name's draws are the same on
every machine, in every study, whatever other names there are. In *single moves* each name moves by one standard
deviation by itself while all others rest: to first order, the variance of a result is the sum of the squares of what
they change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import final

import numpy as np
from numpy.typing import NDArray

from simcore.uncertainty.parameters import Unknown

Floats = NDArray[np.float64]


class Draws(ABC):
    """Standard normal draws by name, `[1 + count]`: the first is 0, where all is as predicted."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of draws of each name, beside the first."""

    @abstractmethod
    def normal(self, unknown: Unknown) -> Floats:
        """Draws of an error in standard deviations, `[1 + count]`; nobody may write to them."""

    def mixed(self, shares: Mapping[Unknown, float]) -> Floats:
        """An error of others, each with its share of the variance, in standard deviations `[1 + count]`."""
        return sum((sqrt(share) * self.normal(one) for one, share in shares.items()), start=np.zeros(1 + self.count))

    @final
    def error(self, *unknowns: Unknown) -> Floats:
        """The sum of some errors, of logarithms, `[1 + count]`."""
        return sum((one.parameter.errors(self.normal(one)) for one in unknowns), start=np.zeros(1 + self.count))


class Scenarios(Draws):
    """`count` draws of everything at once; `used` are the errors that were asked for."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.used: dict[Unknown, None] = {}

    @property
    def count(self) -> int:
        """See `Draws.count`."""
        return self._count

    def normal(self, unknown: Unknown) -> Floats:
        """See `Draws.normal`."""
        self.used[unknown] = None
        return _stratified(unknown.name, self._count)

    def mixed(self, shares: Mapping[Unknown, float]) -> Floats:
        """See `Draws.mixed`; the draws are those of a normal distribution as exactly as each other's."""
        found = super().mixed(shares)
        found[1 + np.argsort(found[1:], kind="stable")] = _strata(self._count)
        return found


class SingleMoves(Draws):
    """One draw for each of some errors, in which it alone moves, by one standard deviation."""

    def __init__(self, moved: Iterable[Unknown]) -> None:
        self._places = {unknown.name: place for place, unknown in enumerate(moved, 1)}

    @property
    def count(self) -> int:
        """See `Draws.count`."""
        return len(self._places)

    def normal(self, unknown: Unknown) -> Floats:
        """See `Draws.normal`."""
        moved = np.zeros(1 + self.count)
        moved[self._places[unknown.name]] = 1.0
        return moved


@lru_cache(maxsize=16384)
def _stratified(name: str, count: int) -> Floats:
    """Python promises the same `random()` for the same seed text on every machine."""
    generator = Random(name)
    keys = [generator.random() for _ in range(count)]
    found = np.array((0.0, *(_strata(count)[place] for place in sorted(range(count), key=keys.__getitem__))))
    found.flags.writeable = False
    return found


@lru_cache(maxsize=8)
def _strata(count: int) -> tuple[float, ...]:
    """The middles of equal shares of the standard normal distribution."""
    normal = NormalDist()
    return tuple(normal.inv_cdf((place + 0.5) / count) for place in range(count))
