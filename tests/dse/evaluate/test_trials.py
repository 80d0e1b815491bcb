"""Columns of all trials say what the trials themselves say, whatever is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from tiny_spaces import cheap, space, tiny

import dse
from dse.evaluate.record import State, StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.report import table_stream
from dse.report.points import best_so_far, groups
from dse.report.summary import summarize
from dse.report.tables import csv_text, make_frame, trials_table
from dse.run.record import load_record
from dse.study.journal import kept_trials, read_trials
from simcore.design.design import Design
from simcore.result import Result


def engine(design: Design) -> Result:
    if design.parallelism.tensor == 4:
        raise RuntimeError(f"no answer with {design.parallelism.pipeline} stages")
    return cheap(design)


def study(folder: Path) -> StudyRecord:
    """Sixty trials: feasible, infeasible, cut and failed ones."""
    asked = tiny(constraints=["fits", "iteration_time <= 1.5", "parallelism.pipeline <= 4"])
    dse.optimize(asked, trials=60, sampler="random", engine=f"{__name__}:engine", folder=folder)
    return load_record(folder, bounded=False)


def test_columns_count_what_the_trials_are(tmp_path: Path) -> None:
    record = study(tmp_path)
    held = tuple(record.trials)
    assert {trial.state for trial in held} == {"feasible", "infeasible", "cut", "failed"}
    for name in ("state", "cut_by", "error"):
        assert record.trials.count(name) == Counter(getattr(trial, name) for trial in held)
    assert record.trials.count_missed() == Counter(name for trial in held for name in trial.missed)
    assert tuple(record.feasible_trials) == tuple(trial for trial in held if trial.state == "feasible")
    assert record.trials.params == tuple(dict.fromkeys(name for trial in held for name in trial.params))
    assert all(record.trials.numbered(trial.number) == trial for trial in held)
    assert record.trials.numbered(len(held)) is None


def test_errors_at_a_place_are_counted_but_for_designs_that_failed() -> None:
    def trial(number: int, state: State, error: str | None) -> TrialRecord:
        return TrialRecord(number, state, {}, {}, {}, None, None, None, error)

    place = "constraints[0]"
    said = [("infeasible", f"{place}: 0 divides"), ("feasible", None), ("failed", f"{place}: 0 divides")]
    said += [("cut", f"memory; {place}: 0 divides"), ("infeasible", "constraints[1]: 0 divides")]
    trials = Trials.of(trial(number, *told) for number, told in enumerate(said))
    assert (trials.count_errors_at(place), trials.count_errors_at("constraints[2]")) == (2, 0)


def test_the_front_is_what_no_feasible_trial_dominates(tmp_path: Path) -> None:
    record = study(tmp_path)
    names = [objective.name for objective in record.objectives]
    points = {trial.number: [trial.values[name] for name in names] for trial in record.feasible_trials}

    def is_beaten(one: list[float]) -> bool:
        return any(all(a <= b for a, b in zip(o, one, strict=True)) and o != one for o in points.values())

    front = sorted((point, number) for number, point in points.items() if not is_beaten(point))
    assert [trial.number for trial in record.front] == [number for _, number in front]


def test_pictures_have_each_trial_once_in_its_kind(tmp_path: Path) -> None:
    record = study(tmp_path)
    shown = groups(record, summarize(record))
    numbers = [trial.number for trials in shown.values() for trial in trials]
    assert sorted(numbers) == [trial.number for trial in record.trials if trial.state != "failed"]
    objective = record.objectives[0]
    best, expected = np.inf, []
    for trial in record.feasible_trials:
        if trial.values[objective.name] < best:
            best = trial.values[objective.name]
            expected.append((trial.number, best))
    assert list(zip(*best_so_far(objective, record.trials), strict=True)) == expected


def test_trials_of_a_job_are_found_whether_its_numbers_are_whole_or_not(tmp_path: Path) -> None:
    record = study(tmp_path)
    design = dict(record.front[0].design or {})
    alike = record.trials.with_job(
        {**design, "parallelism": {k: _as_float(v) for k, v in design["parallelism"].items()}}
    )
    same = [trial for trial in record.trials if trial.design and trial.design["parallelism"] == design["parallelism"]]
    assert tuple(alike) == tuple(same)


def _as_float(value: object) -> object:
    return float(value) if type(value) is int else value


def test_a_trial_out_of_order_or_twice_takes_its_place(tmp_path: Path) -> None:
    record = study(tmp_path)
    held = tuple(record.trials)  # read before its journal is another one
    journal = tmp_path / "journal.log"
    lines = journal.read_bytes().splitlines(keepends=True)
    trials = [line for line in lines if b'"design"' in line]
    others = [line for line in lines if line not in trials]
    journal.write_bytes(b"".join([*others, *reversed(trials), trials[3]]))
    again = load_record(tmp_path, bounded=False)
    assert tuple(again.trials) == held
    assert again.trials.params == record.trials.params


def test_what_was_evaluated_is_found_by_its_key(tmp_path: Path) -> None:
    study(tmp_path)
    objectives = space().objectives
    kept = kept_trials(tmp_path, objectives)
    for stored in read_trials(tmp_path, objectives):
        assert kept.get(stored.outcome.key) == stored.outcome
    assert kept.get("another") is None


def test_tables_written_row_by_row_are_those_of_a_small_study(tmp_path: Path) -> None:
    table = trials_table(study(tmp_path))
    csv, parquet = tmp_path / "streamed.csv", tmp_path / "streamed.parquet"
    table_stream.write_tables(table, csv, parquet)
    assert csv.read_text(encoding="utf-8") == csv_text(table)
    pd.testing.assert_frame_equal(pd.read_parquet(parquet), make_frame(table))


def test_a_record_takes_trials_as_they_are() -> None:
    trials = [TrialRecord(number, "failed", {}, {}, {}, error="why") for number in range(3)]
    assert Trials.of(trials) == tuple(trials)
    assert Trials.of(trials)[1:] == tuple(trials[1:])
    assert not Trials.of([])
