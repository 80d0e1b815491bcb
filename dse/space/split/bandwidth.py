"""The best split of a bandwidth budget over the dimensions of a network, solved instead of sampled.

Every collective takes the longest of its dimensions' times, bytes over bandwidth (LIBRA, Won et al. 2023, arXiv
2109.11762, section IV):

    T(b) = compute + sum_c max_d  m_cd / b_d,      C(b) = sum_d u_d b_d,      sum_d b_d = B,   lower <= b <= upper

`time` minimises T, `time_cost` T x C. Both are geometric programmes, convex in log b (`dse.space.split.geometric`), and
the sum need not be an equation there: see `_solved`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.space.split.geometric import Programme, minimise
from simcore.document.problem import InputError, Problem

Vector = NDArray[np.float64]
SplitGoal = Literal["time", "time_cost"]

LEAST_SHARE = 1e-12
"""Least share of the budget of any dimension: one without bytes would best get nothing, and no link is that narrow."""

LARGEST = 1e40
"""Beyond it, and below its inverse, products of what is given leave the range of floats; no cluster is near either."""

_FINITE = float(np.finfo(float).max)


def optimal_split(
    bytes_per_collective: ArrayLike,
    budget: float,
    compute_s: float = 0.0,
    objective: SplitGoal = "time",
    unit_cost: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Vector:
    """The bandwidth of each dimension [B/s], `[dims]`: positive, adding up to the budget, the best of its objective.

    Parameters
    ----------
    bytes_per_collective
        Bytes that each NPU sends for each collective on each dimension [B], `[collectives, dims]`.
    budget
        Sum of the bandwidths [B/s].
    compute_s
        Time that no bandwidth shortens [s].
    objective
        `time`, or `time_cost`: time x price of the bandwidth.
    unit_cost
        Price of each dimension [$ per B/s], `[dims]`; for `time_cost`.
    lower, upper
        Least and most of each dimension [B/s], `[dims]` or one number; `upper` may be infinite.
    weights
        How often each collective counts, `[collectives]`. Several workloads on one network are one problem: their
        collectives one below the other, each weighted as its workload is, and `compute_s` their weighted sum.

    Raises `InputError` (a `ValueError`) with everything that is wrong: shapes, signs, bounds that no split meets.
    """
    case = _check_case(bytes_per_collective, budget, compute_s, objective, unit_cost, lower, upper, weights)
    if len(case.lower) == 1:
        return np.array([case.budget])
    if objective == "time":
        case = _Case(case.bytes, case.budget, 0.0, np.ones(len(case.lower)), case.lower, case.upper)
    if not case.bytes.any():
        return _fit_exactly(
            _cheapest_shares(case) if case.compute and objective == "time_cost" else _even_shares(case), case
        )
    return _fit_exactly(_solve_case(case), case)


def even_split(budget: float, lower: Vector, upper: Vector) -> Vector:
    """The shares of a budget [B/s], `[dims]`, that are as equal as their least and most let them be.

    All but those at a limit are the same.
    """
    level = even = budget / len(lower)
    least, most = 0.0, budget
    for _ in range(0 if (lower <= even).all() and (even <= upper).all() else 100):
        level = (least + most) / 2
        least, most = (level, most) if np.clip(level, lower, upper).sum() < budget else (least, level)
    split: Vector = np.clip(np.full(len(lower), level), lower, upper)
    return split


def split_time(bytes_per_collective: ArrayLike, bandwidth: ArrayLike, compute_s: float = 0.0) -> float:
    """Time of compute and all collectives [s] with `bandwidth` [B/s] per dimension."""
    table = np.atleast_2d(np.asarray(bytes_per_collective, float))
    return compute_s + float((table / np.asarray(bandwidth, float)).max(axis=1, initial=0.0).sum())


@dataclass(frozen=True)
class _Case:
    """One problem, checked: `bytes [rows, dims]` without empty rows, the rest `[dims]`."""

    bytes: Vector
    budget: float
    compute: float
    price: Vector
    lower: Vector
    upper: Vector


class _Arguments:
    """What is given, read number by number, with everything that is wrong with it."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def refuse(self, name: str, expected: str, found: object) -> None:
        """Note what is wrong with an argument."""
        self.problems.append(Problem((name,), expected, str(found)))

    def raise_all(self) -> None:
        """Raise `InputError` where anything is wrong."""
        if self.problems:
            raise InputError(self.problems, "bandwidth split")

    def table(self, value: ArrayLike) -> Vector:
        """The bytes, `[collectives, dims]`; without such a shape nothing else can be read."""
        try:
            sent = np.asarray(value, float)
        except (ValueError, TypeError):
            sent = np.zeros(0)
        if sent.ndim != 2 or not sent.shape[1]:
            self.refuse("bytes_per_collective", "a table of numbers [collectives, dims]", f"shape {list(sent.shape)}")
            self.raise_all()
        return self.numbers("bytes_per_collective", sent, sent.shape, 0.0)

    def numbers(
        self, name: str, value: ArrayLike, shape: tuple[int, ...], least: float, most: float = _FINITE
    ) -> Vector:
        """`value` in `shape`; its problem, and ones, where it is not finite numbers in [least, most]."""
        what = f"numbers of shape {list(shape)}" if shape else "a number"
        try:
            array = np.asarray(value, float)
        except (ValueError, TypeError):
            self.refuse(name, f"{what} in SI units", repr(value)[:60])
            return np.ones(shape)
        try:
            array = np.broadcast_to(array, shape)
        except ValueError:
            self.refuse(name, what, f"shape {list(np.shape(array))}")
            return np.ones(shape)
        inside = (array >= least) & (array <= most)
        if not inside.all():
            finite = "" if most == np.inf else ", finite"
            self.refuse(name, f"numbers of at least {least:g}{finite}", f"{array[~inside][0]:g}")
            return np.ones(shape)
        beyond = np.isfinite(array) & (array != 0) & ((array < 1 / LARGEST) | (array > LARGEST))
        if beyond.any():
            self.refuse(name, f"numbers from {1 / LARGEST:g} to {LARGEST:g}, or 0", f"{array[beyond][0]:g}")
            return np.ones(shape)
        return array

    def price(self, unit_cost: ArrayLike | None, dims: int, objective: str) -> Vector:
        """The price of each dimension, which `time_cost` needs."""
        if objective not in ("time", "time_cost"):
            self.refuse("objective", "time or time_cost", f"'{objective}'")
        if objective == "time_cost" and unit_cost is None:
            self.refuse("unit_cost", "the price of each dimension for time_cost", "none")
        price = self.numbers("unit_cost", 1.0 if unit_cost is None else unit_cost, (dims,), 0.0)
        if objective == "time_cost" and not price.any():
            self.refuse("unit_cost", "a price above 0", "0 in all dimensions")
        return price

    def meet(self, least: Vector, most: Vector, total: float) -> None:
        """Note bounds that no split of the budget meets."""
        if (least > most).any():
            d = int(np.argmax(least > most))
            self.refuse("upper", f"at least the lower bound of dimension {d} ({least[d]:g} B/s)", f"{most[d]:g} B/s")
        elif least.sum() > total * (1 + 1e-9):
            self.refuse("budget", f"at least the sum of the lower bounds ({least.sum():g} B/s)", f"{total:g} B/s")
        elif most.sum() < total * (1 - 1e-9):
            self.refuse("budget", f"at most the sum of the upper bounds ({most.sum():g} B/s)", f"{total:g} B/s")


def _check_case(
    table: ArrayLike,
    budget: float,
    compute: float,
    objective: str,
    unit_cost: ArrayLike | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    weights: ArrayLike | None,
) -> _Case:
    given = _Arguments()
    sent = given.table(table)
    rows, dims = sent.shape
    total = float(given.numbers("budget", budget, (), np.finfo(float).tiny))
    fixed = float(given.numbers("compute_s", compute, (), 0.0))
    least = given.numbers("lower", 0.0 if lower is None else lower, (dims,), 0.0)
    most = given.numbers("upper", np.inf if upper is None else upper, (dims,), 0.0, np.inf)
    often = given.numbers("weights", 1.0 if weights is None else weights, (rows,), 0.0)
    price = given.price(unit_cost, dims, objective)
    if not given.problems:
        least = np.maximum(least, LEAST_SHARE * total)
        given.meet(least, most, total)
    given.raise_all()
    weighted = sent * often[:, None]
    most = np.minimum(most, total)
    implied = np.maximum(least, total - (most.sum() - most)), np.minimum(most, total - (least.sum() - least))
    return _Case(weighted[weighted.any(axis=1)], total, fixed, price, implied[0], np.maximum(*implied))


def _even_shares(case: _Case) -> Vector:
    """The same share of every dimension's room."""
    room = case.upper - case.lower
    free = max(case.budget - case.lower.sum(), 0.0)
    result: Vector = case.lower + room * (free / room.sum() if room.any() else 0.0)
    return result


def _cheapest_shares(case: _Case) -> Vector:
    """The split that costs least: the rest of the budget where it is cheapest, then where it is next cheapest."""
    split = case.lower.copy()
    for d in np.argsort(case.price, kind="stable"):
        split[d] += min(case.upper[d] - split[d], max(case.budget - split.sum(), 0.0))
    return split


def _fit_exactly(split: Vector, case: _Case) -> Vector:
    """The split inside its bounds and with the budget as its sum, whatever rounding left of either."""
    split = np.clip(split, case.lower, case.upper)
    for _ in range(3):
        left = case.budget - split.sum()
        room = case.upper - split if left > 0 else split - case.lower
        if not left or not room.any():
            break
        split = np.clip(split + room * (left / room.sum()), case.lower, case.upper)
    return split


def _solve_case(case: _Case) -> Vector:
    """The optimum of a case with bytes.

    With prices above that of the cheapest dimension, `u - theta`, and `theta x budget` as a constant, the budget may as
    well be an upper limit: what is left of it goes to the cheapest dimension, at no cost and to no loss. Where that
    one's upper bound leaves some over, it is at its bound in every optimum, and the next price takes its part.
    Dimensions without bytes never get more than their least but of what is left.
    """
    used = case.bytes.any(axis=0)
    fixed = np.log(case.upper / case.lower) < _NARROW
    split = case.lower.copy()
    while not fixed.all():
        theta = case.price[~fixed].min()
        free = used & ~fixed
        if free.any():
            split[free] = _programme_optimum(case, free, split[~free], theta)
        cheapest = ~fixed & (case.price <= theta)
        room = np.where(cheapest, case.upper - split, 0.0)
        left = max(case.budget - split.sum(), 0.0)
        if left <= room.sum():
            return split + room * (left / room.sum() if room.any() else 0.0)
        split[cheapest] = case.upper[cheapest]
        fixed |= cheapest
    return split


_NARROW = 1e-10
"""Logarithm of upper over lower bound below which a dimension has no choice."""


def _programme_optimum(case: _Case, free: NDArray[np.bool_], at: Vector, theta: float) -> Vector:
    """Bandwidths of the dimensions that are `free`, the others being `at` theirs, with prices above `theta`."""
    left = case.budget - at.sum()
    floor = (case.bytes[:, ~free] / at).max(axis=1, initial=0.0)
    lower, upper = case.lower[free], case.upper[free]
    if upper.sum() <= left:
        if not (case.price[free] > theta).any():
            return upper
    elif left - lower.sum() <= _NARROW * lower.sum():
        return lower
    programme = Programme(
        table=np.column_stack([case.bytes[:, free], floor]),
        constant_time=case.compute,
        constant_cost=float(case.price[~free] @ at) + theta * left,
        price=case.price[free] - theta,
        low=np.log(lower),
        high=np.where(upper < left, np.log(upper), np.inf),
        budget=float(np.log(left)),
    )
    return np.exp(minimise(programme, np.log(np.sqrt(lower * np.minimum(upper, left)))))
