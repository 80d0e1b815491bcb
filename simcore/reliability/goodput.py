"""How much of the time a job makes progress that lasts, in closed form.

Failures come at rate f (exponential times between them, also during checkpoints and restarts). After each work of t a
checkpoint stops the job for d and is safe w later, while the job goes on. A failure costs a restart of length r, and
what was done since the last safe checkpoint. Of X between the end of a restart and the next failure the checkpoints at
k (t + d) + w <= X are safe, so that one such time brings

    t x sum over k of P(X >= k (t + d) + w) = t e^(-f w) / (e^(f (t + d)) - 1)

of lasting work, and takes 1/f and the restart, itself begun again at each failure, (e^(f r) - 1) / f. Hence

    goodput = f t e^(-f (r + w)) / (e^(f (t + d)) - 1),

which for w = 0 is Daly's exact model (Daly 2006, Future Generation Computer Systems 22, equation 20). Its best t solves
(1 - f t) e^(f (t + d)) = 1, whatever r and w: t = (1 + W(-e^(-1 - f d))) / f with Lambert's W. Young (1974) takes
sqrt(2 d / f), Daly a series beyond. A checkpoint begins when the last one is safe, and after whole iterations, so t is
at least w, and at least an iteration.

While too many nodes are in repair the job waits, and nothing fails (`simcore.reliability.waiting`). What is left of the
time goes as above, since failures have no memory: the share of waiting multiplies goodput by what is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any, TypeAlias

import numpy as np

from simcore.design.design import Design
from simcore.design.once import once_for
from simcore.design.reliability import Reliability
from simcore.design.same import Same
from simcore.design.workload import Workload
from simcore.reliability.counts import Counts, counts_of, failure_rate, software_rate
from simcore.reliability.storage import checkpoint_bytes, storage_bandwidth
from simcore.reliability.waiting import spare_nodes, waiting_share
from simcore.workload.base import kind_of

Number: TypeAlias = Any
"""A float, or an array `[networks]`."""

_NEVER = 1e-30
"""A rate that stands for none: one failure in many ages of the universe [1/s]."""
_SMALL = 1e-8
"""Stall over time between failures, below which two terms of the series are nearer than W is in floats."""
_LEAST = 1e-12
"""Least goodput: where no job would ever end, what is over it stays a number."""


@dataclass(frozen=True, slots=True, eq=False)
class Interruptions:
    """What stops a job and what that costs; rates and restarts may be arrays `[networks]`."""

    failures: Number
    """All that stop the job [1/s]."""
    repairs: Number
    """Failures among them that take a node until it is repaired [1/s]."""
    stall: float = 0.0
    """By a checkpoint, of the job [s]."""
    write: float = 0.0
    """After that, until the checkpoint is safe, while the job goes on [s]."""
    restart: Number = 0.0
    """From a failure to the first new iteration, where a node is there [s]."""
    repair: float = 0.0
    """Mean time until a node is back [s]."""
    spares: int | None = None
    """Spare nodes; None: there is always one."""
    interval: float | None = None
    """Work between checkpoints [s]; None: the best."""


def _asked(design: Design) -> tuple[Any, ...]:
    workload, checkpoint = design.workload, design.reliability.checkpoint
    size = None if checkpoint is None else checkpoint_bytes(workload, checkpoint)
    return Same(design.cluster), Same(design.reliability), kind_of(workload).trained, size


@once_for(_asked, 4096)
def interruptions_of(design: Design) -> Interruptions | None:
    """What stops the job of a design; None where it is none, or of whose parameters nothing is known."""
    return interruptions(design.reliability, design.workload, counts_of(design), spare_nodes(design))


def interruptions(
    reliability: Reliability, workload: Workload, counts: Counts, spares: int | None = None
) -> Interruptions | None:
    """What stops a job of a workload on pieces; see `interruptions_of`."""
    checkpoint, restart = reliability.checkpoint, reliability.restart
    if not kind_of(workload).trained:
        return None
    if not reliability.fails or checkpoint is None or restart is None:  # the door lets failures pass with both only
        return Interruptions(0.0, 0.0)
    size = checkpoint_bytes(workload, checkpoint)
    if size is None:
        return None
    moved = size / storage_bandwidth(checkpoint, counts.npu)
    stopped = checkpoint.stall + size / counts.npu / checkpoint.copy_bandwidth
    begun = restart.detection + restart.replacement + restart.initialisation
    rate = failure_rate(reliability.mtbf, counts)
    return Interruptions(
        failures=rate,
        repairs=rate - software_rate(reliability.mtbf, counts),
        stall=stopped if checkpoint.asynchronous else stopped + moved,
        write=moved if checkpoint.asynchronous else 0.0,
        restart=begun + restart.initialisation_per_npu * counts.npu + moved,
        repair=reliability.repair,
        spares=spares,
        interval=checkpoint.interval,
    )


def at_mtbf(what: Interruptions, between: Number) -> Interruptions:
    """The same job on clusters with other times between failures [s], `[networks]`; NaN and 0 stand for none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        failures = np.where(between > 0, 1.0 / between, 0.0)
    return replace(what, failures=failures, repairs=np.maximum(failures - (what.failures - what.repairs), 0.0))


def young_interval(stall: Number, failures: Number) -> Number:
    """Work between checkpoints that take `stall` [s] at a rate of `failures` [1/s], to first order (Young 1974) [s]."""
    return np.sqrt(2.0 * stall / failures)


def daly_interval(stall: float, failures: float) -> float:
    """As `young_interval`, with the next orders of Daly (2006, equation 37) [s]."""
    between = 1.0 / failures
    if stall >= 2.0 * between:
        return between
    part = math.sqrt(stall / (2.0 * between))
    return 2.0 * between * part * (1.0 + part / 3.0 + part**2 / 9.0) - stall


def best_interval(stall: Number, failures: Number) -> Number:
    """The work between checkpoints of the most goodput [s]."""
    return _best_of_one(stall, failures) if type(failures) is float is type(stall) else _best(stall, failures)


@lru_cache(maxsize=1024)
def _best_of_one(stall: float, failures: float) -> Number:
    """As `best_interval`: designs of a search have few stalls and rates."""
    return _best(stall, failures)


def _best(stall: Number, failures: Number) -> Number:
    from scipy.special import lambertw  # takes an eighth of what all commands need to start

    rate = np.maximum(failures, _NEVER)
    exact = (1.0 + lambertw(-np.exp(-1.0 - rate * stall)).real) / rate
    return np.where(rate * stall < _SMALL, young_interval(stall, rate) - stall * (2.0 / 3.0), exact)[()]


def interval(what: Interruptions, iteration: Number = 0.0) -> Number:
    """Work between checkpoints: that given or the best; at least an iteration, and until the last one is safe [s]."""
    wanted = best_interval(what.stall, what.failures) if what.interval is None else what.interval
    return _largest(wanted, what.write, iteration, 1e-9)


def checkpoint_interval(design: Design, iteration: float) -> float | None:
    """Work between checkpoints of a design's job [s]; None where nothing is saved."""
    what = interruptions_of(design)
    return float(interval(what, iteration)) if what is not None and what.failures else None


def goodput(what: Interruptions, iteration: Number = 0.0) -> Number:
    """The share of the time in which work is done that lasts; `iteration` is its time [s], or at least so long.

    It falls with each rate and each time of `what` and with `iteration`, so each at its least gives an upper bound.
    """
    share = _largest(share_at(what, interval(what, iteration)) * (1.0 - waiting(what)), _LEAST)
    return share if np.ndim(share) else float(share)


def _largest(*numbers: Number) -> Number:
    """The largest of numbers; where some are arrays `[networks]`, on each network."""
    if any(isinstance(number, np.ndarray) for number in numbers):
        return reduce(np.maximum, numbers)
    return max(numbers)


def share_at(what: Interruptions, work: Number) -> Number:
    """The share of lasting work where checkpoints follow `work` [s], and a node is always there."""
    rate = np.maximum(what.failures, _NEVER)
    with np.errstate(over="ignore"):
        return rate * work * np.exp(-rate * (what.restart + what.write)) / np.expm1(rate * (work + what.stall))


def waiting(what: Interruptions) -> Number:
    """The share of the time in which the job waits for a node."""
    return 0.0 if what.spares is None else waiting_share(what.repairs * what.repair, what.spares)
