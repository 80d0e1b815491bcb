"""GPSampler of Optuna: Gaussian processes with log expected hypervolume improvement. Needs torch."""

from __future__ import annotations

import torch

from dse.search import make_sampler
from dse.search.base import Sampler
from dse.space.space import Space

NAME, BATCH = "GPSampler", 1


def make(space: Space, seed: int) -> Sampler:
    """The sampler `gp` of this project, asked for one design at a time, on one thread."""
    torch.set_num_threads(1)
    return make_sampler("gp", space, seed)
