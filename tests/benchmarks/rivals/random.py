"""Independent uniform choices."""

from __future__ import annotations

from dse.search import make_sampler
from dse.search.base import Sampler
from dse.space.space import Space

NAME, BATCH = "random search", 1


def make(space: Space, seed: int) -> Sampler:
    """The sampler `random` of this project, asked for one design at a time."""
    return make_sampler("random", space, seed)
