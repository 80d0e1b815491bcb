"""A search that takes long gets workers while it runs, and its outcomes stay what they are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from mock_workers import Judge, MockWorkers, outcome
from tiny_spaces import cheap, search, space

from dse.evaluate.evaluate import Evaluate, Evaluator, Outcome
from dse.execute import Where, growing, make_executor
from dse.execute.growing import Growing
from dse.execute.pool import Pool
from dse.execute.serial import Serial
from simcore.document.problem import InputWarning


class Here:
    """Evaluates in this process, and remembers what."""

    def __init__(self) -> None:
        self.evaluated: list[int] = []

    def __call__(self, document: Mapping[str, Any]) -> Outcome:
        self.evaluated.append(document["n"])
        return outcome(document)


def documents(count: int) -> list[dict[str, Any]]:
    return [{"n": n} for n in range(count)]


def grown(here: Here, workers: MockWorkers, patience: float) -> Growing:
    return Growing(cast("Evaluate", here), lambda: Pool(cast("Evaluator", Judge()), workers, 3), patience)


@pytest.mark.parametrize("seed", range(5))
def test_designs_are_evaluated_here_until_all_workers_are_ready_and_then_there(seed: int) -> None:
    here, workers = Here(), MockWorkers(Random(seed))
    executor = grown(here, workers, 0.0)
    assert [found.key for found in executor.map(documents(200))] == [str(n) for n in range(200)]
    assert 0 < len(here.evaluated) < 100
    assert sorted([*here.evaluated, *workers.evaluated]) == list(range(200))
    assert here.evaluated == list(range(len(here.evaluated)))
    status = executor.status()
    assert status is not None
    assert status.workers == 3
    before = list(here.evaluated)
    assert [found.key for found in executor.map(documents(20))] == [str(n) for n in range(20)]
    assert here.evaluated == before
    executor.close()
    assert workers.closed


def test_a_quick_search_starts_none() -> None:
    here, workers = Here(), MockWorkers(Random(0))
    executor = grown(here, workers, 600.0)
    assert len(list(executor.map([*documents(50), None]))) == 50
    assert here.evaluated == list(range(50))
    assert not workers.place
    assert executor.status() is None
    assert executor.waiting_outcomes() == []


def test_where_none_starts_the_search_goes_on_here_and_says_so() -> None:
    here, workers = Here(), MockWorkers(Random(0))
    workers.unfit = True
    executor = grown(here, workers, 0.0)
    with pytest.warns(InputWarning, match="other files there.*one process"):
        assert len(list(executor.map(documents(30)))) == 30
    assert here.evaluated == list(range(30))
    assert workers.closed


def test_only_the_command_line_lets_a_search_grow_and_only_where_no_number_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluator = Evaluator(space().objectives, (), cheap)
    monkeypatch.setattr(growing, "cores", lambda: 4)
    assert isinstance(make_executor(evaluator, where=Where(grows=True)), Growing)
    assert isinstance(make_executor(evaluator, where=Where()), Serial)
    assert isinstance(make_executor(evaluator, where=Where(jobs=1, grows=True)), Serial)
    monkeypatch.setattr(growing, "cores", lambda: 1)
    assert isinstance(make_executor(evaluator, where=Where(grows=True)), Serial)
    monkeypatch.setattr(growing, "cores", lambda: 64)
    assert growing.workers_here() == growing.MOST_WORKERS


def test_a_study_that_grows_is_the_same_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = search(space(), tmp_path / "alone", "nsga2", 60)
    pools: list[Pool] = []

    def grows(evaluator: Evaluate, jobs: int) -> Growing:
        assert jobs == 1
        return Growing(evaluator, lambda: make_pool(evaluator), 0.0)

    def make_pool(evaluator: Evaluate) -> Pool:
        pool = make_executor(evaluator, 2)
        assert isinstance(pool, Pool)
        while not pool.begin():  # so that the first design is evaluated here, and the others there
            time.sleep(0.01)
        pools.append(pool)
        return pool

    monkeypatch.setattr("tiny_spaces.make_executor", grows)
    assert search(space(), tmp_path / "grown", "nsga2", 60) == alone
    assert len(pools) == 1
