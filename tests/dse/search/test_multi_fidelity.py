"""A slow engine is searched through the fast one, and what it adds is learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_spaces import search, space, tiny

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.fast_view import look_by_simulation, time_shares
from dse.evaluate.pareto import front_mask
from dse.search import make_sampler
from dse.search.guided.correction import fit_correction
from dse.search.guided.view import Seen
from dse.space.draw import RandomDraw
from simcore.bounds.estimate import estimate
from simcore.check.load import design_from, parse_design
from simcore.design.design import Design
from simcore.metrics import METRICS
from simcore.result import Result
from simcore.simulate import simulate


def waiting(design: Design) -> Result:
    """An engine in which communication takes three times as long between tensor-parallel NPUs, and jitter costs 5 %."""
    result = simulate(design, "fast")
    more = 2.0 * result.exposed_communication_s.tensor + 0.05 * result.compute_s
    return replace(result, iteration_time_s=result.iteration_time_s + more)


def seen(generator: np.random.Generator, count: int) -> tuple[Seen, np.ndarray[Any, Any]]:
    """Designs whose ratio is 1.1 times e to half of one share; the other share and the parameters say nothing."""
    shares, viewed = generator.random((count, 2)), generator.normal(size=(count, 1))
    return Seen(generator.random((count, 3)), viewed, shares, viewed), viewed + math.log(1.1) + 0.5 * shares[:, :1]


def test_a_ratio_that_goes_with_a_share_is_learned_from_a_dozen_trials() -> None:
    generator = np.random.default_rng(0)
    told, found = seen(generator, 12)
    new, true = seen(generator, 200)
    mean, deviation = fit_correction(told, found).predict(new)
    assert np.abs(new.viewed - true).mean() > 0.3
    assert np.abs(mean - true).mean() < 0.02
    assert (np.abs(mean - true) <= 3.0 * deviation + 1e-3).mean() > 0.9


def test_of_a_constant_ratio_nothing_is_left_to_learn() -> None:
    told, _ = seen(np.random.default_rng(0), 5)
    new, _ = seen(np.random.default_rng(1), 50)
    mean, deviation = fit_correction(told, told.viewed + 0.7).predict(new)
    assert np.allclose(mean, new.viewed + 0.7)
    assert deviation.max() < 1e-3


def test_candidates_are_seen_as_the_fast_engine_sees_them() -> None:
    given = space()
    design, _ = parse_design(given.fill(RandomDraw(np.random.default_rng(0))).document)
    assert design is not None
    found, shares = look_by_simulation(design, METRICS)
    result = simulate(design, "fast")
    assert found["iteration_time"] == result.iteration_time_s
    assert shares == time_shares(design, result)
    assert shares["compute"] == result.compute_s / result.iteration_time_s
    assert shares["node switch"] == result.network[0].busy_s / result.iteration_time_s


def test_what_the_fast_engine_refuses_is_estimated() -> None:
    collective = {"workload": {"collective": "all_reduce", "size": "1 MiB"}}
    cluster = tiny()["cluster"] | {"npu": "a100-80gb", "switching": "store_and_forward"}
    cluster["dimensions"] = [d | {"bandwidth": "100 GB/s"} for d in cluster["dimensions"]]
    design = design_from({**collective, "cluster": cluster})
    assert look_by_simulation(design, METRICS) == (estimate(design), {})


def front_of(values: list[Mapping[str, float]]) -> set[tuple[float, ...]]:
    rows = np.array([list(row.values()) for row in values])
    return set(map(tuple, rows[front_mask(rows)].tolist()))


def test_the_front_of_a_slow_engine_is_found_with_a_quarter_of_the_space(tmp_path: Path) -> None:
    given = space()
    judge = Evaluator(given.objectives, given.constraints, waiting)
    whole = [judge(filled.document).values for filled in given.enumerate()]
    _, outcomes = search(given, tmp_path, "multi-fidelity", 30, engine=waiting)
    assert front_of([outcome.values for outcome in outcomes]) == front_of(whole)


@pytest.mark.parametrize("constraints", [["fits"], ["fits", "iteration_time <= 20 ms"]])
def test_the_same_seed_gives_the_same_trials(tmp_path: Path, constraints: list[str]) -> None:
    given = space(constraints=constraints)
    runs = [search(given, tmp_path / str(number), "multi-fidelity", 24, engine=waiting)[1] for number in range(2)]
    assert [outcome.key for outcome in runs[0]] == [outcome.key for outcome in runs[1]]


def test_batches_grow_with_what_is_known() -> None:
    given = space()
    sampler = make_sampler("multi-fidelity", given, 0)
    judge = Evaluator(given.objectives, given.constraints, waiting)
    sizes = []
    for _ in range(6):
        batch = [proposal for _ in range(sampler.next_batch(32)) if (proposal := sampler.ask()) is not None]
        sizes.append(len(batch))
        for proposal in batch:
            outcome = judge(proposal.filled.document)
            sampler.tell(proposal, tuple(outcome.values.values()), outcome.violations)
    assert sizes == [4, 2, 3, 4, 6, 9]
