"""Solved splits: `{split: …, solve: true}`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_spaces import search, space, tiny

from dse.bandwidth import even_split
from dse.evaluate import Evaluator
from dse.hole import SolvedSplit
from dse.solve import MOST_SIMULATIONS, solved_shares, with_bandwidths
from dse.space import Space
from simcore.load import parse_design
from simcore.problem import InputError
from simcore.quantity import parse
from simcore.simulate import simulate


def split(solve: bool, **changes: Any) -> Space:
    switch = {"topology": "switch", "latency": "1 us"}
    cluster = {
        "npu": "a100-80gb",
        "bandwidth": {"split": "120 GB/s", "step": "10 GB/s", "solve": solve},
        "dimensions": [{**switch, "size": 4}, {**switch, "size": 2, "tier": "pod"}],
    }
    parallelism = {"degrees": {"product": 8, "of": ["tensor", "data"]}, "zero": {"choice": [0, 1]}}
    workload = {**tiny()["workload"], "global_batch": 64}
    return space(cluster=cluster, parallelism=parallelism, workload=workload, **changes)


def shares(document: Any) -> list[float]:
    return [float(d["bandwidth"].split()[0]) for d in document["cluster"]["dimensions"]]


def test_every_design_gets_shares_about_as_good_as_the_best_of_all_steps() -> None:
    for goal in ({"minimize": ["iteration_time"]}, {"maximize": ["perf_per_cost"]}):
        best: dict[tuple[Any, ...], float] = {}
        for solve in (False, True):
            given = split(solve, objectives=goal)
            judge = Evaluator(given.objectives, given.constraints)
            (objective,) = given.objectives
            for filled in given.enumerate():
                outcome = judge(filled.document)
                parallel = filled.document["parallelism"]
                value = objective.sign * outcome.values[objective.name]
                key = (parallel["tensor"], parallel["zero"])
                if solve:
                    assert sum(shares(filled.document)) == pytest.approx(120)
                    assert min(shares(filled.document)) >= 10
                    assert value <= best[key] + 0.02 * abs(best[key])
                else:
                    best[key] = min(best.get(key, np.inf), value)


def test_shares_are_never_worse_than_equal_ones() -> None:
    given = split(True, objectives={"minimize": ["iteration_time"]})
    for filled in given.enumerate():
        design, _ = parse_design(filled.document)
        assert design is not None
        equal = simulate(with_bandwidths(design, (0, 1), (60e9, 60e9)))
        assert simulate(design).iteration_time_s <= equal.iteration_time_s


def test_shares_are_solved_where_they_depend_on_the_size_of_messages() -> None:
    given = split(True, objectives={"minimize": ["iteration_time"]})
    filled = next(iter(given.enumerate()))
    for each in filled.document["cluster"]["dimensions"]:
        each |= {"bandwidth": "60 GB/s", "efficiency": {"16 KB": 0.3, "4 MB": 0.8}}
    solved = solved_shares(SolvedSplit(dimensions=(0, 1), budget="120 GB/s", least=10e9, goal="time"), filled.document)
    design, _ = parse_design(filled.document)
    assert design is not None
    better = with_bandwidths(design, (0, 1), [parse(share, "bandwidth") for share in solved])
    assert simulate(better).iteration_time_s < simulate(design).iteration_time_s


def test_time_and_price_together_leave_the_choice_to_the_search() -> None:
    assert split(True, objectives={"minimize": ["iteration_time"]}).count() == 8
    assert split(True, objectives={"maximize": ["perf_per_cost"]}).count() == 8
    both = split(True)
    assert both.count() == 16
    assert {filled.params["cluster.bandwidth.solve"] for filled in both.enumerate()} == {"time", "time_cost"}


def test_the_dimensions_with_a_bandwidth_of_their_own_keep_it() -> None:
    document = split(True).source["cluster"]
    document["dimensions"][1]["bandwidth"] = "30 GB/s"
    document["dimensions"].append({"topology": "ring", "size": 2, "latency": "1 us"})
    parallelism = {"degrees": {"product": 16, "of": ["tensor", "data"]}}
    given = space(cluster=document, parallelism=parallelism, system={"chunks": 4})
    for filled in given.enumerate():
        first, own, last = shares(filled.document)
        assert own == 30
        assert first + last == pytest.approx(120)


def test_shares_of_a_collective_alone_fill_all_dimensions_alike() -> None:
    source = split(True).source
    document = {"workload": {"collective": "all_reduce", "size": "1 GB"}, "cluster": source["cluster"]}
    filled = next(space({**document, "objectives": {"minimize": ["iteration_time"]}}).enumerate())
    inner, outer = shares(filled.document)
    assert inner / outer == pytest.approx(6, rel=0.1)  # 3/4 of the buffer inside, 1/2 of a quarter outside


def test_simulations_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr("dse.solve.simulate", lambda design: calls.append(1) or simulate(design))
    filled = next(split(True).enumerate())
    assert len(calls) <= MOST_SIMULATIONS + 1
    (solved,) = filled.solved
    assert solved_shares(solved, filled.document) == [d["bandwidth"] for d in filled.document["cluster"]["dimensions"]]


@pytest.mark.parametrize("sampler", ["random", "nsga2", "exhaustive", "exact"])
def test_every_sampler_searches_a_space_with_solved_shares(tmp_path: Any, sampler: str) -> None:
    _, outcomes = search(split(True), tmp_path, sampler, 12)
    assert any(outcome.state == "feasible" for outcome in outcomes)


def test_an_expression_cannot_look_at_what_is_solved_from_it() -> None:
    with pytest.raises(InputError, match="without solved bandwidths"):
        split(True, system={"chunks": {"expr": "cluster.dimensions[0].bandwidth // 1e9"}})


def test_solve_is_true_or_false() -> None:
    with pytest.raises(InputError, match="solve: true or false"):
        split("yes")  # type: ignore[arg-type]


def limited(**limits: Any) -> Space:
    document = split(True).source
    document["cluster"]["bandwidth"] |= limits
    return space({**document, "objectives": {"minimize": ["iteration_time"]}})


@pytest.mark.parametrize(
    ("limits", "least", "most"),
    [
        ({"lower": [None, "50 GB/s"]}, (10, 50), (120, 120)),
        ({"upper": {0: "70 GB/s"}}, (10, 10), (70, 120)),
        ({"lower": 0.3, "upper": [0.6, "100 GB/s"]}, (36, 36), (72, 100)),
        ({"lower": {1: 0.5}, "upper": {1: 0.5}}, (10, 60), (120, 60)),
    ],
)
def test_solved_shares_keep_to_their_limits_and_are_the_best_within_them(
    limits: dict[str, Any], least: tuple[float, ...], most: tuple[float, ...]
) -> None:
    for filled in limited(**limits).enumerate():
        found = shares(filled.document)
        assert sum(found) == pytest.approx(120)
        assert all(low - 1e-6 <= share <= high + 1e-6 for low, share, high in zip(least, found, most, strict=True))
        design, _ = parse_design(filled.document)
        assert design is not None
        time = simulate(design).iteration_time_s
        for first in np.arange(max(least[0], 120 - most[1]), min(most[0], 120 - least[1]) + 1e-9, 2.0):
            other = simulate(with_bandwidths(design, (0, 1), (first * 1e9, (120 - first) * 1e9)))
            assert time <= 1.02 * other.iteration_time_s


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"lower": ["70 GB/s", "60 GB/s"]}, "budget of at least the sum of the lower limits"),
        ({"upper": 0.4}, "budget of at most the sum of the upper limits"),
        ({"lower": {0: "50 GB/s"}, "upper": {0: "40 GB/s"}}, "upper limit of dimension 0 of at least 50 GB/s"),
        ({"lower": {2: "5 GB/s"}}, "dimensions that share the budget"),
        ({"lower": {"inner": "5 GB/s"}}, "by the number of a dimension"),
        ({"lower": "5 s"}, "bandwidth"),
        ({"lower": 3}, "a share from 0 to 1"),
        ({"solve": False, "lower": 0.1}, "solve: true"),
    ],
)
def test_limits_that_no_shares_meet_are_refused_at_the_split(limits: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as told:
        limited(**limits)
    assert all(problem.path[:2] == ("cluster", "bandwidth") for problem in told.value.problems)


@given(
    st.lists(st.tuples(st.floats(0.0, 0.4), st.floats(0.3, 1.0)), min_size=1, max_size=5).filter(
        lambda ends: sum(min(pair) for pair in ends) <= 0.999 and sum(max(pair) for pair in ends) >= 1.001
    )
)
def test_even_shares_fill_the_budget_within_their_limits(ends: list[tuple[float, float]]) -> None:
    lower, upper = np.array([min(pair) for pair in ends]), np.array([max(pair) for pair in ends])
    found = even_split(1.0, lower, upper)
    assert found.sum() == pytest.approx(1.0)
    assert ((found >= lower) & (found <= upper)).all()
    free = found[(found > lower) & (found < upper)]
    assert free.size == 0 or free.max() - free.min() <= 1e-9
