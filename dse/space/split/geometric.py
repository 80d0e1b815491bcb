"""The geometric programme behind a bandwidth split, solved by a primal-dual interior-point method.

In the logarithms y of the bandwidths and tau of the collectives' times, LIBRA's problem (arXiv 2109.11762, section IV)
is convex, and nothing in it has a scale of its own:

    minimise    log(K + sum_c exp(tau_c)) + log(c_0 + sum_d u_d exp(y_d))
    subject to  tau_c + y_d >= log m_cd,   low <= y <= high,   log sum_d exp(y_d) <= log B

Boyd and Vandenberghe (2004), section 4.5 (geometric programmes), section 11.7 (the method). The times are eliminated
from Newton's system in a form without cancellation, which leaves `dims` unknowns, whatever the number of collectives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

GAP = 1e-11
"""Relative distance to the optimum, by the multipliers, at which the solver stops."""
WORST = 1e-7
"""Largest one at which its result counts as the optimum, where rounding stops it earlier."""
_MOST_STEPS = 200
_MOST_IDLE = 5
"""Steps, and steps without progress, after which it stops."""


@dataclass(frozen=True)
class Programme:
    """One programme.

    `table [rows, dims + 1]`: bytes m_cd [B], 0 where a collective has none; its last column a least time of each row
    [s], 0 where there is none. `low`, `high [dims]`: logarithms of the bounds, `high` infinite where there is none.
    """

    table: Vector
    constant_time: float
    constant_cost: float
    price: Vector
    low: Vector
    high: Vector
    budget: float
    """Logarithm of B."""


@dataclass(frozen=True)
class _State:
    """Logarithms of bandwidths `y` and times `tau`; slacks and multipliers of rows, lower, upper bounds and budget.

    The budget's slack is a variable of its own, which meets its (only nonlinear) constraint when the method ends.
    """

    y: Vector
    tau: Vector
    slacks: Vector
    multipliers: Vector


def minimise(programme: Programme, start: Vector) -> Vector:
    """The optimal logarithms of the bandwidths `[dims]`, from a `start` strictly inside the bounds.

    Raises `ArithmeticError` where rounding stops the method further than `WORST` from the optimum.
    """
    with np.errstate(all="ignore"):  # what overflows is an error of infinity, which ends the method
        error, state = _path(_Method.of(programme), start)
    if not error <= WORST:
        raise ArithmeticError(f"bandwidth split: {error:.1e} from the optimum when rounding stopped the solver")
    return state.y


def _path(method: _Method, start: Vector) -> tuple[float, _State]:
    """The best state on the way to the optimum, and its error."""
    state = method.first_state(start)
    error, best, idle = np.inf, state, 0
    for _ in range(_MOST_STEPS):
        now = method.error(state)
        idle += 1
        if now < error:
            error, best, idle = now, state, 0
        if error <= GAP or not now < np.inf or (error <= WORST and idle > _MOST_IDLE):
            break
        state = method.step(state)
    return error, best


@dataclass(frozen=True)
class _Method:
    programme: Programme
    logs: Vector
    """Logarithms of the bytes (and the least time), entry by entry `[entries]`."""
    row: NDArray[np.intp]
    dim: NDArray[np.intp]
    """Row and dimension of each entry; one more than there are for a least time."""
    capped: NDArray[np.intp]
    """Dimensions with an upper bound."""

    @classmethod
    def of(cls, programme: Programme) -> _Method:
        row, dim = np.nonzero(programme.table)
        capped = np.flatnonzero(np.isfinite(programme.high))
        return cls(programme, np.log(programme.table[row, dim]), row, dim, capped)

    def first_state(self, y: Vector) -> _State:
        """A state with the times one above what the bandwidths allow, all products equal."""
        times = self.logs - np.append(y, 0.0)[self.dim]
        tau = np.full(len(self.programme.table), -np.inf)
        np.maximum.at(tau, self.row, times)
        tau += 1.0
        slacks = np.concatenate([self._linear_slacks(y, tau), [1.0]])
        return _State(y, tau, slacks, 1.0 / (len(slacks) * slacks))

    def _linear_slacks(self, y: Vector, tau: Vector) -> Vector:
        rows = tau[self.row] + np.append(y, 0.0)[self.dim] - self.logs
        return np.concatenate([rows, y - self.programme.low, (self.programme.high - y)[self.capped]])

    def _slack_change(self, dy: Vector, dtau: Vector) -> Vector:
        """Change of the linear slacks."""
        return np.concatenate([dtau[self.row] + np.append(dy, 0.0)[self.dim], dy, -dy[self.capped]])

    def _gather_rows(self, values: Vector) -> tuple[Vector, Vector]:
        """Sums of values per linear constraint into the gradients of y and tau: the transpose of `_slack_change`."""
        n, dims = len(self.row), len(self.programme.price)
        of_y = np.bincount(self.dim, values[:n], dims + 1)[:dims] + values[n : n + dims]
        of_y -= np.bincount(self.capped, values[n + dims :], dims)
        of_tau = np.bincount(self.row, values[:n], len(self.programme.table)).astype(np.float64, copy=False)
        return of_y, of_tau

    def _shares(self, state: _State) -> tuple[Vector, float, Vector, Vector]:
        """What each collective is of the time (and the constant is), each dimension of the cost and of the budget."""
        p, y, tau = self.programme, state.y, state.tau
        top = max(float(tau.max()), np.log(p.constant_time) if p.constant_time else -np.inf)
        times, constant = np.exp(tau - top), p.constant_time * np.exp(-top)
        whole = times.sum() + constant
        cost = p.price * np.exp(y)
        spent = p.constant_cost + cost.sum()
        band = np.exp(y - y.max())
        return times / whole, constant / whole, cost / spent if spent else cost, band / band.sum()

    def _budget_error(self, state: _State) -> float:
        """By how much budget and its slack differ."""
        return float(np.logaddexp.reduce(state.y)) + float(state.slacks[-1]) - self.programme.budget

    def error(self, state: _State) -> float:
        """Relative distance to the optimum: slacks times multipliers, and what the conditions are missed by."""
        time, _, cost, band = self._shares(state)
        of_y, of_tau = self._gather_rows(state.multipliers[:-1])
        dual_y = cost + state.multipliers[-1] * band - of_y
        gap = float(state.slacks @ state.multipliers)
        return max(gap, float(abs(dual_y).max()), float(abs(time - of_tau).max()), abs(self._budget_error(state)))

    def step(self, state: _State) -> _State:
        """Predict, then correct (Mehrotra 1992): as far as slacks and multipliers stay positive."""
        products = state.slacks * state.multipliers
        mean = products.mean()
        system = self._system(state)
        reached = self._direction(state, system, -products)
        ahead = _furthest_step(state.slacks, reached.slacks), _furthest_step(state.multipliers, reached.multipliers)
        after = (state.slacks + ahead[0] * reached.slacks) @ (state.multipliers + ahead[1] * reached.multipliers)
        goal = max((after / len(products) / mean) ** 3 * mean, min(mean, _BEHIND * self.error(state) / len(products)))
        aim = goal - products - min(ahead) ** 2 * reached.slacks * reached.multipliers
        change = self._direction(state, system, aim)
        length = min(_furthest_step(state.slacks, change.slacks), _furthest_step(state.multipliers, change.multipliers))
        largest = max(float(abs(change.y).max()), float(abs(change.tau).max()))
        length = min(1.0, 0.99 * length, _FARTHEST / largest if largest else 1.0)
        y, tau = state.y + length * change.y, state.tau + length * change.tau
        spare = state.slacks[-1] + length * change.slacks[-1]
        own = self.programme.budget - float(np.logaddexp.reduce(y))
        slacks = np.concatenate([self._linear_slacks(y, tau), [own if own > 0.1 * spare else spare]])
        least = 0.005 * state.slacks  # linear slacks are computed afresh: rounding must not lose their sign
        return _State(y, tau, np.maximum(slacks, least), state.multipliers + length * change.multipliers)

    def _system(self, state: _State) -> _System:
        time, constant, cost, band = self._shares(state)
        ratio = state.multipliers / state.slacks
        n, dims = len(self.row), len(cost)
        table = np.zeros((len(time), dims + 1))
        table[self.row, self.dim] = ratio[:n]
        a, sums = table[:, :-1], table.sum(axis=1)
        diagonal = time + sums
        coupling = a.T @ (a / diagonal[:, None])
        np.fill_diagonal(coupling, 0.0)
        own = ((time + table[:, -1]) / diagonal) @ a + coupling.sum(axis=1)
        leans = (time / diagonal) @ a
        rest = constant + float((time / diagonal) @ sums)
        bounds = ratio[n : n + dims] + np.bincount(self.capped, ratio[n + dims : -1], dims)
        matrix = np.diag(own + cost + state.multipliers[-1] * band + bounds) - coupling - np.outer(leans, leans) / rest
        matrix += (ratio[-1] - state.multipliers[-1]) * np.outer(band, band) - np.outer(cost, cost)
        return _System(a, time, diagonal, rest, cost, band, matrix)

    def _direction(self, state: _State, system: _System, aim: Vector) -> _State:
        """Newton's direction towards products changed by `aim`, multipliers and times eliminated."""
        wanted = aim / state.slacks + state.multipliers  # multipliers were the slacks to stay
        ratio = state.multipliers / state.slacks
        over = self._budget_error(state)
        of_y, of_tau = self._gather_rows(wanted[:-1])
        right_y = of_y - system.cost - (wanted[-1] + ratio[-1] * over) * system.band
        right_tau = of_tau - system.time
        right = right_y - system.a.T @ system.times_of(right_tau)
        size = 1 / np.sqrt(np.diag(system.matrix).clip(np.finfo(float).tiny))
        dy = size * np.linalg.solve(system.matrix * size * size[:, None] + _RIDGE * np.eye(len(size)), right * size)
        dtau = system.times_of(right_tau - system.a @ dy)
        slacks = np.append(self._slack_change(dy, dtau), -over - system.band @ dy)
        return _State(dy, dtau, slacks, aim / state.slacks - ratio * slacks)


_BEHIND = 1e-2
"""Least products, as a part of what the conditions are missed by: the one must not vanish before the other."""
_RIDGE = 1e-13
"""Added to a diagonal of ones: nothing where the matrix is sound, and a step where rounding made it singular."""
_FARTHEST = 5.0
"""Longest step of a logarithm: the model of an exponential holds no further."""


def _furthest_step(values: Vector, change: Vector) -> float:
    """How far along `change` positive values stay positive, at most 1."""
    falling = change < 0
    return min(1.0, float((-values[falling] / change[falling]).min())) if falling.any() else 1.0


@dataclass(frozen=True)
class _System:
    """Newton's matrix for y, and what eliminates tau: `(diag(diagonal) - time time')^-1`, without cancellation."""

    a: Vector
    time: Vector
    diagonal: Vector
    rest: float
    cost: Vector
    band: Vector
    matrix: Vector

    def times_of(self, right: Vector) -> Vector:
        first = right / self.diagonal
        result: Vector = first + (self.time / self.diagonal) * float(self.time @ first) / self.rest
        return result
