"""What was evaluated when a study is interrupted is in its journal, in the order of trials or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import cheap, space

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.execute import Executor
from dse.execute.base import Documents
from dse.execute.serial import Serial
from dse.execute.workers import WorkersError
from dse.search import make_sampler
from dse.study.journal import Journal, read_trials
from dse.study.one_driver import OneDriver
from dse.study.stop import Limits
from dse.study.study import Study

SPACE = space(study={"batch": 10})


class Counting:
    """An evaluator that counts."""

    def __init__(self) -> None:
        self.evaluator = Evaluator(SPACE.objectives, SPACE.constraints, cheap)
        self.count = 0

    def __call__(self, document: Mapping[str, Any]) -> Outcome:
        self.count += 1
        return self.evaluator(document)


class Interrupted(Executor):
    """Is interrupted while the fourth of ten designs is under way, and the sixth and ninth are done."""

    def __init__(self, evaluate: Counting, error: BaseException | None = None) -> None:
        self.evaluate = evaluate
        self.error = error or KeyboardInterrupt()
        self.done: list[Outcome] = []

    def map(self, documents: Documents) -> Iterator[Outcome]:
        taken = [document for _, document in zip(range(10), documents, strict=False) if document is not None]
        yield from (self.evaluate(document) for document in taken[:3])
        self.done = [self.evaluate(taken[5]), self.evaluate(taken[8])]
        raise self.error

    def waiting_outcomes(self) -> list[Outcome]:
        return self.done

    def close(self) -> None:
        pass


def study(folder: Path, executor: Executor, known: dict[str, Outcome]) -> None:
    journal = Journal(folder, SPACE.name, SPACE.objectives)
    try:
        sampler = make_sampler("random", SPACE, 0)
        Study(SPACE, sampler, OneDriver(journal, known)).run(Limits(10), executor)
    finally:
        journal.close()


def test_what_waits_for_slower_designs_is_saved_under_its_number_and_not_evaluated_again(tmp_path: Path) -> None:
    counting = Counting()
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, Interrupted(counting), {})
    saved = list(read_trials(tmp_path, SPACE.objectives))
    assert [trial.number for trial in saved] == [0, 1, 2, 5, 8]
    study(tmp_path, Serial(counting), {trial.outcome.key: trial.outcome for trial in saved})  # type: ignore[arg-type]
    assert counting.count == 10
    (tmp_path / "whole").mkdir()
    study(tmp_path / "whole", Serial(Counting()), {})  # type: ignore[arg-type]
    both = [list(read_trials(folder, SPACE.objectives)) for folder in (tmp_path, tmp_path / "whole")]
    assert both[0] == both[1]


def test_it_is_saved_where_the_executor_gives_up(tmp_path: Path) -> None:
    with pytest.raises(WorkersError, match="no worker"):
        study(tmp_path, Interrupted(Counting(), WorkersError("no worker")), {})
    assert sorted(trial.number for trial in read_trials(tmp_path, SPACE.objectives)) == [0, 1, 2, 5, 8]
