"""Random: independent uniform choices, at no more cost than drawing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.search.base import Proposal, Sampler
from dse.space.draw import RandomDraw
from dse.space.space import Space


class Random(Sampler):
    """Draws with replacement; the study rejects what was drawn before."""

    behind = None

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._draw = space, RandomDraw(np.random.default_rng(seed))

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`; never exhausted by itself."""
        return Proposal(self._space.fill(self._draw))

    def state(self) -> dict[str, Any] | None:
        """See `Sampler.state`: where its stream of random numbers is."""
        return dict(self._draw.generator.bit_generator.state)

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Sampler.restore`."""
        self._draw.generator.bit_generator.state = state

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """Nothing to learn."""

    def reject(self, proposal: Proposal) -> None:
        """Nothing to learn."""
