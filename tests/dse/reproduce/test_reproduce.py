"""Studies: read with every problem at once, obtained once, remembered, judged by what they say themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.cli import main
from dse.reproduce import play
from dse.reproduce.measure import SimulateDesign
from dse.reproduce.play import obtain
from dse.reproduce.study import read_study
from dse.reproduce.table import markdown
from simcore.document.problem import InputError

DESIGN = """\
workload: {collective: all_reduce, size: 1 GB}
cluster:
  npu: a100-80gb
  dimensions: [{topology: ring, size: 4, bandwidth: 100 GB/s, latency: 0 ns, tier: node}]
system: {collective: [ring], chunks: 1}
"""
STUDY = """\
title: Rings
source: a closed form
parts:
  - name: one ring
    run: {design: ring.yaml, engine: fast}
    axes:
      size:
        small: {set: {workload.size: 1 GB}, given: {share: 1}}
        large: {set: {workload.size: 2 GB}, given: {share: 2}}
    against: {size: small}
    obtained: iteration_time / base.iteration_time / share * 15
    published: rings.csv
    unit: ms
    within: 0.5
    quick: {size: [small]}
"""
ROWS = "size,published,why\nsmall,15,\nlarge,15.4,\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "studies" / "rings"
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "ring.yaml").write_text(DESIGN)
    (folder / "rings.csv").write_text(ROWS)
    return folder


def verdicts(folder: Path, kept: Path) -> list[str]:
    study = read_study(folder)
    return [each.verdict for each in obtain(study, list(study.rows), kept, lambda row: None)]


def test_values_are_obtained_and_judged(folder: Path, tmp_path: Path) -> None:
    study = read_study(folder)
    done = list(obtain(study, list(study.rows), tmp_path, lambda row: None))
    assert [each.value for each in done] == pytest.approx([15, 15])
    assert [each.verdict for each in done] == ["exact", "reproduced"]
    assert "| large | 15.4 | 15 | -0.4 | reproduced |" in markdown(study, done)


@pytest.mark.parametrize(
    ("published", "why", "verdict"),
    [
        ("16", "", "differs"),
        ("16", "another rule", "known to differ"),
        ("15.2", "another rule", "no longer differs"),
    ],
)
def test_a_reason_is_needed_where_values_differ_and_only_there(
    folder: Path, tmp_path: Path, published: str, why: str, verdict: str
) -> None:
    (folder / "rings.csv").write_text(f"size,published,why\nsmall,{published},{why}\n")
    assert verdicts(folder, tmp_path) == [verdict]


def test_what_was_measured_is_remembered(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = verdicts(folder, tmp_path / "kept")
    monkeypatch.setattr(SimulateDesign, "numbers", None)
    assert verdicts(folder, tmp_path / "kept") == first
    monkeypatch.setattr(play, "_code", lambda: "other code")
    with pytest.raises(TypeError):
        verdicts(folder, tmp_path / "kept")


def test_the_command_prints_rows_and_fails_where_a_verdict_is_not_the_expected_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--root", str(folder.parent), "--kept", str(tmp_path / "kept")]
    assert main(["reproduce", *options, "--json", "--quick"]) == 0
    assert [row["place"] for row in json.loads(capsys.readouterr().out)] == [{"size": "small"}]
    (folder / "rings.csv").write_text("size,published,why\nsmall,40,\n")
    assert main(["reproduce", "rings", *options, "--out", str(tmp_path / "page.md")]) == 1
    assert "1 rows: 1 differs" in capsys.readouterr().out
    assert "differs" in (tmp_path / "page.md").read_text()


def test_every_problem_of_a_table_is_told_at_once(folder: Path) -> None:
    (folder / "rings.csv").write_text("size,published,why\nhuge,15,\nsmall,many,\n")
    with pytest.raises(InputError) as refused:
        _ = read_study(folder).rows
    assert "small, large" in str(refused.value)
    assert "'many'" in str(refused.value) or "many" in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("published: rings.csv", "published: ../rings.csv", "a file in the study's folder"),
        ("{size: small}", "{size: huge}", "an alternative of an axis"),
        ("iteration_time /", "open('x') /", "comparisons and paths"),
        ("{design: ring.yaml, engine: fast}", "{picture: ring.yaml}", "one of design"),
        ("title: Rings", "titel: Rings", "titel"),
    ],
)
def test_bad_studies_are_refused(folder: Path, tmp_path: Path, old: str, new: str, message: str) -> None:
    (folder / "study.yaml").write_text(STUDY.replace(old, new))
    with pytest.raises(InputError, match=message):
        verdicts(folder, tmp_path)


def test_names_that_are_no_studies_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "ring", "--root", str(folder.parent)]) == 2
    assert "did you mean 'rings'" in capsys.readouterr().err
    assert main(["reproduce", "--root", str(folder / "nothing")]) == 2
