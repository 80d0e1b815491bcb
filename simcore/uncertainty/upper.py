"""The time that a design stays below in nine of ten cases, as a number to search by.

The interval of a prediction (`simcore.prediction_interval`) is that of designs like those that were measured. A design
that rests more on what the model knows badly has a wider one, in proportion: its own spread over the `USUAL` one, where
the spread is the root of the sum of squares of what each error changes by itself, one standard deviation each
(`SingleMoves`), and of the rest. No sample is in it, so that a search cannot seek out lucky draws.
"""

from __future__ import annotations

from math import exp, sqrt
from statistics import NormalDist

import numpy as np

from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.software import Software
from simcore.design.workload import Workload
from simcore.provenance import Evidence, evidence, evidence_of
from simcore.uncertainty.draws import Scenarios, SingleMoves
from simcore.uncertainty.iteration import estimate_times
from simcore.uncertainty.parameters import REST, rate_parameter
from simcore.uncertainty.together import Level

NINE_TENTHS = NormalDist().inv_cdf(0.9)
USUAL = 0.05
"""Spread of the usual measured design beside the rate of its device's products: the median of 110 jobs."""


def upper_factor(design: Design) -> float:
    """What nine of ten cases stay below, over the predicted time of a checked design."""
    return _factor(Level.of(design), evidence(design), spread(design))


def least_upper_factor(npu: Npu, software: Software, workload: Workload) -> float:
    """What `upper_factor` is at least, of any design with these: as if nothing but the rest were not known."""
    level = Level.of_stack(npu, software, workload) if workload.computes else None
    return _factor(level, evidence_of(npu, software), 0.0)


def _factor(level: Level | None, found: Evidence, own: float) -> float:
    if level is None:
        return exp(NINE_TENTHS * own)
    rest, rate = REST.spread * level.spread, rate_parameter(found).spread
    wider = sqrt((own**2 + rest**2) / (USUAL**2 + rate**2 + rest**2))
    return exp(level.middle + NINE_TENTHS * level.spread * wider)


def spread(design: Design) -> float:
    """Standard deviation of the logarithm of the time of a checked design, by its parameters, to first order."""
    asked = Scenarios(1)  # one stratum: nothing moves, and every error is asked for once
    estimate_times(design, asked)
    times = estimate_times(design, SingleMoves(asked.used))
    return float(np.sqrt(np.square(np.log(times[1:] / times[0])).sum()))
