"""Solved splits: `{split: …, solve: true}`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_spaces import search, space, tiny

from dse.cli.sample import print_summary
from dse.evaluate.evaluate import Evaluator
from dse.evaluate.record import StudyRecord
from dse.report import words
from dse.report.summary import summarize
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.hole import SolvedSplit
from dse.space.space import Space, space_from
from dse.space.split.bandwidth import even_split
from dse.space.split.solve import MOST_SIMULATIONS, solve_shares, with_bandwidths
from dse.whatif.answers import NOTHING
from simcore.check.load import parse_design
from simcore.document.problem import InputError
from simcore.document.quantity import parse_quantity
from simcore.document.text import Document
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
    """In GB/s."""
    return [parse_quantity(d["bandwidth"], "bandwidth") / 1e9 for d in document["cluster"]["dimensions"]]


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
    solved = solve_shares(SolvedSplit(dimensions=(0, 1), budget="120 GB/s", least=10e9, goal="time"), filled.document)
    design, _ = parse_design(filled.document)
    assert design is not None
    better = with_bandwidths(design, (0, 1), [parse_quantity(share, "bandwidth") for share in solved])
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
    monkeypatch.setattr("dse.space.split.solve.simulate", lambda design: calls.append(1) or simulate(design))
    filled = next(split(True).enumerate())
    assert len(calls) <= MOST_SIMULATIONS + 1
    (solved,) = filled.solved
    assert solve_shares(solved, filled.document) == [d["bandwidth"] for d in filled.document["cluster"]["dimensions"]]


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


def test_a_dimension_whose_traffic_may_overlap_is_not_starved() -> None:
    sizes = (("ring", "package"), ("fully_connected", "node"), ("switch", "pod"))
    dimensions = [{"topology": kind, "size": 4, "latency": "1 us", "tier": tier} for kind, tier in sizes]
    bandwidth = {"split": "500 GB/s", "step": "5 GB/s", "solve": True}
    given = too_large(
        cluster={"npu": "a100-80gb", "bandwidth": bandwidth, "dimensions": dimensions},
        workload={"model": "gpt3-175b", "global_batch": 64},
        parallelism={"tensor": 4},
        system={"chunks": 16},
        objectives={"maximize": ["perf_per_cost"]},
    )
    filled = next(given.enumerate())
    design, _ = parse_design(filled.document)
    assert design is not None
    known = simulate(with_bandwidths(design, (0, 1, 2), (376e9, 102e9, 22e9)))
    assert simulate(design).perf_per_cost >= 0.99 * known.perf_per_cost


def too_large(**changes: Any) -> Space:
    """Two designs that do not fit, of which nothing is asked but their time."""
    switch = {"topology": "switch", "latency": "1 us"}
    cluster = {
        "npu": "a100-80gb",
        "bandwidth": {"split": "30 GB/s", "step": "3 GB/s", "solve": True},
        "dimensions": [{**switch, "size": 4}, {**switch, "size": 2, "tier": "pod"}],
    }
    workload = {**tiny()["workload"], "model": "gpt3-175b", "sequence_length": 256}
    parallelism = {"tensor": {"choice": [4, 8]}}
    given = {"cluster": cluster, "workload": workload, "parallelism": parallelism, "constraints": []}
    return space(**{**given, "objectives": {"minimize": ["iteration_time"]}, **changes})


def test_shares_are_solved_where_a_design_that_does_not_fit_may_be_on_the_front() -> None:
    for filled in too_large().enumerate():
        design, _ = parse_design(filled.document)
        assert design is not None
        assert not simulate(design).fits
        assert max(shares(filled.document)) > 19
        equal = simulate(with_bandwidths(design, (0, 1), (15e9, 15e9))).iteration_time_s
        assert simulate(design).iteration_time_s < 0.95 * equal


def test_shares_of_what_a_constraint_cuts_whatever_they_are_take_no_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr("dse.space.split.solve.simulate", lambda design: calls.append(1) or simulate(design))
    for constraints in (["fits"], ["memory.peak <= 80e9"], ["parallelism.tensor < 4"]):
        given = too_large(constraints=constraints)
        judge = Evaluator(given.objectives, given.constraints)
        assert {judge(filled.document).state for filled in given.enumerate()} == {"cut"}
    assert calls == []
    assert list(too_large(constraints=["iteration_time <= 1e9", "memory.peak >= 0"]).enumerate())
    assert calls


def proved(given: Space, folder: Path, sampler: str) -> StudyRecord:
    optimize(given, Settings(sampler, 100, 0, jobs=1), folder, resume=False)
    return load_record(folder)


@pytest.mark.parametrize("sampler", ["exact", "exhaustive"])
def test_no_proof_says_that_solved_shares_are_the_best_there_are(tmp_path: Path, sampler: str) -> None:
    given = too_large()
    record = proved(given, tmp_path / "run", sampler)
    bound = record.bounds["iteration_time"]
    assert bound is not None
    best = min(trial.values["iteration_time"] for trial in record.feasible_trials)
    drawn = too_large(cluster={**given.source["cluster"], "bandwidth": {"split": "30 GB/s", "step": "1 GB/s"}})
    judge = Evaluator(drawn.objectives, drawn.constraints)
    whole = min(judge(filled.document).values["iteration_time"] for filled in drawn.enumerate())
    assert bound <= min(best, whole)
    assert best <= 1.02 * whole
    assert (record.proof is None) == (sampler == "exhaustive")
    if record.proof is not None:
        assert record.proof["complete"]
        said = words.describe_proof(summarize(record, NOTHING))
        assert said.endswith("this is the whole Pareto front, of designs with the shares that were solved for them.")


def of_clusters(**changes: Any) -> Space:
    """A choice of whole clusters, of which one has shares to solve."""
    one = too_large().source["cluster"]
    other = {**one, "bandwidth": {"split": "60 GB/s", "step": "3 GB/s"}}
    return too_large(cluster={"choice": [one, other]}, **{"parallelism": {"tensor": 8}, **changes})


def test_a_split_in_a_choice_of_whole_clusters_is_solved_for_what_is_wanted(tmp_path: Path) -> None:
    both = of_clusters(objectives={"minimize": ["iteration_time", "cost.total"]})
    goals = [filled.params.get("cluster.bandwidth.solve") for filled in both.enumerate()]
    assert goals == ["time", "time_cost", *[None] * 19]
    assert both.count() == 21
    record = proved(of_clusters(), tmp_path / "run", "exact")
    assert record.proof is not None
    assert record.proof["solved_shares"]
    solved = next(of_clusters().enumerate())
    assert shares(solved.document)[0] > 20
    assert record.proof["points"] == 20


def test_a_split_in_a_choice_of_clusters_for_several_workloads_is_refused() -> None:
    source = of_clusters().source
    workloads = [{"workload": source["workload"]}, {"workload": {**source["workload"], "global_batch": 2}}]
    plain = {key: value for key, value in source.items() if key != "workload"}
    with pytest.raises(InputError, match="one workload to solve a split for"):
        space_from(Document("two", {**plain, "workloads": workloads}, {}), "two")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("stragglers", [{"npu": 1, "slowdown": 2.0}]),
        ("failed_links", [{"dimension": 0, "between": [0, 1]}]),
        ("switching", "store_and_forward"),
    ],
)
def test_shares_of_designs_that_the_solver_cannot_play_are_refused_with_the_space(part: str, value: Any) -> None:
    cluster = {**too_large().source["cluster"], part: value}
    cluster["dimensions"][0]["topology"] = "fully_connected"
    with pytest.raises(InputError, match=rf"cluster\.{part}: .*leave 'solve' out") as told:
        too_large(cluster=cluster)
    assert len(told.value.problems) == 1


@pytest.mark.parametrize("broken", ["simulate", "optimal_split"])
def test_a_design_whose_shares_cannot_be_solved_ends_the_search_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fails(*given: Any) -> Any:
        raise ArithmeticError("no end in sight")

    monkeypatch.setattr(f"dse.space.split.solve.{broken}", fails)
    for sampler in ("exact", "random", "guided"):
        with pytest.raises(InputError, match=r"ArithmeticError: no end in sight \(with .*parallelism\.tensor"):
            search(too_large(), tmp_path / sampler, sampler, 4)


def test_a_flat_ring_has_the_shares_that_simulate_best() -> None:
    given = too_large(
        system={"collective": ["flat_ring", "flat_ring"]},
        cluster={
            **too_large().source["cluster"],
            "dimensions": [
                {"topology": "ring", "size": 4, "latency": "1 us"},
                {"topology": "ring", "size": 2, "latency": "1 us", "tier": "pod"},
            ],
        },
        objectives={"maximize": ["perf_per_cost"]},
    )
    filled = next(given.enumerate())
    design, _ = parse_design(filled.document)
    assert design is not None
    equal = simulate(with_bandwidths(design, (0, 1), (15e9, 15e9)))
    assert simulate(design).perf_per_cost >= equal.perf_per_cost


def test_a_summary_of_a_space_says_what_is_solved_and_solves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.space.split.solve.simulate", lambda design: pytest.fail("simulated"))
    print_summary(too_large())
    assert "  cluster.dimensions[1].bandwidth: solved for each design\n" in capsys.readouterr().out
