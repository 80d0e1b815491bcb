"""The solver of bandwidth splits: LIBRA's published optima, conditions of optimality, random rivals, bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from dse.space.split.bandwidth import optimal_split, split_time
from simcore.document.problem import InputError

CASES = json.loads((Path(__file__).parent / "data" / "libra.json").read_text())["cases"]


def value(table, split, compute, objective, price):
    time = split_time(table, split, compute)
    return time if objective == "time" else time * float(price @ split)


@pytest.mark.parametrize("key", CASES)
def test_published_optima_of_libra_are_met(key):
    case = CASES[key]
    table, budget = np.array(case["bytes_per_collective"]), float(key.split("|")[2]) * 1e9
    compute, price = case["compute_ns"] / 1e9, np.array(case["unit_cost"]) / 1e9
    fastest = optimal_split(table, budget, compute)
    best = optimal_split(table, budget, compute, "time_cost", price)
    assert abs(fastest / 1e9 - case["perf"]["bw"]).max() < 0.1
    assert abs(best / 1e9 - case["ppc"]["bw"]).max() < 0.1
    assert value(table, fastest, compute, "time", price) <= case["perf"]["time_ns"] / 1e9 * (1 + 1e-7)
    published = case["ppc"]["time_ns"] / 1e9 * case["ppc"]["cost"]
    assert value(table, best, compute, "time_cost", price) <= published * (1 + 1e-7)


@st.composite
def problems(draw):
    dims, rows = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low, high = draw(st.sampled_from([(6, 9), (3, 13), (8, 8.01)]))
    table = 10 ** generator.uniform(low, high, (rows, dims))
    table[generator.random(table.shape) < draw(st.sampled_from([0, 0.3, 0.8]))] = 0
    budget = 10 ** generator.uniform(9, 13)
    price = 10 ** generator.uniform(-7, -4, dims)
    compute = draw(st.sampled_from([0.0, 1e-3, 1.0, 100.0]))
    lower = upper = None
    if draw(st.booleans()):
        lower = generator.dirichlet(np.ones(dims)) * budget * draw(st.sampled_from([0.1, 0.9, 1.0]))
    if draw(st.booleans()):
        upper = np.maximum(generator.dirichlet(np.ones(dims)) * budget * 2, 0 if lower is None else lower)
        upper *= max(1.0, 1.000001 * budget / upper.sum())
    return table, budget, compute, draw(st.sampled_from(["time", "time_cost"])), price, lower, upper, generator


@settings(max_examples=60, deadline=None)
@given(problems())
def test_no_random_split_is_better_and_all_bounds_hold(problem):
    table, budget, compute, objective, price, lower, upper, generator = problem
    split = optimal_split(table, budget, compute, objective, price, lower, upper)
    assert np.isfinite(split).all()
    assert (split > 0).all()
    assert split.sum() == pytest.approx(budget, rel=1e-9)
    low = np.zeros(len(split)) if lower is None else lower
    high = np.full(len(split), budget) if upper is None else np.minimum(upper, budget)
    assert (split >= low * (1 - 1e-9)).all()
    assert (split <= high * (1 + 1e-9)).all()
    rivals = generator.dirichlet(np.full(len(split), 0.5), 5000) * budget
    near = split * np.exp(generator.normal(0, 10 ** generator.uniform(-6, 0, (5000, 1)), (5000, len(split))))
    rivals = np.vstack([rivals, near / near.sum(axis=1, keepdims=True) * budget])
    rivals = rivals[((rivals >= low) & (rivals <= high) & (rivals > 0)).all(axis=1)]
    best = value(table, split, compute, objective, price)
    with np.errstate(over="ignore"):
        times = compute + (table[None] / rivals[:, None]).max(axis=2).sum(axis=1)
    others = times if objective == "time" else times * (rivals @ price)
    assert best <= others.min(initial=np.inf) * (1 + 1e-7)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_multipliers_prove_the_optimum(problem):
    """At an optimum some weights of the longest dimensions make the gradient the same in all free dimensions."""
    table, budget, compute, objective, price, _, _, _ = problem
    table = table[table.any(axis=1)]
    if not table.any(axis=0).all():
        return  # a dimension without bytes best gets nothing at all
    split = optimal_split(table, budget, compute, objective, price)
    times = table / split
    longest = times.max(axis=1)
    rows, dims = np.nonzero(times >= longest[:, None] * (1 - 1e-6))
    total, cost = compute + longest.sum(), float(price @ split)
    # sum_c lambda_cd m_cd / b_d - nu b_d = slope_d, sum_d lambda_cd = 1; nu = up - down
    slope = np.zeros(len(split)) if objective == "time" else total / cost * price * split
    scale = longest.sum()
    gradient = np.zeros((len(split), len(rows) + 2))
    gradient[dims, np.arange(len(rows))] = times[rows, dims] / scale
    gradient[:, -2], gradient[:, -1] = -split / budget, split / budget
    heaviness = longest / scale  # a collective that takes no time may be split as it likes
    ones = np.zeros((len(table), len(rows) + 2))
    ones[rows, np.arange(len(rows))] = heaviness[rows]
    matrix, right = np.vstack([gradient, ones]), np.concatenate([slope / scale, heaviness])
    size = abs(matrix).max(axis=0)
    assert nnls(matrix / size, right)[1] < 1e-6 * max(1.0, np.linalg.norm(right))


@settings(max_examples=30, deadline=None)
@given(problems(), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_matter(problem, unit, currency):
    table, budget, compute, objective, price, lower, upper, _ = problem
    bounds = [None if bound is None else bound * unit for bound in (lower, upper)]
    split = optimal_split(table, budget, compute, objective, price, lower, upper)
    other = optimal_split(table * unit, budget * unit, compute, objective, price * currency, *bounds)
    here = value(table, split, compute, objective, price)
    assert value(table, other / unit, compute, objective, price) == pytest.approx(here, rel=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_another_method_finds_the_same_optimum(seed):
    """Sequential quadratic programming in the logarithms of bandwidths and times."""
    table = 10 ** np.random.default_rng(seed).uniform(6, 9, (8, 4))
    logs = np.log(table / table.max())
    rows = np.hstack([np.tile(np.eye(4), (8, 1)), np.repeat(np.eye(8), 4, axis=0)])
    start = np.full(4, np.log(0.25))
    found = minimize(
        lambda x: np.exp(x[4:]).sum(),
        np.concatenate([start, (logs - start).max(axis=1)]),
        jac=lambda x: np.concatenate([np.zeros(4), np.exp(x[4:])]),
        constraints=[
            {"type": "ineq", "fun": lambda x: rows @ x - logs.ravel(), "jac": lambda x: rows},
            {"type": "ineq", "fun": lambda x: 1 - np.exp(x[:4]).sum()},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    )
    assert optimal_split(table, 1e12) == pytest.approx(np.exp(found.x[:4]) * 1e12, rel=1e-4)
    assert split_time(table, optimal_split(table, 1e12)) <= found.fun * table.max() / 1e12 * (1 + 1e-7)


def test_one_collective_is_split_in_proportion_to_its_bytes():
    split = optimal_split([[8e13, 1e9, 2e13]], 1e12)
    assert split == pytest.approx(np.array([8e13, 1e9, 2e13]) / (1e14 + 1e9) * 1e12, rel=1e-6)


def test_collectives_of_one_dimension_each_get_square_roots():
    assert optimal_split(np.diag([4e9, 1e9]), 3e9) == pytest.approx([2e9, 1e9], rel=1e-7)


def test_weights_stand_for_repetition():
    table = np.array([[3e9, 1e9, 0], [0, 2e9, 5e9]])
    repeated = optimal_split(np.vstack([table, table[:1], table[:1]]), 1e11)
    assert optimal_split(table, 1e11, weights=[3, 1]) == pytest.approx(repeated, rel=1e-6)


def test_a_single_dimension_gets_all():
    assert optimal_split([[1e9], [0]], 5e9) == pytest.approx([5e9])


def test_without_bytes_the_cheapest_dimension_gets_the_budget():
    split = optimal_split([[0, 0, 0]], 1e9, 1.0, "time_cost", [3, 1, 2], upper=[1e9, 6e8, 1e9])
    assert split == pytest.approx([0, 6e8, 4e8], abs=1)
    assert optimal_split(np.zeros((0, 2)), 1e9) == pytest.approx([5e8, 5e8])


def test_a_cheap_dimension_at_its_upper_bound_leaves_the_rest_to_the_next():
    split = optimal_split([[1e6, 1e6, 0]], 1e9, 100.0, "time_cost", [9, 1, 2], upper=[1e9, 1e8, 1e9])
    assert split[1] == pytest.approx(1e8)
    assert split[2] == pytest.approx(9e8, rel=1e-2)


BAD = {
    "shape": ({"bytes_per_collective": [1.0, 2.0]}, "bytes_per_collective"),
    "ragged": ({"bytes_per_collective": [[1.0], [1.0, 2.0]]}, "bytes_per_collective"),
    "negative bytes": ({"bytes_per_collective": [[1.0, -2.0]]}, "bytes_per_collective"),
    "not a number": ({"bytes_per_collective": [[1.0, float("nan")]]}, "bytes_per_collective"),
    "no budget": ({"budget": 0.0}, "budget"),
    "negative compute": ({"compute_s": -1.0}, "compute_s"),
    "objective": ({"objective": "cost"}, "objective"),
    "no price": ({"objective": "time_cost"}, "unit_cost"),
    "prices of other dimensions": ({"unit_cost": [1.0, 2.0, 3.0]}, "unit_cost"),
    "negative price": ({"unit_cost": [1.0, -2.0]}, "unit_cost"),
    "lower above budget": ({"lower": 6e8}, "budget"),
    "upper below budget": ({"upper": [4e8, 5e8]}, "budget"),
    "crossed bounds": ({"lower": [5e8, 0], "upper": [4e8, 1e9]}, "upper"),
    "weights": ({"weights": [1.0, 2.0]}, "weights"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    change, place = BAD[name]
    with pytest.raises(InputError) as error:
        optimal_split(**{"bytes_per_collective": [[1e9, 2e9]], "budget": 1e9, **change})
    assert [problem.path for problem in error.value.problems] == [(place,)]


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(InputError) as error:
        optimal_split([[1.0, -1.0]], -1.0, -1.0)
    assert len(error.value.problems) == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"budget": "500 GB/s"}, "budget: expected a number in SI units, got '500 GB/s'"),
        ({"lower": "1 GB/s"}, r"lower: expected numbers of shape \[2\] in SI units, got '1 GB/s'"),
        ({"lower": [1, 2, 3]}, r"lower: expected numbers of shape \[2\], got shape \[3\]"),
        ({"budget": 1e-300}, "budget: expected numbers from 1e-40 to 1e.40, or 0, got 1e-300"),
        ({"compute_s": 1e300}, "compute_s: expected numbers from 1e-40"),
        ({"weights": [1e308, 1.0]}, "weights: expected numbers from 1e-40"),
        ({"objective": "time_cost", "unit_cost": [0, 0]}, "unit_cost: expected a price above 0"),
    ],
)
def test_what_no_cluster_has_is_refused_by_name(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        optimal_split([[1e9, 2e8], [1e8, 3e9]], **{"budget": 5e11, **changed})


def test_prices_that_are_not_asked_for_do_not_matter() -> None:
    table = [[1e9, 2e8], [1e8, 3e9]]
    assert (optimal_split(table, 5e11, unit_cost=[0, 0]) == optimal_split(table, 5e11)).all()
