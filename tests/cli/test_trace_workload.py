"""A search over a trace on the command line: repeated byte for byte, refused where the trace is not what it was."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from dse.cli import main
from simcore.document import named_files
from simcore.workload.trace.files import read_ranks
from simcore.workload.trace.read import read_trace

SHIPPED = Path(__file__).parents[2] / "spaces"


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """The shipped space with few trials, beside its trace."""
    shutil.copytree(SHIPPED / "traces", tmp_path / "traces")
    text = (SHIPPED / "trace.yaml").read_text().replace("trials: 1000", "sampler: random, trials: 6")
    path = tmp_path / "trace.yaml"
    path.write_text(text)
    return path


STORED = ("study.yaml", "trials.csv", "pareto.json", "journal.log")


def forget() -> None:
    """Another process would know neither what was read nor where."""
    read_trace.cache_clear()
    read_ranks.cache_clear()
    named_files._places.clear()


def without_times(path: Path) -> str:
    return re.sub(r'"(datetime_\w+|worker_id|crc)":"[^"]*"', "", path.read_text())


def test_a_study_of_a_trace_is_the_same_from_another_folder_and_keeps_the_trace(
    space: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = space.parent
    shutil.copytree(folder, elsewhere := folder / "else" / "where")
    assert main(["optimize", str(space), "--out", str(folder / "first")]) == 0
    forget()
    assert main(["optimize", str(elsewhere / "trace.yaml"), "--out", str(elsewhere / "run" / "first")]) == 0
    for name in STORED:
        stored = without_times(folder / "first" / name)
        assert stored == without_times(elsewhere / "run" / "first" / name)
        assert str(folder) not in stored
    shutil.rmtree(folder / "traces")  # what the run keeps is enough, wherever it is taken to
    shutil.rmtree(elsewhere / "traces")
    (folder / "first").rename(moved := folder / "moved")
    forget()
    assert main(["report", str(moved)]) == 0
    assert main(["optimize", str(moved / "study.yaml"), "--out", str(folder / "second")]) == 0
    for name in STORED:
        assert without_times(moved / name) == without_times(folder / "second" / name)
    design = folder / "design.yaml"
    capsys.readouterr()
    assert main(["show", str(moved), "--design", str(design)]) == 0
    forget()
    assert main(["simulate", str(design)]) == 0
    kept = next((moved / "files").glob("*/transformer.et"))
    kept.write_bytes(kept.read_bytes()[:-5])
    forget()
    assert main(["optimize", str(moved / "study.yaml"), "--out", str(folder / "third")]) == 2
    assert "when the study was made" in capsys.readouterr().err
    assert not (folder / "third").exists()
    kept.unlink()
    forget()
    assert main(["report", str(moved)]) == 2
    assert "beside the document or kept by its run, got none" in capsys.readouterr().err


def test_a_search_of_a_trace_is_interrupted_and_goes_on(space: Path) -> None:
    folder = space.parent / "run"
    assert main(["optimize", str(space), "--trials", "3", "--out", str(folder)]) == 0
    forget()
    assert main(["optimize", str(space), "--out", str(folder), "--resume", "--jobs", "2"]) == 0
    assert len((folder / "trials.csv").read_text().splitlines()) == 7


def test_a_trace_that_is_cut_short_is_one_message_and_nothing_is_written(
    space: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = space.parent / "traces" / "transformer.et"
    trace.write_bytes(trace.read_bytes()[:-5])
    assert main(["optimize", str(space), "--out", str(space.parent / "run")]) == 2
    error = capsys.readouterr().err
    assert "1 problem" in error
    assert "cut short" in error
    assert not (space.parent / "run").exists()
