"""What training needs in tokens, and what nothing counts, stands on every screen and page of a run."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
import yaml
from tiny_spaces import tiny

from dse.cli import main

NEEDED = r"Tokens to train: [\d.]+ G tokens; critical batch 2[.\d]+ M tokens, [\d.]+ M to [\d.]+ M \("
PENALTY = "Not counted: fp8 with a scale for each tensor: no loss in short runs"
NOTICE = "workload.training_tokens are taken as those at the smallest batch, 1,024 tokens; larger ones need more"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    section = {**tiny()["workload"], "global_batch": {"choice": [8, 4096]}, "training_tokens": 3e9, "precision": "fp8"}
    document = tiny(workload=section, objectives={"minimize": ["time_to_train", "cost.total"]})
    document["cluster"]["npu"] = "h100-80gb"
    (folder / "space.yaml").write_text(yaml.safe_dump(document))
    return folder


def as_line(text: str) -> str:
    return " ".join(html.unescape(text).split())


def test_the_answer_names_tokens_penalties_and_notices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(folder / "space.yaml"), "--out", str(folder / "run")]) == 0
    printed = capsys.readouterr()
    answer = as_line(printed.out)
    assert re.search(NEEDED, answer)
    assert PENALTY in answer
    assert f"Note: {NOTICE}" in answer
    assert f"note: {NOTICE}" in printed.err

    assert main(["show", str(folder / "run")]) == 0
    shown = as_line(capsys.readouterr().out)
    assert re.search(NEEDED, shown)
    assert PENALTY in shown
    assert f"Note: {NOTICE}" in shown

    page = as_line((folder / "run" / "report.html").read_text(encoding="utf-8"))
    lead = page[: page.index("</section>")]
    assert re.search(NEEDED, lead)
    assert PENALTY in lead
    assert NOTICE in lead
    header = (folder / "run" / "trials.csv").read_text().splitlines()[0].split(",")
    assert any(column.startswith("tokens_to_train") for column in header)


def test_one_design_says_what_its_training_takes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    section = {**tiny()["workload"], "global_batch": 4096, "training_tokens": 3e9, "training_batch": 1024.0}
    cluster = {**tiny()["cluster"], "npu": "h100-80gb"}
    cluster["dimensions"][0]["bandwidth"] = "100 GB/s"
    design = {"workload": {**section, "precision": "fp8"}, "parallelism": {"data": 8}, "cluster": cluster}
    (folder / "design.yaml").write_text(yaml.safe_dump(design))
    assert main(["simulate", str(folder / "design.yaml")]) == 0
    said = as_line(capsys.readouterr().out)
    assert re.search(r"tokens at this batch 3\.\d+ G tokens \(3\.\d+ to [3-9]\.\d+\)", said)
    assert "Not counted fp8 with a scale for each tensor" in said
