"""Random: independent uniform choices, without the memory and the book-keeping of Optuna's sampler of that name.

That takes two thirds of a driver's time per design, and a sweep of millions is bound by its driver (`docs/scaling.md`).
Python's own generator draws whole numbers of any size: a split may have more shares than 64 bits count.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from dse.search.base import Proposal, Sampler
from dse.space import Space


@dataclass(frozen=True)
class UniformDraw:
    """Independent uniform choices."""

    generator: random.Random
    smooth: bool = False

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        return self.generator.randrange(count)

    def integer(self, name: str, low: int, high: int) -> int:
        """See `Draw.integer`."""
        return self.generator.randint(low, high)

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        if log:
            return math.exp(self.generator.uniform(math.log(low), math.log(high)))
        return self.generator.uniform(low, high)


class Uniform(Sampler):
    """Never exhausted by itself."""

    learns = False

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._draw = space, UniformDraw(random.Random(seed))

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`."""
        return Proposal(self._space.fill(self._draw))

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """Nothing to learn."""

    def reject(self, proposal: Proposal) -> None:
        """Nothing to learn."""
