"""An engine that knows of two things that the fast one leaves out, for `bench_fidelity.py`.

Collisions: where a switch between nodes forwards flows by a hash, some uplink carries more of them than another, and
all wait for it. `m` members with `FLOWS` connections each on `m` uplinks are balls in bins; the fullest bin has
E[max] = sum over k of 1 - F(k)^m with F the Poisson distribution of mean `FLOWS` (Raab, Steger 1998 have its
asymptotics), so that the bandwidth falls to `FLOWS` / E[max]. Rings and meshes have links of their own, where nothing
is hashed.

Jitter: operators take a little longer or shorter on each NPU, and those of a tensor-parallel group wait for the slowest
after each. Of g normal times with a deviation of `JITTER` of their mean, the largest is on average `JITTER` x
E[max of g normals] above the mean (Blom 1958).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import poisson

from simcore.design.design import Design
from simcore.result import Result
from simcore.simulate import simulate

FLOWS = 4
"""Connections of an NPU to its peers at a time."""
JITTER = 0.05
"""Deviation of an operator's time, relative."""


@cache
def hashed_share(members: int) -> float:
    """What hashing leaves of the bandwidth between `members`."""
    loads = np.arange(FLOWS * members)
    fullest = float((1.0 - poisson.cdf(loads, FLOWS) ** members).sum())
    return FLOWS / fullest


@cache
def slowest_share(members: int) -> float:
    """How much longer than the mean the slowest of so many NPUs computes, relative."""
    return 0.0 if members == 1 else JITTER * float(ndtri((members - 0.375) / (members + 0.25)))


def congested(design: Design) -> Result:
    """The result of the fast engine with collisions and jitter; of the times only that of the iteration has them."""
    dimensions = tuple(
        dimension.model_copy(update={"efficiency": dimension.efficiency * hashed_share(dimension.size)})
        if dimension.topology == "switch" and dimension.tier == "pod"
        else dimension
        for dimension in design.cluster.dimensions
    )
    cluster = design.cluster.model_copy(update={"dimensions": dimensions})
    result = simulate(design.model_copy(update={"cluster": cluster}), "fast")
    waited = result.compute_s * slowest_share(design.parallelism.tensor)
    return replace(result, iteration_time_s=result.iteration_time_s + waited, engine="congested")
