"""AutoSampler of OptunaHub: TPE, Gaussian processes or NSGA-II, by the space and the number of trials.

Needs torch, cmaes and optunahub. The package is downloaded from OptunaHub's registry; where the environment variable
`OPTUNAHUB_PACKAGES` names a copy of the registry's folder `package`, it is taken from there.
"""

from __future__ import annotations

import os
import warnings

import optuna
import optunahub
import torch

from dse.search.base import Sampler
from dse.search.optuna_sampler import OptunaSampler
from dse.space.space import Space

NAME, BATCH = "AutoSampler", 1
PACKAGE = "samplers/auto_sampler"


def make(space: Space, seed: int) -> Sampler:
    """AutoSampler, asked for one design at a time, on one thread."""
    torch.set_num_threads(1)
    folder = os.environ.get("OPTUNAHUB_PACKAGES")
    module = optunahub.load_local_module(PACKAGE, registry_root=folder) if folder else optunahub.load_module(PACKAGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return OptunaSampler(space, module.AutoSampler(seed=seed), smooth=True)
