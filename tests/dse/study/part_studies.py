"""Studies whose journals have parts of a few trials, for the tests of parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_spaces import space

from dse.report.tables import csv_text, trials_table
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.study import journal

ROWS = 10
"""Trials of a part in these tests."""
OBJECTIVES = space().objectives


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "TRIALS_A_PART", ROWS)


def run(folder: Path, trials: int, resume: bool = False, sampler: str = "random") -> str:
    return optimize(space(), Settings(sampler, trials, 0), folder, resume)


def table(folder: Path) -> str:
    return csv_text(trials_table(load_record(folder, bounded=False)))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
