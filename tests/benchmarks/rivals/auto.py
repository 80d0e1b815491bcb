"""The default sampler of this project, in batches of the study."""

from __future__ import annotations

from dse.search import make_sampler, resolve_sampler
from dse.search.base import Sampler
from dse.space.space import Space

NAME, BATCH = "auto", None


def make(space: Space, seed: int) -> Sampler:
    """`auto`, as for the fast engine."""
    return make_sampler(resolve_sampler("auto", space, "fast"), space, seed)
