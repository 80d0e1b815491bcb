"""One suite for every executor: outcomes come back in order, the same whoever evaluates."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import always_broken, broken_for_tensor_2, cheap, search, space

from dse.evaluate.evaluate import Evaluator
from dse.execute import Executor, Where, make_executor
from dse.execute.serial import Serial
from simcore.design.design import Design
from simcore.result import Result

SPACE = space()
DOCUMENTS = [filled.document for filled in islice(SPACE.enumerate(), 0, None, 5)]


def evaluator(engine: Any) -> Evaluator:
    return Evaluator(SPACE.objectives, SPACE.constraints, engine)


WHERE = {
    "serial": Where(jobs=1),
    "processes": Where(jobs=2),
    "processes with a time limit": Where(jobs=2, design_timeout=600.0),
    # Ray's own suite is in tests/ray, on a cluster.
}


@pytest.fixture(params=WHERE.values(), ids=list(WHERE))
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    made = make_executor(evaluator(broken_for_tensor_2), where=request.param)
    yield made
    made.close()


def test_outcomes_come_in_the_order_of_the_documents_batch_after_batch(executor: Executor) -> None:
    judge = evaluator(broken_for_tensor_2)
    expected = [judge(document) for document in DOCUMENTS]
    assert list(executor.map(DOCUMENTS)) == expected
    assert list(executor.map([])) == []
    assert list(executor.map(DOCUMENTS[:3])) == expected[:3]


def test_one_job_runs_in_this_process() -> None:
    assert isinstance(make_executor(evaluator(cheap), 1), Serial)


def kills_its_process_for_tensor_2(design: Design) -> Result:
    if design.parallelism.tensor == 2:
        os._exit(1)
    return cheap(design)


def kills_its_process_once(design: Design) -> Result:
    mark = Path(os.environ["DSE_TEST_MARK"])
    if design.parallelism.tensor == 2 and not mark.exists():
        mark.touch()
        os._exit(1)
    return cheap(design)


def test_a_worker_that_dies_once_costs_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSE_TEST_MARK", str(tmp_path / "died"))
    executor = make_executor(evaluator(kills_its_process_once), 2)
    try:
        assert list(executor.map(DOCUMENTS)) == [evaluator(cheap)(document) for document in DOCUMENTS]
    finally:
        executor.close()
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("sampler", ["nsga2", "tpe"])
def test_a_study_does_not_depend_on_the_number_of_workers(tmp_path: Path, sampler: str) -> None:
    one = search(SPACE, tmp_path / "1", sampler, 40, engine=broken_for_tensor_2, jobs=1)
    two = search(SPACE, tmp_path / "2", sampler, 40, engine=broken_for_tensor_2, jobs=2)
    assert one == two


def test_failed_evaluations_in_workers_never_block_a_study(tmp_path: Path) -> None:
    ended, outcomes = search(SPACE, tmp_path, "random", 20, engine=always_broken, jobs=2)
    assert ended == "trials"
    assert {outcome.state for outcome in outcomes} == {"failed"}


def hangs_for_tensor_2(design: Design) -> Result:
    if design.parallelism.tensor == 2:
        time.sleep(1000)
    return cheap(design)


@pytest.mark.parametrize("engine", [hangs_for_tensor_2, kills_its_process_for_tensor_2])
def test_with_a_time_limit_what_hangs_or_crashes_is_a_failed_outcome_and_the_rest_is_as_ever(engine: Any) -> None:
    # Long enough for a new process on a busy machine to import all it needs; the two tries of what hangs take it twice.
    executor = make_executor(evaluator(engine), where=Where(jobs=2, design_timeout=8.0, start_timeout=600.0))
    suspects = [document for document in DOCUMENTS if document["parallelism"]["tensor"] == 2]
    documents = [*DOCUMENTS[:2], suspects[0], *DOCUMENTS[2:4]]
    try:
        outcomes = list(executor.map(documents))
    finally:
        executor.close()
    judge = evaluator(cheap)
    for document, outcome in zip(documents, outcomes, strict=True):
        if document["parallelism"]["tensor"] == 2:
            assert outcome.state == "failed"
            assert "tried 2 times" in str(outcome.error)
        else:
            assert outcome == judge(document)
    assert [outcome.state for outcome in outcomes].count("failed") == 1
