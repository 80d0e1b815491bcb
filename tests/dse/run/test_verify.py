"""The front on the reference engine."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from tiny_spaces import TINY

from dse.cli import main
from dse.run.record import load_record
from dse.run.verify import ranks, verify
from simcore.document.problem import InputError, Problem


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    (folder / "tiny.yaml").write_text(TINY)
    assert main(["optimize", str(folder / "tiny.yaml"), "--trials", "6", "--out", str(folder / "run")]) == 0
    return folder / "run"


def test_every_member_of_the_front_is_the_same_on_both_engines(run_folder: Path) -> None:
    record = load_record(run_folder)
    rows = list(verify(record, seconds=20.0, jobs=1, links=False))
    assert [row.trial for row in rows] == [trial.number for trial in record.front]
    assert all(row.difference == 0 for row in rows)


def test_what_does_not_fit_the_budget_is_reduced_or_left_out_and_says_so(run_folder: Path) -> None:
    for row in verify(load_record(run_folder), seconds=1e-4, jobs=1, links=False):
        assert row.reduced
        assert row.difference in (None, 0)


def test_the_command_prints_a_row_for_each_member(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(run_folder), "--budget", "20", "--jobs", "1"]) == 0
    assert "changes of rank 0" in capsys.readouterr().out


def test_processes_find_the_files_of_a_trace(tmp_path: Path) -> None:
    spaces = Path(__file__).parents[3] / "spaces"
    run = tmp_path / "run"
    assert main(["optimize", str(spaces / "trace.yaml"), "--trials", "4", "--out", str(run)]) == 0
    rows = list(verify(load_record(run, bounded=False), seconds=20.0, jobs=2, links=False))
    assert rows
    assert all(row.difference in (None, pytest.approx(0.0, abs=1e-9)) for row in rows)


def test_an_error_of_input_reaches_another_process_whole() -> None:
    error = InputError([Problem(("a", 1), "one", "two", "three")], "here")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems, again.source) == (str(error), error.problems, error.source)


def test_ranks_count_from_the_least() -> None:
    assert ranks([3.0, 1.0, 2.0]) == [3, 1, 2]
