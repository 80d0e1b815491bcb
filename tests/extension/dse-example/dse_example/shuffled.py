"""A sampler: every design of a finite space once, in an order that follows from the seed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.search.base import Proposal, Sampler
from dse.space.space import Space


class Shuffled(Sampler):
    """Holds the whole space in memory, so it is for small ones."""

    behind = None  # outcomes teach it nothing, so batches need not wait for them

    def __init__(self, space: Space, seed: int) -> None:
        designs = list(space.enumerate())
        self._left = [designs[i] for i in np.random.default_rng(seed).permutation(len(designs))]

    def ask(self) -> Proposal | None:
        return Proposal(self._left.pop()) if self._left else None

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        pass

    def reject(self, proposal: Proposal) -> None:
        pass
