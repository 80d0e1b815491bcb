"""Multivariate TPE of Optuna (Bergstra et al. 2011; Falkner et al. 2018)."""

from __future__ import annotations

from dse.search import make_sampler
from dse.search.base import Sampler
from dse.space.space import Space

NAME, BATCH = "TPE", 1


def make(space: Space, seed: int) -> Sampler:
    """The sampler `tpe` of this project, asked for one design at a time."""
    return make_sampler("tpe", space, seed)
