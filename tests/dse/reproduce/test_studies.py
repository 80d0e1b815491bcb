"""The studies of the project: every quick row has the verdict that its study says."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.reproduce.play import Player
from dse.reproduce.study import Study, find_studies

STUDIES = find_studies(Path(__file__).parents[3] / "studies", [])


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_the_quick_rows_of_a_study_have_the_expected_verdict(study: Study, tmp_path: Path) -> None:
    rows = [row for row in study.rows if row.quick]
    assert rows
    assert [each for each in Player(study, tmp_path).obtain(rows) if not each.expected] == []
