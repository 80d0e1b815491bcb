"""What nobody sells is said wherever a design or a study is shown."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_runs import DESIGN, SPACE, write_space

from dse.cli import main
from dse.report.plots import plot_of
from dse.whatif.subject import subject_of

SOLD = SPACE.replace("size: 4, bandwidth: {choice: [100 GB/s, 200 GB/s]}", "size: 8, bandwidth: 300 GB/s").replace(
    "    - {topology: switch, size: 2, bandwidth: 25 GB/s, latency: 1.7 us, tier: pod}\n", ""
)
MIXED = SOLD.replace("bandwidth: 300 GB/s", "bandwidth: {choice: [300 GB/s, 400 GB/s]}").replace(
    "{choice: [a100-80gb, v100-32gb]}", "a100-80gb"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a space that says that it is hypothetical; not to be written to."""
    folder = tmp_path_factory.mktemp("hypothetical")
    text = SPACE.replace("nsga2, trials: 24", "random, trials: 12") + "hypothetical: true\n"
    assert main(["optimize", str(write_space(folder, text)), "--out", str(folder / "run")]) == 0
    return folder / "run"


def test_a_hypothetical_study_says_so_on_the_terminal(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Hypothetical: the space allows clusters that nobody sells; trial" in said


def test_a_hypothetical_study_says_so_on_its_page_and_in_its_files(run: Path) -> None:
    page = (run / "report.html").read_text()
    head = page.partition("<header>")[2].partition("</header>")[0]
    assert "Hypothetical: the space allows clusters that nobody sells" in head
    pareto = json.loads((run / "pareto.json").read_text())
    assert pareto["hypothetical"] is True
    assert {member["metrics"]["orderable"] for member in pareto["front"]} == {False}
    assert all(member["design"]["hypothetical"] is True for member in pareto["front"])
    for name in ("trials.csv", "pareto.csv"):
        rows = _rows(run / name)
        assert {(row["hypothetical"], row["orderable"]) for row in rows} == {("true", "0.0")}


@pytest.mark.parametrize("kind", ["front", "breakdown", "cost"])
def test_a_hypothetical_study_says_so_on_its_pictures(run: Path, kind: str) -> None:
    figure = plot_of(kind, [subject_of(str(run), bounds=False)]).figure
    assert any(text.get_text().startswith("hypothetical:") for text in figure.texts)


def test_a_design_of_a_hypothetical_study_says_so_wherever_it_goes(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design = tmp_path / "design.yaml"
    assert main(["show", str(run), "--design", str(design)]) == 0
    assert "Hypothetical study. Nobody sells this cluster: cluster.dimensions" in _flat(capsys)
    assert yaml.safe_load(design.read_text())["hypothetical"] is True
    assert main(["simulate", str(design)]) == 0
    assert "Nobody sells this cluster: cluster.dimensions" in _flat(capsys)
    assert main(["explain", str(design), "--simulations", "1"]) == 0
    assert "Nobody sells this cluster: cluster.dimensions" in _flat(capsys)
    assert main(["simulate", str(design), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["orderable"] is False
    assert result["order_notes"]


NODES = """
workload: {model: llama3-8b, global_batch: 32, sequence_length: 2048, precision: bf16}
parallelism: {tensor: 8, data: 2, zero: 1, sequence_parallel: true, recompute: full}
cluster:
  npu: h100-80gb
  dimensions:
    - topology: switch
      size: 8
      bandwidth: 450 GB/s
      latency: 801 ns
      tier: node
      library: nccl-hopper
      collective: ALGORITHM
    - {topology: switch, size: 2, bandwidth: 50 GB/s, efficiency: 0.74, latency: 20 us, tier: pod}
objectives: {minimize: [iteration_time]}
constraints: [fits]
study: {sampler: exhaustive}
"""


def test_a_search_takes_no_algorithm_that_the_named_library_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = NODES.replace("ALGORITHM", "{choice: [ring, direct]}")
    assert main(["optimize", str(write_space(tmp_path, text)), "--out", str(tmp_path / "run")]) == 0
    assert "algorithms of a library 1" in _flat(capsys)
    front = json.loads((tmp_path / "run" / "pareto.json").read_text())["front"]
    assert [member["design"]["cluster"]["dimensions"][0].get("collective", "ring") for member in front] == ["ring"]


def test_a_hypothetical_search_may_take_one_and_its_decision_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = NODES.replace("ALGORITHM", "{choice: [ring, direct]}") + "hypothetical: true\n"
    assert main(["optimize", str(write_space(tmp_path, text)), "--out", str(tmp_path / "run")]) == 0
    said = "No library does this: cluster.dimensions[0].collective: expected an algorithm of nccl-hopper"
    assert said in _flat(capsys)
    assert main(["show", str(tmp_path / "run")]) == 0
    assert said in _flat(capsys)


def test_a_space_of_what_the_library_lacks_alone_is_told_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = write_space(tmp_path, NODES.replace("ALGORITHM", "direct"))
    assert main(["optimize", str(space), "--out", str(tmp_path / "run")]) == 2
    assert "an algorithm of nccl-hopper (ring, flat_ring)" in " ".join(capsys.readouterr().err.split())


def test_runs_side_by_side_say_which_is_hypothetical(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    assert main(["compare", str(run), str(other)]) == 0
    assert "hypothetical" in capsys.readouterr().out
    assert main(["compare", str(run), str(other), "--json"]) == 0
    assert [one["hypothetical"] for one in json.loads(capsys.readouterr().out)["runs"]] == [True, True]


def test_a_space_that_says_nothing_and_has_nothing_sold_gets_a_notice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SPACE.replace("nsga2, trials: 24", "random, trials: 4")
    assert main(["optimize", str(write_space(tmp_path, text)), "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().err
    assert "Hypothetical: no cluster of this space can be ordered. To settle it say 'hypothetical: true'" in said


def test_a_space_of_what_is_sold_cuts_the_rest_and_counts_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MIXED.replace("nsga2, trials: 24", "random, trials: 12")
    assert main(["optimize", str(write_space(tmp_path, text)), "--out", str(tmp_path / "run")]) == 0
    told = _flat(capsys)
    assert "cut before simulation (orderable " in told
    assert "ypothetical" not in told
    pareto = json.loads((tmp_path / "run" / "pareto.json").read_text())
    assert pareto["hypothetical"] is False
    assert pareto["cut"]["orderable"] > 0
    assert all(member["metrics"]["orderable"] is True for member in pareto["front"])
    rows = _rows(tmp_path / "run" / "trials.csv")
    assert any(row["cut_by"] == "orderable" and "400 GB/s" in row["error"] for row in rows)


def test_where_nothing_that_is_sold_is_feasible_the_message_says_what_would_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MIXED.replace("nsga2, trials: 24", "random, trials: 12") + "constraints: [exposed_communication <= 1e-12]\n"
    assert main(["optimize", str(write_space(tmp_path, text)), "--out", str(tmp_path / "run")]) != 0
    assert "'hypothetical: true' in the space lets them in" in " ".join(capsys.readouterr().err.split())


def test_an_npu_that_is_spelled_out_is_said_not_to_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from simcore.catalog import entry

    npu: dict[str, Any] = {**entry("npus", "a100-80gb"), "name": "mine", "price": "9000 $"}
    design = tmp_path / "design.yaml"
    design.write_text(yaml.safe_dump({**DESIGN, "cluster": {**DESIGN["cluster"], "npu": npu}}))  # type: ignore[dict-item]
    assert main(["simulate", str(design)]) == 0
    assert "Not checked whether this cluster can be ordered: the NPU is not of the catalogue" in _flat(capsys)


def _rows(table: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(table.read_text().splitlines()))


def _flat(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())
