"""A trial's line is that which Optuna's own storage writes of it, but for times and the writer's name."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import BaseJournalBackend
from optuna.trial import TrialState, create_trial

from dse.evaluate.evaluate import Outcome
from dse.space.objective import Objective
from dse.study.journal import JOURNAL, Journal, read_trials
from dse.study.optuna_file import CREATE_TRIAL, unseal
from dse.study.stored import StoredTrial

TIME = Objective("iteration_time", "minimize", "s")
COST = Objective("cost.total", "minimize", "$")


class Held(BaseJournalBackend):
    """Keeps what is appended."""

    def __init__(self) -> None:
        self.logs: list[dict[str, Any]] = []

    def read_logs(self, log_number_from: int) -> Any:
        return json.loads(json.dumps(self.logs[log_number_from:]))

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        self.logs += logs


def written_by_optuna(objectives: tuple[Objective, ...], trial: StoredTrial) -> list[str]:
    backend, outcome = Held(), trial.outcome
    study = optuna.create_study(
        storage=JournalStorage(backend), study_name="s", directions=[o.direction for o in objectives]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names([objective.name for objective in objectives])
    names = ("key", "state", "design", "metrics", "cut_by", "error")
    attributes = {"number": trial.number, "params": trial.params, **{name: getattr(outcome, name) for name in names}}
    failed = outcome.state == "failed"
    study.add_trial(
        create_trial(
            state=TrialState.FAIL if failed else TrialState.COMPLETE,
            values=None if failed else [outcome.values[o.name] for o in objectives],
            user_attrs=attributes | ({} if trial.draws is None else {"draws": trial.draws}),
            constraints=outcome.violations,
        )
    )
    return [json.dumps(log, separators=(",", ":")) for log in backend.logs]


OUTCOMES = {
    "feasible": Outcome("k", "feasible", {"iteration_time": 0.1, "cost.total": 7}, {"fits": -1}, {"a": [1, 2.5]}),
    "failed": Outcome("k", "failed", {}, {}, {"a": "é"}, error="why"),
    "cut": Outcome(
        "k", "cut", {"iteration_time": 1e-9, "cost.total": float("inf")}, {"valid": 2.0}, {}, cut_by="valid"
    ),
}


def same(line: str) -> str:
    dated = re.sub(r'"(datetime_\w+)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"', r'"\1":"now"', line)
    return re.sub(r'"worker_id":"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-\d+"', "", dated)


@pytest.mark.parametrize("objectives", [(TIME,), (TIME, COST)])
@pytest.mark.parametrize("state", OUTCOMES)
@pytest.mark.parametrize("draws", [None, {"x": 1}])
def test_a_journal_has_the_lines_that_optuna_writes(
    tmp_path: Path, objectives: tuple[Objective, ...], state: str, draws: dict[str, Any] | None
) -> None:
    outcome = OUTCOMES[state]
    trial = StoredTrial(3, {"p": "x"}, outcome, draws)
    journal = Journal(tmp_path, "s", objectives)
    journal.append(trial.number, trial.params, outcome, draws)
    journal.close()
    lines = [unseal(line).decode() for line in (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)]
    assert json.loads(lines[-1])["op_code"] == CREATE_TRIAL
    assert [same(line) for line in lines] == [same(line) for line in written_by_optuna(objectives, trial)]


def test_what_is_no_number_is_not_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "s", (TIME,))
    with pytest.raises(ValueError, match="trial 0: expected numbers"):
        journal.append(0, {}, Outcome("k", "feasible", {"iteration_time": float("nan")}, {}, {}))
    journal.close()
    assert not [*read_trials(tmp_path, (TIME,))]


def test_a_journal_that_is_opened_again_says_once_what_its_study_is(tmp_path: Path) -> None:
    for _ in range(3):
        Journal(tmp_path, "s", (TIME, COST)).close()
    assert len((tmp_path / JOURNAL).read_bytes().splitlines()) == 2
