"""`dse plot` on the command line: files, numbers, and what it says of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import finished_run, write_design, write_space

from dse.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_run(tmp_path_factory)


@pytest.mark.parametrize(("suffix", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_suffix_of_the_file_says_what_it_is(suffix: str, begin: bytes, run: Path, tmp_path: Path) -> None:
    out = tmp_path / f"picture.{suffix}"
    assert main(["plot", "breakdown", str(run), "--out", str(out)]) == 0
    assert out.read_bytes().startswith(begin)


def test_without_a_file_the_picture_lies_in_the_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "bandwidth", str(run)]) == 0
    assert (run / "plots" / "bandwidth.png").is_file()
    told = capsys.readouterr()
    assert told.out == ""
    assert f"wrote {run / 'plots' / 'bandwidth.png'}" in told.err


def test_numbers_alone_are_one_document_and_write_nothing(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(run.rglob("*"))
    assert main(["plot", "heatmap", str(run), "--json", "--value", "cost.total"]) == 0
    assert json.loads(capsys.readouterr().out)["metric"] == "cost.total"
    assert sorted(run.rglob("*")) == before


def test_a_design_document_is_drawn_beside_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    design = write_design(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "scaling", str(design), "--npus", "64,128", "--mode", "strong"]) == 0
    assert (tmp_path / "scaling.png").is_file()
    assert "wrote scaling.png" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pie", "{run}"], "expected a kind of picture, got 'pie'; kinds: front, heatmap"),
        (["front", "{run}", "--out", "{tmp}/a.gif"], "a file that ends in .png, .svg or .pdf"),
        (["front", "{run}", "--out", "{tmp}/none/a.png"], "mkdir -p"),
        (["front", "{tmp}"], "a run folder with a study.yaml"),
        (["memory", "{tmp}/space.yaml"], "got a space; search it first: dse optimize"),
        (["memory", "{tmp}/missing.yaml"], "missing.yaml"),
        (["memory", "{run}", "--trial", "12345"], "the number of a trial of this run"),
        (["memory", "{run}", "--fill", "3"], "an option of 'memory' (--trial), got --fill"),
        (["scaling", "{run}", "--npus", "9"], "a whole number"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    arguments: list[str], said: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_space(tmp_path, name="space.yaml")
    before = sorted([*tmp_path.rglob("*"), *run.rglob("*")])
    assert main(["plot", *(text.format(run=run, tmp=tmp_path) for text in arguments)]) == 2
    assert said in capsys.readouterr().err
    assert sorted([*tmp_path.rglob("*"), *run.rglob("*")]) == before


def test_numbers_that_are_none_are_refused_by_the_parser(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["plot", "scaling", str(run), "--npus", "8,x"])
    assert "expected a whole number from 1" in capsys.readouterr().err
