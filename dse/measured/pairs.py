"""How sure a prediction was that one way to run a job is faster than another, against how often it was.

A pair is two configurations of one job (same device, stack, network, model, batch and precision) that were both
measured. The stated probability is the share of scenarios in which the one that is faster in more of them is faster,
as `dse.whatif.scenarios` has it of two designs; what happened is whether its measured time was the shorter one. Of a
job with n configurations all n (n - 1) / 2 pairs are compared, but they hold n - 1 independent differences: each pair
counts 2 / n.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log, sqrt
from statistics import NormalDist, median

import numpy as np
from numpy.typing import NDArray

from dse.measured.measured import MeasuredIteration
from simcore.simulate import simulate
from simcore.uncertainty.draws import Draws
from simcore.uncertainty.parameters import REST
from simcore.uncertainty.together import draw_times

Floats = NDArray[np.float64]

EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Edges of the bins of stated probabilities."""
_LIMIT = NormalDist().inv_cdf(0.975)
_NEVER = 0.005


@dataclass(frozen=True, slots=True)
class StatedPair:
    """Two measured configurations of a job."""

    job: Hashable
    stated: float
    """Probability that the one which is said to be faster is faster: 0.5 to 1."""
    right: bool
    """Whether it was."""
    weight: float


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs of which about the same was stated."""

    low: float
    high: float
    pairs: int
    jobs: int
    stated: float
    observed: float

    @property
    def limit(self) -> float:
        """By how much the share of as many right answers as there are jobs may differ, in 19 of 20 cases."""
        return _LIMIT * sqrt(self.stated * (1.0 - self.stated) / self.jobs)


@dataclass(frozen=True, slots=True)
class PairCalibration:
    """Stated probabilities against what happened."""

    pairs: int
    jobs: int
    brier: float
    """Mean square of stated probability - 1 where it was right, of it where it was wrong; 0.25 knows nothing."""
    expected_error: float
    """Mean distance of what was stated from what was observed, over the bins."""
    bins: tuple[Bin, ...]


def state_pairs(rows: Iterable[MeasuredIteration], draws: Draws, share: float = REST.spread) -> Iterator[StatedPair]:
    """The pairs of all jobs; times that are multiples of another job's are left out, equal ones are no pair.

    `share` is how much of an interval's spread is a design's own (`simcore.uncertainty.together`).
    """
    for job, designs in _group(rows).items():
        chosen = [same[0].design for same in designs]
        if len(chosen) < 2:
            continue
        measured = [median(row.seconds for row in same) for same in designs]
        predicted = np.array([simulate(design).iteration_time_s for design in chosen])
        times = predicted[:, None] * draw_times(chosen, draws, share)
        for a, b in combinations(range(len(chosen)), 2):
            if measured[a] != measured[b]:
                yield _state_pair(job, times[a], times[b], measured[a] < measured[b], 2.0 / len(chosen))


def _group(rows: Iterable[MeasuredIteration]) -> dict[Hashable, list[list[MeasuredIteration]]]:
    """The rows of each job, those of one design together."""
    jobs: dict[Hashable, dict[str, list[MeasuredIteration]]] = {}
    for row in rows:
        if row.relative_to is None:
            jobs.setdefault((row.software, *row.job), {}).setdefault(row.design.key, []).append(row)
    return {job: list(designs.values()) for job, designs in jobs.items()}


def _state_pair(job: Hashable, one: Floats, other: Floats, first: bool, weight: float) -> StatedPair:
    share = float((one < other).mean() + 0.5 * (one == other).mean())
    return StatedPair(job, max(share, 1.0 - share), first == (share > 0.5), weight)


def calibrate_pairs(pairs: Sequence[StatedPair]) -> PairCalibration:
    """Stated against observed; at least one pair."""
    stated, right, weight = (
        np.array([getattr(pair, name) for pair in pairs]) for name in ("stated", "right", "weight")
    )
    bins = tuple(_bins(pairs, stated, right, weight))
    shares = [weight[_inside(stated, found.low, found.high)].sum() / weight.sum() for found in bins]
    return PairCalibration(
        pairs=len(pairs),
        jobs=len({pair.job for pair in pairs}),
        brier=float(np.average((stated - right) ** 2, weights=weight)),
        expected_error=sum(share * abs(b.stated - b.observed) for share, b in zip(shares, bins, strict=True)),
        bins=bins,
    )


def log_score(pairs: Iterable[StatedPair]) -> float:
    """Sum over pairs of the surprise at what happened, -ln of its stated probability, of which 1 % is never ruled out.

    The share of the interval's spread that is a design's own was chosen by the least of it over all jobs.
    """
    surest = 1.0 - _NEVER
    return sum(-p.weight * log(min(surest, p.stated) if p.right else max(_NEVER, 1.0 - p.stated)) for p in pairs)


def _bins(pairs: Sequence[StatedPair], stated: Floats, right: Floats, weight: Floats) -> Iterator[Bin]:
    for low, high in pairwise(EDGES):
        inside = _inside(stated, low, high)
        if not inside.any():
            continue
        yield Bin(
            low,
            high,
            int(inside.sum()),
            len({pair.job for pair, kept in zip(pairs, inside, strict=True) if kept}),
            float(np.average(stated[inside], weights=weight[inside])),
            float(np.average(right[inside], weights=weight[inside])),
        )


def _inside(stated: Floats, low: float, high: float) -> NDArray[np.bool_]:
    return (stated >= low) & ((stated < high) | (high == EDGES[-1]))
