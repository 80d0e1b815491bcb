"""`dse export RUN --optuna FILE`: all trials of a run, as Optuna opens them."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from tiny_spaces import space

from dse.cli import main
from dse.run.drive import optimize
from dse.run.settings import Settings
from dse.study import journal
from dse.study.journal import JOURNAL, read_trials
from dse.study.optuna_file import seal, unseal

OBJECTIVES = space().objectives


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """25 trials, in two parts and five lines."""
    monkeypatch.setattr(journal, "TRIALS_A_PART", 10)
    folder = tmp_path / "run"
    optimize(space(), Settings("random", 25, 0), folder)
    assert len([*folder.glob("*.parquet")]) == 2
    return folder


def opened(path: Path) -> optuna.Study:
    return optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(path))))


def test_optuna_opens_all_trials_of_a_run_in_parts(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run.parent / "trials.log"
    assert main(["export", str(run), "--optuna", str(out), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"file": str(out), "trials": 25}
    study = opened(out)
    assert study.study_name == "tiny"
    assert [direction.name for direction in study.directions] == ["MINIMIZE", "MINIMIZE"]
    expected = [*read_trials(run, OBJECTIVES)]
    for trial, stored in zip(study.get_trials(), expected, strict=True):
        assert (trial.number, trial.user_attrs["number"]) == (stored.number, stored.number)
        assert trial.values == [*stored.outcome.values.values()]
        assert trial.user_attrs["params"] == stored.params
        assert trial.constraints == stored.outcome.violations


def test_the_file_has_the_lines_that_the_journal_had(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "TRIALS_A_PART", 100)
    optimize(space(), Settings("random", 25, 0), tmp_path / "plain")
    for folder in (run, tmp_path / "plain"):
        assert main(["export", str(folder), "--optuna", str(folder / "trials.log")]) == 0
    one, other = ((folder / "trials.log").read_bytes().splitlines() for folder in (run, tmp_path / "plain"))
    assert len(one) == len(other) == 27
    assert (tmp_path / "plain" / JOURNAL).read_bytes().splitlines()[2:] == other[2:]
    assert [json.loads(line)["user_attrs"] for line in one[2:]] == [
        json.loads(line)["user_attrs"] for line in other[2:]
    ]


def test_trials_of_the_second_study_of_a_journal_are_those_of_the_only_one(run: Path) -> None:
    lines = (run / JOURNAL).read_bytes().splitlines(keepends=True)
    moved = [seal(unseal(line).replace(b'"study_id":0', b'"study_id":1')) for line in lines]
    (run / JOURNAL).write_bytes(b"".join(moved))
    assert main(["export", str(run), "--optuna", str(run / "trials.log")]) == 0
    assert len(opened(run / "trials.log").get_trials()) == 25


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["knee"], "TRIAL: expected none with --optuna"),
        (["--out", "x.sh"], "--out: expected none with --optuna"),
        (["--workload", "a"], "--workload: expected none with --optuna"),
    ],
)
def test_what_picks_a_design_is_refused(
    run: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run), *more, "--optuna", str(run / "o.log")]) == 2
    assert message in capsys.readouterr().err
    assert not (run / "o.log").exists()


def test_the_journal_of_the_run_is_not_written_over(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / JOURNAL).read_bytes()
    assert main(["export", str(run), "--optuna", str(run / JOURNAL)]) == 2
    assert "the journal of the run" in capsys.readouterr().err
    assert (run / JOURNAL).read_bytes() == before
    assert main(["export", str(run / "none"), "--optuna", str(run / "o.log")]) == 2
    assert main(["export", str(run), "--optuna", str(run / "no" / "o.log")]) == 2
    assert not (run / "o.log").exists()
