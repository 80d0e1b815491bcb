"""What is read of a journal late is what was read of it first, whatever has become of it meanwhile."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from tiny_spaces import space

from dse.report.tables import csv_text, trials_table
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.study.journal import JOURNAL, kept_trials, resumed_trials
from simcore.document.problem import InputError, InputWarning

OBJECTIVES = space().objectives


def run(folder: Path, trials: int, resume: bool = False) -> None:
    optimize(space(), Settings("random", trials, 0), folder, resume)


def lines_of(folder: Path) -> list[bytes]:
    return (folder / JOURNAL).read_bytes().splitlines(keepends=True)


def test_a_record_keeps_its_trials_while_its_journal_is_mended_and_grows(tmp_path: Path) -> None:
    run(tmp_path, 12)
    lines = lines_of(tmp_path)
    lines[4] = lines[4][:100] + b"\n"
    lines[-1] = lines[-1][:-30]
    (tmp_path / JOURNAL).write_bytes(b"".join(lines))
    with pytest.warns(InputWarning, match="line 5:"):
        expected = csv_text(trials_table(load_record(tmp_path, bounded=False)))
    with pytest.warns(InputWarning, match="line 5:"):
        record = load_record(tmp_path, bounded=False)  # nothing but columns is read yet
    before = (tmp_path / JOURNAL).stat().st_ino
    with pytest.warns(InputWarning, match="line 5:"):
        run(tmp_path, 16, resume=True)
    assert (tmp_path / JOURNAL).stat().st_ino != before
    assert csv_text(trials_table(record)) == expected
    assert len(load_record(tmp_path, bounded=False).trials) == 16


def test_trials_that_are_appended_are_none_of_a_record_that_was_there(tmp_path: Path) -> None:
    run(tmp_path, 8)
    record, again = (load_record(tmp_path, bounded=False) for _ in range(2))
    held = tuple(again.trials)
    run(tmp_path, 12, resume=True)
    assert tuple(record.trials) == held


def test_a_mended_journal_is_read_where_its_lines_are_now(tmp_path: Path) -> None:
    run(tmp_path, 8)
    lines = lines_of(tmp_path)
    lines[3] = b"{}\n"
    (tmp_path / JOURNAL).write_bytes(b"".join(lines))
    with pytest.warns(InputWarning, match="line 4:"):
        kept = resumed_trials(tmp_path, "tiny", OBJECTIVES)
    assert [trial.number for trial in kept] == [0, 2, 3, 4, 5, 6, 7]
    assert all(kept.get(trial.outcome.key) == trial.outcome for trial in kept)


def test_a_journal_that_somebody_writes_over_is_no_other_study(tmp_path: Path) -> None:
    run(tmp_path, 8)
    record, kept = load_record(tmp_path, bounded=False), kept_trials(tmp_path, OBJECTIVES)
    head, trials = lines_of(tmp_path)[:2], lines_of(tmp_path)[2:]
    (tmp_path / JOURNAL).write_bytes(b"".join([*head, *reversed(trials)]))
    with pytest.raises(InputError, match="expected trial 0 where it was at first, got something else") as caught:
        tuple(record.trials)
    assert str(tmp_path / JOURNAL) in str(caught.value)
    with pytest.raises(InputError, match="expected trial 3 where it was at first"):
        kept.load(np.array([3]))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs a list of open files")
def test_a_record_that_is_gone_has_no_file_open(tmp_path: Path) -> None:
    run(tmp_path, 4)

    def count() -> int:
        gc.collect()
        return sum(os.path.realpath(link) == str(tmp_path / JOURNAL) for link in Path("/proc/self/fd").iterdir())

    record = load_record(tmp_path, bounded=False)
    assert (len(record.front) > 0, count()) == (True, 1)
    del record
    assert count() == 0
