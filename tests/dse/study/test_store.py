from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_spaces import broken_for_tensor_2, cheap, search, space

from dse.evaluate.evaluate import Outcome
from dse.study.journal import JOURNAL, read_trials
from dse.study.store import STUDY, check_folder, write_study
from simcore.document.problem import InputError
from simcore.document.text import read_document


def stored(folder: Path) -> list[Outcome]:
    return [entry.outcome for entry in read_trials(folder, space().objectives)]


def test_what_is_read_from_a_journal_is_what_was_written(tmp_path: Path) -> None:
    given = space(constraints=["fits", "parallelism.tensor <= 4", "bubble <= 1"])
    _, outcomes = search(given, tmp_path, "random", 60, engine=broken_for_tensor_2)
    assert {outcome.state for outcome in outcomes} == {"feasible", "cut", "failed"}
    assert stored(tmp_path) == outcomes
    assert [entry.number for entry in read_trials(tmp_path, given.objectives)] == list(range(60))


def test_optuna_reads_the_journal_with_values_and_constraints(tmp_path: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    given = space(objectives={"minimize": ["cost.total"], "maximize": ["throughput"]})
    _, outcomes = search(given, tmp_path, "random", 20, engine=broken_for_tensor_2)
    study = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(tmp_path / JOURNAL))))
    assert [direction.name for direction in study.directions] == ["MINIMIZE", "MAXIMIZE"]
    assert study.metric_names == ["cost.total", "throughput"]
    for trial, outcome in zip(study.get_trials(), outcomes, strict=True):
        assert trial.state.name == ("FAIL" if outcome.state == "failed" else "COMPLETE")
        assert (trial.values or []) == list(outcome.values.values())


@pytest.mark.parametrize("cut", [1, 2, 50, 700])
def test_a_torn_last_line_costs_only_its_own_trial(tmp_path: Path, cut: int) -> None:
    _, outcomes = search(space(), tmp_path, "exhaustive", 10)
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert stored(tmp_path) == outcomes[:9]


@pytest.mark.parametrize("keep", [0, 1, 40])
def test_a_journal_torn_in_its_first_line_holds_no_trials(tmp_path: Path, keep: int) -> None:
    search(space(), tmp_path, "exhaustive", 2)
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:keep])
    assert stored(tmp_path) == []


def test_a_journal_of_another_program_is_refused(tmp_path: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    study = optuna.create_study(storage=JournalStorage(JournalFileBackend(str(tmp_path / JOURNAL))))
    study.tell(study.ask(), 1.0)
    with pytest.raises(InputError, match="expected a journal of dse optimize"):
        stored(tmp_path)


def test_a_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a run folder with a journal\.log"):
        stored(tmp_path)


def test_a_journal_holds_no_times_that_its_trials_depend_on(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        search(space(), tmp_path / folder, "nsga2", 30, seed=5, engine=cheap)
    assert stored(tmp_path / "a") == stored(tmp_path / "b")


def test_an_unusable_run_folder_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/run-folder")):
        with pytest.raises(InputError, match="expected a run folder that can be written"):
            check_folder(folder)


def test_a_usable_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


LOOKS_ELSE = (
    *("1e3", "1.5e3", "7e9", "010", "on", "~", "null", "true", "2024-01-01", "0x1F", "1_000", "a: b", "", "µ", "1:30"),
    *("=", ".5", "+1", ".inf", "- x"),
)


@pytest.mark.parametrize("value", LOOKS_ELSE)
def test_text_that_looks_like_something_else_is_text_again_in_study_yaml(tmp_path: Path, value: str) -> None:
    write_study(tmp_path, {"name": value, "space": {value or "empty": [value]}})
    assert read_document(tmp_path / STUDY).data == {"name": value, "space": {value or "empty": [value]}}


@pytest.mark.parametrize("value", [1e-06, 1e22, 0.1, 1.0, -3.5e-9, 10**18, True, None, 12345.678])
def test_numbers_are_the_same_numbers_again_in_study_yaml(tmp_path: Path, value: Any) -> None:
    write_study(tmp_path, {"value": value})
    again = read_document(tmp_path / STUDY).data["value"]
    assert again == value
    assert type(again) is type(value)
    assert yaml.safe_load((tmp_path / STUDY).read_text()) == json.loads(json.dumps({"value": value}))
