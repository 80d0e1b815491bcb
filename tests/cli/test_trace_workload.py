"""A search over a trace on the command line: repeated byte for byte, refused where the trace is not what it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dse.cli import main
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


def test_a_study_of_a_trace_repeats_byte_for_byte_until_the_trace_changes(
    space: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = space.parent
    assert main(["optimize", str(space), "--out", str(folder / "first")]) == 0
    study = folder / "first" / "study.yaml"
    assert main(["optimize", str(study), "--out", str(folder / "second")]) == 0
    for name in ("study.yaml", "trials.csv", "pareto.json"):
        assert (folder / "first" / name).read_bytes() == (folder / "second" / name).read_bytes()
    trace = folder / "traces" / "transformer.et"
    assert len(study.read_bytes()) < 20_000
    trace.write_bytes(trace.read_bytes()[:-5])
    for remembered in (read_trace, read_ranks):  # another process would not know what it was
        remembered.cache_clear()
    capsys.readouterr()
    assert main(["optimize", str(study), "--out", str(folder / "third")]) == 2
    assert "when the study was made" in capsys.readouterr().err
    assert not (folder / "third").exists()


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
