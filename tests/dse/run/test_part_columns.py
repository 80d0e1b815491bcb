"""Columns of a study in parts are those of its whole trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_spaces import cheap, tiny

import dse
from dse.evaluate.cells import Cells
from dse.evaluate.trials import TEXTS, Columns
from dse.report.table_stream import write_trials
from dse.report.tables import csv_text, make_frame, trials_table
from dse.run.document import open_study
from dse.run.part_columns import PartColumns
from dse.run.record import load_record
from dse.study import journal
from dse.study.journal import open_journal
from simcore.design.design import Design
from simcore.metrics import METRICS
from simcore.result import Result


def engine(design: Design) -> Result:
    if design.parallelism.tensor == 4:
        raise RuntimeError(f"no answer with {design.parallelism.pipeline} stages")
    return cheap(design)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty trials: feasible, infeasible, cut and failed ones, in two parts and twenty lines."""
    monkeypatch.setattr(journal, "TRIALS_A_PART", 20)
    asked = tiny(constraints=["fits", "iteration_time <= 1.5", "parallelism.pipeline <= 4"])
    asked["parallelism"]["flash_attention"] = {"choice": [False, True]}
    dse.optimize(asked, trials=60, sampler="random", engine=f"{__name__}:engine", folder=tmp_path)
    return tmp_path


def same(one: Columns, other: Columns) -> None:
    assert (one.params, one.violations) == (other.params, other.violations)
    for name in TEXTS:
        texts = [
            [None if code < 0 else columns.texts[name].texts[code] for code in columns.texts[name].codes]
            for columns in (one, other)
        ]
        assert texts[0] == texts[1], name
    assert one.values.keys() == other.values.keys()
    for name in one.values:
        np.testing.assert_array_equal(one.values[name], other.values[name])
    for name in ("number", "worst", "job", "simulated", "designed", "possible"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_columns_of_a_part_are_those_of_its_trials(folder: Path) -> None:
    study = open_study(folder)
    objectives = study.space.objectives
    kept = open_journal(folder, objectives)
    assert len(kept.parts) == 2
    states = set()
    for owner, part in enumerate(kept.parts):
        found = PartColumns(part, objectives)
        assert found.has_columns()
        trials = [stored.record() for stored in kept.of_part(owner)]
        states |= {trial.state for trial in trials}
        same(found.columns(), Columns.of(trials, [objective.name for objective in objectives]))
    assert states == {"feasible", "infeasible", "cut", "failed"}


def test_columns_of_a_study_are_those_of_its_trials(folder: Path) -> None:
    record = load_record(folder, bounded=False)
    held = tuple(record.trials)
    assert record.trials.params == tuple(dict.fromkeys(name for trial in held for name in trial.params))
    assert record.trials.numbers.tolist() == [trial.number for trial in held] == [*range(60)]
    design = dict(record.front[0].design or {})
    alike = [trial for trial in held if trial.design and trial.design["parallelism"] == design["parallelism"]]
    assert tuple(record.trials.with_job(design)) == tuple(alike)


def test_tables_made_of_columns_are_those_of_whole_trials(folder: Path) -> None:
    record = load_record(folder, bounded=False)
    table, csv, parquet = trials_table(record), folder / "made.csv", folder / "made.parquet"
    write_trials(record, csv, parquet)
    assert csv.read_text(encoding="utf-8") == csv_text(table)
    pd.testing.assert_frame_equal(pd.read_parquet(parquet), make_frame(table))


def test_tables_of_a_part_without_metrics_are_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = csv_text(trials_table(load_record(folder, bounded=False)))
    monkeypatch.setattr("dse.study.derived.metric_names", lambda: ("a metric of later",))
    record = load_record(folder, bounded=False)
    write_trials(record, folder / "made.csv", folder / "made.parquet")
    assert (folder / "made.csv").read_text(encoding="utf-8") == expected


def test_cells_of_any_rows_are_those_of_their_trials(folder: Path) -> None:
    trials = load_record(folder, bounded=False).trials
    for rows in ([59, 3, 21, 20, 19, 45], [7], [*range(10, 35)], [50, 41]):
        some = trials.select(np.array(rows))
        found, expected = some.cells(), Cells.of(some.whole)
        for one, other in ((found.metrics, expected.metrics), (found.violations, expected.violations)):
            assert set(other) - {name for name, metric in METRICS.items() if metric.costly} <= set(one)
            for name, column in one.items():
                np.testing.assert_array_equal(column, other.get(name, np.full(len(rows), np.nan)))
        for name, column in found.params.items():
            assert column.tolist() == expected.params[name].tolist()
