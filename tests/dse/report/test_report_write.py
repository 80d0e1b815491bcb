from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import report_studies as studies

from dse.report import write, write_reports


def test_every_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    paths = write_reports(studies.mixed(40), folder)
    names = {"trials.csv", "trials.parquet", "pareto.csv", "pareto.json", "pareto.png", "pareto.svg", "report.html"}
    assert {path.name for path in paths} == names
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.parametrize("make", [lambda: studies.mixed(40), studies.hostile, studies.infeasible_only])
def test_the_same_study_gives_the_same_bytes(make: object) -> None:
    assert callable(make)
    assert write.report_files(make()) == write.report_files(make())


def test_writing_again_replaces_whole_files(tmp_path: Path) -> None:
    write_reports(studies.mixed(40), tmp_path)
    write_reports(studies.infeasible_only(), tmp_path)
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 6


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trials.csv").write_text("old")

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_reports(studies.record([]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trials.csv"]
    assert (tmp_path / "trials.csv").read_text() == "old"


def test_importing_the_package_imports_no_plotting_library() -> None:
    heavy = "{'pandas', 'matplotlib', 'pyarrow', 'rich'}"
    code = f"import sys, dse.report; assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
