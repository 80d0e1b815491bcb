"""`dse bom`: the bill of a design as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dse.cli import main

DESIGN = {
    "workload": {"collective": "all_reduce", "size": "1 GB"},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 1016},
    "cost": "street-2025",
}


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "design.yaml"
    path.write_text(yaml.safe_dump(DESIGN))
    return path


def document(design: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["bom", str(design), "--json", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    return found


def test_json_is_the_bill_and_its_sums(design: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bill = document(design, capsys)
    assert set(bill) == {"items", "cost", "watts", "watts_max", "price_list"}
    assert bill["price_list"] == "street-2025"
    assert sum(item["sum"] for item in bill["items"]) == pytest.approx(bill["cost"]["total"])
    assert sum(item["count"] * item["watts"] for item in bill["items"]) == pytest.approx(bill["watts"])
    assert all(item["source"] for item in bill["items"])
    assert all(item["price_range"][0] <= item["price"] <= item["price_range"][1] for item in bill["items"])


def test_the_sums_are_the_cost_of_the_simulated_design(design: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = document(design, capsys)["cost"]
    assert main(["simulate", str(design), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] == pytest.approx(cost)


def test_the_table_fits_80_columns_with_sums_by_group_and_sources(
    design: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["bom", str(design)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    for said in ("Nodes", "Network", "Storage", "Racks and management", "all", "Sources", "qm9700"):
        assert said in out


def test_csv_has_a_line_for_each_item(design: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = document(design, capsys)["items"]
    assert main(["bom", str(design), "--out", str(tmp_path / "bill.csv")]) == 0
    with (tmp_path / "bill.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["part"], float(row["sum"])) for row in rows] == [(item["part"], item["sum"]) for item in items]


def test_a_linear_list_has_a_bill_too(design: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bill = document(design, capsys, "--set", "cost=libra")
    assert {item["unit"] for item in bill["items"]} == {"", "GB/s"}
    assert bill["cost"]["storage"] == bill["cost"]["other"] == 0


def test_bad_input_is_told_at_once_and_writes_nothing(
    design: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ("--set", "cluster.dimensions[1].switch=qm8790", "--set", "cluster.dimensions[0].latency=-1 us")
    document = {**DESIGN, "cluster": {"npu": "h100-80gb", "dimensions": [INNER, OUTER]}}
    design.write_text(yaml.safe_dump(document))
    assert main(["bom", str(design), *wrong, "--out", str(tmp_path / "bill.csv")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("expected")) == ("", 2)
    assert not (tmp_path / "bill.csv").exists()
    assert main(["bom", str(design), "--out", str(tmp_path / "none" / "bill.csv")]) == 2


INNER = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us"}
OUTER = {"topology": "switch", "size": 16, "bandwidth": "50 GB/s", "latency": "1 us", "tier": "pod"}
