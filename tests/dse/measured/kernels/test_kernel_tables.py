"""Tables of kernels: told by their columns, predicted, and grouped; what has no prediction is said and why."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dse.cli import main
from dse.measured.kernels import is_kernel_table, read_columns, read_kernels, validate_kernels
from simcore.catalog.preset import preset
from simcore.design.npu import Npu
from simcore.document.problem import InputError

DATA = Path(__file__).parent / "data"
KINDS = ("gemm", "attention", "casts", "grouped_gemm", "moe")


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_told_by_its_columns(kind: str) -> None:
    path = DATA / f"{kind}.csv"
    assert is_kernel_table(read_columns(path))
    table = read_kernels(path)
    assert table.kind.name == kind
    lines = len(path.read_text().splitlines()) - 1
    assert len(table.rows) + len(table.unexpressed) == lines


def test_other_tables_are_none_of_kernels() -> None:
    assert not is_kernel_table(("device", "fabric", "layers", "seq", "measured_s"))
    assert not is_kernel_table(("device", "gpus", "operation", "bytes", "time_us"))


@pytest.mark.parametrize(
    ("device", "precision", "most"),
    [("a100-80gb", "bf16", 12), ("h100-80gb", "bf16", 9), ("h100-80gb", "fp8", 15), ("b200", "bf16", 13)],
)
def test_products_are_predicted_as_well_as_docs_say(device: str, precision: str, most: float) -> None:
    """A sample of 1 in 33 of the rows of docs/accuracy-details.md, some 45 of each: a third more is allowed."""
    groups = validate_kernels(DATA / "gemm.csv").groups
    found = next(group for group in groups if (group.by["device"], group.by["precision"]) == (device, precision))
    assert len(found.logs) >= 30
    assert found.mean_abs_log < most


def test_rows_that_cannot_be_predicted_are_listed_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "gemm.csv"
    lines = [
        "device,precision,m,n,k,time_us",
        "nowhere,bf16,1,2,3,4",
        "v100-32gb,fp16,1,2,3,4",
        "a100-80gb,fp8,1,2,3,4",
    ]
    path.write_text("\n".join([*lines, "a100-80gb,bfloat16,64,64,64,5"]))
    report = validate_kernels(path)
    assert [row.line for row in report.unexpressed] == [2, 3, 4]
    assert "no device 'nowhere'" in report.unexpressed[0].why
    assert "no curve" in report.unexpressed[1].why
    assert "no peak at fp8" in report.unexpressed[2].why
    assert report.rows == 1
    assert validate_kernels(path, preset(Npu, "npus", "h100-80gb")).rows == 4


def test_uneven_routing_is_not_expressed() -> None:
    report = validate_kernels(DATA / "moe.csv")
    assert {row.why.split(",")[0] for row in report.unexpressed} == {"expected balanced routing"}
    assert report.rows > 0


def test_the_command_prints_groups_of_a_gzipped_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "attention.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write((DATA / "attention.csv").read_bytes())
    assert main(["validate", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == sum(group["rows"] for group in document["groups"])
    assert {group["by"]["device"] for group in document["groups"]} >= {"a100-80gb", "h100-80gb", "b200"}
    assert all({"rows", "mean_abs_log", "by"} <= set(group) for group in document["groups"])
    assert main(["validate", str(path)]) == 0
    assert "mean |ln|" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "columns of measured kernels"),
        ("device,precision,m,n,k,time_us\na100-80gb,bf16,x,2,3,4\n", "line 2"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_kernels(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a readable table"):
        read_columns(tmp_path / "none.csv.gz")
