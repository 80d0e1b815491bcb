"""The shares of a bandwidth budget that suit one design: `{split: …, solve: true}`.

The bound of the design's iteration is the largest of several sums of compute and of collectives that each take the
longest of their dimensions' bytes over bandwidth. `dse.space.split.bandwidth` solves each; where several count alike,
shares are moved on by the bound. That is proposed, and the simulator, which knows chunks, order and overlap, has the
last word: it compares the proposed shares, equal ones and some between the two, and from the best of them shares move
between two dimensions at a time as long as a simulation is better, for at most `MOST_SIMULATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.space.constraint import Constraint
from dse.space.fill import FilledDocument
from dse.space.hole import SolvedSplit, Split
from dse.space.screen import ScreenedDesign, is_known_before
from dse.space.split.bandwidth import even_split, optimal_split, split_time
from simcore.bounds.many import Iteration, NetworkFamily, collective_problem
from simcore.check.check import check
from simcore.check.load import parse_sound
from simcore.collective import FLAT_RING
from simcore.cost.linear import unit_price
from simcore.cost.price import cluster_cost
from simcore.design.design import Design
from simcore.document.problem import InputError, Path, Problem, format_path
from simcore.document.quantity import parse_quantity, write_quantity
from simcore.engine.unplayable import find_unplayable
from simcore.memory.plan import program_of
from simcore.simulate import simulate
from simcore.system.chunks import Chunker

Vector = NDArray[np.float64]
LimitVectors = tuple[Vector, Vector]
"""Least and most of each dimension [B/s]."""

MOST_SIMULATIONS = 16
"""Simulations that refine the shares of one design."""
BETWEEN = (0.0, 0.05, 0.2, 0.5)
"""How far on the way from the proposed to equal shares the simulator looks: to the bound, what may overlap is free."""
MOVES = (0.2, 0.05)
"""Parts of a dimension's share that are moved to another."""
FORMS = 4
"""Forms of the bound that the solver is asked for."""
FINE_MOVES = (0.3, 0.1, 0.03, 0.01)
MOST_BOUNDED = 400
"""Moves, and their number, by which the bound of all forms together improves on that."""
_PLACE: Path = ("cluster", "bandwidth", "solve")
_DRAWN = "leave 'solve' out: the shares are then drawn"
GRAIN = 1e6
"""Shares are multiples of this [B/s], the last one excepted."""


def least_share(split: Split) -> float:
    """The least that a dimension gets [B/s]: a step, where shares are solved less what their rounding may take."""
    return max(split.step - 8 * GRAIN, 1.0) if split.solve else split.step


def solve_splits(filled: FilledDocument, constraints: Sequence[Constraint]) -> None:
    """Replaces the equal shares of solved splits by the best ones, once the rest of the document is filled.

    Raises `InputError` where the shares of a design cannot be solved.
    """
    for split in filled.solved:
        try:
            shares = solve_shares(split, filled.document, constraints)
        except InputError:
            raise
        except Exception as error:  # else a design would be evaluated with shares that nobody chose
            drawn = ", ".join(f"{path} {value}" for path, value in filled.params.items())
            found = f"{type(error).__name__}: {error} (with {drawn or 'no holes'})"
            raise InputError([Problem(_PLACE, "designs whose shares can be solved", found, _DRAWN)]) from error
        for i, share in zip(split.dimensions, shares, strict=True):
            filled.document["cluster"]["dimensions"][i]["bandwidth"] = share
            filled.params[format_path(("cluster", "dimensions", i, "bandwidth"))] = share


def solve_shares(split: SolvedSplit, document: Mapping[str, Any], constraints: Sequence[Constraint] = ()) -> list[str]:
    """The shares for a document whose dimensions have equal ones.

    They stay equal in what is never simulated whatever its shares are: in what is no valid design, or breaks one of the
    `constraints` on the job, its memory and its NPUs alone.

    Raises `UnsoundError` for a document of unsound form, `InputError` for a design that the fast engine does not play.
    """
    equal = [document["cluster"]["dimensions"][i]["bandwidth"] for i in split.dimensions]
    design = parse_sound(document)
    if len(equal) == 1 or check(design) or _is_cut(design, constraints):
        return equal
    if problems := unsolvable_problems(design):
        raise InputError(problems)
    total = parse_quantity(split.budget, "bandwidth")
    limits = split.limits

    def simulate_shares(shares: Vector) -> float:
        result = simulate(with_bandwidths(design, split.dimensions, shares))
        return result.iteration_time_s * (result.cost.total if split.goal == "time_cost" else 1.0)

    even = even_split(total, *limits)
    start = [even]
    if _has_bounds(design):  # the simulator alone moves the shares of others
        proposed = _propose_shares(split, design, total)
        start += [_round_shares(proposed + part * (even - proposed), total, limits) for part in BETWEEN]
    now, _, found = min((simulate_shares(shares), number, shares) for number, shares in enumerate(start))
    best = _move_shares(found, now, simulate_shares, MOVES, MOST_SIMULATIONS - len(start), limits, total)
    return [write_quantity(float(share), "bandwidth") for share in best]


def _move_shares(
    best: Vector,
    now: float,
    value: Callable[[Vector], float],
    moves: Sequence[float],
    most: int,
    limits: LimitVectors,
    total: float,
) -> Vector:
    """The best shares that moving parts of one dimension's to another's leads to, in at most `most` evaluations."""
    for part in moves:
        improved = True
        while improved:
            improved = False
            for here, there in permutations(range(len(best)), 2):
                moved = best.copy()
                moved[here] -= part * best[here]
                moved[there] += part * best[here]
                moved = _round_shares(moved, total, limits)
                if not _is_within(moved, limits):
                    continue
                if most == 0:
                    return best
                most -= 1
                if (reached := value(moved)) < now:
                    best, now, improved = moved, reached, True
    return best


def _propose_shares(split: SolvedSplit, design: Design, total: float) -> Vector:
    """The shares that are best by the bounds: the solver's for one form, moved on to where others count as much."""
    dimensions = design.cluster.dimensions
    bandwidth = np.array([dimension.bandwidth for dimension in dimensions])
    chunker = Chunker(design)
    slowed = bandwidth / np.array([chunker.rate(dimension) for dimension in dimensions])
    problems = [(constant, table * slowed) for constant, table in iteration_problems(design)]
    given = np.ones(len(dimensions), bool)
    given[list(split.dimensions)] = False
    whole = total + bandwidth[given].sum()
    cost = cluster_cost(design)
    price = np.array([design.cluster.npus * unit_price(design.cost, dimension) for dimension in dimensions])
    price = price + (cost.total - cost.network) / whole
    lower, upper = bandwidth.copy(), bandwidth.copy()
    lower[~given], upper[~given] = split.limits
    constants, tables = np.array([c for c, _ in problems]), np.array([table for _, table in problems])

    def bound_time(bandwidths: Vector) -> float:
        time = (constants + (tables / bandwidths).max(axis=2).sum(axis=1)).max()
        return float(time * (price @ bandwidths if split.goal == "time_cost" else 1.0))

    found = bandwidth
    for constant, table in sorted(problems, key=lambda problem: -split_time(problem[1], bandwidth, problem[0]))[:FORMS]:
        solved = optimal_split(table, whole, constant, split.goal, price, lower, upper)
        found = min(found, solved, key=bound_time)
    own = list(split.dimensions)

    def time_of_shares(shares: Vector) -> float:
        bandwidths = bandwidth.copy()
        bandwidths[own] = shares
        return bound_time(bandwidths)

    return _move_shares(found[own], bound_time(found), time_of_shares, FINE_MOVES, MOST_BOUNDED, split.limits, total)


def iteration_problems(design: Design) -> list[tuple[float, Vector]]:
    """Constants [s] and bytes `[collectives, dims]`: the largest sum of longest times bounds the design's iteration."""
    family = NetworkFamily.of([design])
    program = program_of(design)
    if program.single is not None:
        return [(0.0, row[None, :]) for row in collective_problem(design, family)]
    return Iteration.of(design, program).problems(family)


def with_bandwidths(design: Design, dimensions: Sequence[int], bandwidths: Sequence[float] | Vector) -> Design:
    """The design with other bandwidths [B/s] in some dimensions."""
    listed = list(design.cluster.dimensions)
    for i, bandwidth in zip(dimensions, bandwidths, strict=True):
        listed[i] = listed[i].model_copy(update={"bandwidth": float(bandwidth)})
    cluster = design.cluster.model_copy(update={"dimensions": tuple(listed)})
    return design.model_copy(update={"cluster": cluster})


def _round_shares(shares: Vector, total: float, limits: LimitVectors) -> Vector:
    """Shares in whole grains, the last one excepted; as they are where that would leave their limits."""
    out = np.maximum(np.round(shares / GRAIN), 1.0) * GRAIN
    out[-1] = total - out[:-1].sum()
    return out if out[-1] > 0 and (_is_within(out, limits) or not _is_within(shares, limits)) else shares


def _is_within(shares: Vector, limits: LimitVectors) -> bool:
    return bool((shares >= limits[0]).all() and (shares <= limits[1]).all())


def unsolvable_problems(design: Design) -> list[Problem]:
    """Why shares of a design cannot be solved: what the fast engine, which compares them, does not play."""
    return [replace(problem, fix=_DRAWN) for problem in find_unplayable(design, "fast")]


def _is_cut(design: Design, constraints: Sequence[Constraint]) -> bool:
    """Whether a valid design breaks a constraint that looks at nothing that its shares change."""
    own = [constraint for constraint in constraints if constraint.of_job and is_known_before(constraint, design)]
    return bool(own) and bool(ScreenedDesign(design, own).broken_constraints)


def _has_bounds(design: Design) -> bool:
    """Whether the bounds of many networks hold for the design: not where nothing is trained, nor for flat rings."""
    program = program_of(design)
    return (program.trained or program.single is not None) and FLAT_RING not in design.algorithms
