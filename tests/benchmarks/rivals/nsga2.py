"""NSGA-II of Optuna (Deb et al. 2002), population 20, with three objectives and more 40."""

from __future__ import annotations

from dse.search import make_sampler
from dse.search.base import Sampler
from dse.space.space import Space

NAME, BATCH = "NSGA-II", 1


def make(space: Space, seed: int) -> Sampler:
    """The sampler `nsga2` of this project, asked for one design at a time."""
    return make_sampler("nsga2", space, seed)
