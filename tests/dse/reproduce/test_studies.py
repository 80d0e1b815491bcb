"""The studies of the project: each has quick rows, and whoever merges runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.reproduce.study import Study, find_studies

ROOT = Path(__file__).parents[3]
STUDIES = find_studies(ROOT / "studies", [])


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_has_quick_rows(study: Study) -> None:
    assert any(row.quick for row in study.rows)


def test_continuous_integration_runs_the_quick_rows_by_their_command() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith(".venv/bin/dse reproduce --quick") for line in lines)
