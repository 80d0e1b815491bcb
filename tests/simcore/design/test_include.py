"""Files that a document names: what is read, what is refused, and what is said about a broken one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.space.space import load_space
from simcore.check.load import design_from, load_design
from simcore.document.problem import InputError

DESIGN = """
workload: {{layers: {file}, global_batch: 64}}
cluster: {{npu: a100-80gb, fabric: dgx-a100, npus: 8}}
"""
TABLE = "name,kind,m,n,k,height,width,channels,filters,kernel,bytes\n"
GOOD = TABLE + "fc,gemm,1,64,32,,,,,,\nconv,conv,,,,8,8,3,16,3,\nmove,memory,,,,,,,,,1.5 kB\n"


def written(folder: Path, table: str = GOOD, name: str = "net.csv", file: str | None = None) -> Path:
    (folder / name).write_text(table)
    path = folder / "design.yaml"
    path.write_text(DESIGN.format(file=file or name))
    return path


def message(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load_design(path)
    return str(error.value)


def test_the_rows_stand_in_the_design_from_then_on(tmp_path: Path) -> None:
    design = load_design(written(tmp_path))
    layers = design.document()["workload"]["layers"]
    assert [row["name"] for row in layers] == ["fc", "conv", "move"]
    (tmp_path / "net.csv").unlink()
    assert design_from(design.document()).key == design.key


def test_the_example_of_the_documents_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text(encoding="utf-8")
    table = page.partition("```csv\n")[2].partition("```")[0]
    design = load_design(written(tmp_path, table))
    assert [row["name"] for row in design.document()["workload"]["layers"]] == ["conv1", "relu", "fc"]


def test_a_yaml_table_is_the_same_as_a_csv_one(tmp_path: Path) -> None:
    rows = (
        "layers:\n- {name: fc, m: 1, n: 64, k: 32}\n"
        "- {name: conv, kind: conv, height: 8, width: 8, channels: 3, filters: 16, kernel: 3}\n"
        "- {name: move, kind: memory, bytes: 1.5 kB}\n"
    )
    other = load_design(written(tmp_path, rows, "net.yaml"))
    assert other.key == load_design(written(tmp_path)).key


def test_a_space_takes_files_too_also_as_alternatives(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "space.yaml").write_text(DESIGN.format(file="{choice: [net.csv, resnet-50]}"))
    space = load_space(tmp_path / "space.yaml")
    assert space.count() == 2
    assert all(not isinstance(filled.document["workload"]["layers"], Path) for filled in space.enumerate())
    assert len({str(filled.document["workload"]["layers"]) for filled in space.enumerate()}) == 2
    assert "net.csv" not in str(space.source)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("../net.csv", "outside its folder"),
        ("/etc/hostname.csv", "outside its folder"),
        ("deeper/../../net.csv", "outside its folder"),
        ("'..\\net.csv'", "outside its folder"),
        ("absent.csv", "which is not there"),
        (".csv/", "a name or rows"),
    ],
)
def test_a_file_outside_the_folder_is_not_read(tmp_path: Path, file: str, found: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "net.csv").write_text(GOOD)
    text = message(written(inside, file=file)).replace(str(tmp_path), "")
    assert found in text or "expected" in text
    assert "64" not in text.replace("global_batch", "")


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.csv").write_text("password\nhunter2\n")
    path = written(inside, file="link.csv")
    (inside / "link.csv").symlink_to(tmp_path / "secret.csv")
    text = message(path)
    assert "leads outside its folder" in text
    assert "hunter2" not in text


def test_a_document_that_is_no_file_reads_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    document = {
        "workload": {"layers": "net.csv", "global_batch": 64},
        "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 8},
    }
    with pytest.raises(InputError, match=r"'net\.csv' in a document that is no file"):
        design_from(document)


def test_every_broken_row_is_named_with_its_column_at_once(tmp_path: Path) -> None:
    broken = ("a,gemm,1,2,,", "b,gemm,1,-2,3,", "c,conw,,,,", "d,gemm,1,2,3,4", "e,gemm,x,1,1,", "f,gemm,0,1,1,")
    table = "\n".join(("name,kind,m,n,k,height", *broken))
    text = message(written(tmp_path, table))
    assert "line 2: workload.layers: expected 'k' in row 'a' of kind gemm in row 1 of 'net.csv', got nothing" in text
    assert "expected greater than 0 in row 2 of 'net.csv', column 'n', got -2" in text
    assert "row 3 of 'net.csv', column 'kind', got 'conw'" in text
    assert "in row 4 of 'net.csv', got 'height'; leave it out" in text
    assert "expected a whole number in row 5 of 'net.csv', column 'm', got 'x'" in text
    assert "row 6 of 'net.csv', column 'm', got 0" in text
    assert text.startswith(f"{tmp_path / 'design.yaml'}: 6 problems")


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("", "a first row that names each column once"),
        ("m,n,k\n", "at least one row"),
        ("m,n,n\n1,2,3\n", "a first row that names each column once"),
        ("m,n,k\n1,2\n", "3 cells in row 1 (line 2)"),
        ("m,n,q\n1,2,3\n", "expected a known column in row 1 of 'net.csv', column 'q'"),
        ("kind,bytes\nmemory,12\n", "row 1 of 'net.csv', column 'bytes'"),
        ('m,n,k\n1,"2,3\n', "a CSV table"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, table: str, found: str) -> None:
    assert found in message(written(tmp_path, table))


def test_a_file_of_other_bytes_or_size_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "net.csv").write_bytes(b"m,n,k\n\xff\xfe,1,1\n")
    assert "a UTF-8 text file" in message(path)
    (tmp_path / "net.csv").write_text("m,n,k\n" + "1,1,1\n" * 200_000)
    assert "no table of at most 1 MiB" in message(path)
    (tmp_path / "net.csv").write_text("m,n,k,repeat\n1,1,1,20000\n")
    assert "expected at most 10,000 rows with their repeats, got 20,000" in message(path)


def test_rows_in_the_document_are_named_by_their_place(tmp_path: Path) -> None:
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN.format(file="[{m: 1, n: 2, k: 3}, {m: 1, n: -2, k: 3}, {m: 1, n: 2}]"))
    text = message(path)
    assert "workload.layers[1].n: expected greater than 0, got -2" in text
    assert "workload.layers[2]: expected 'k' in a row of kind gemm, got nothing" in text


FABRIC = "dimensions:\n- {topology: switch, size: 4, bandwidth: 300 GB/s, latency: 1 us, library: nccl-ampere}\n"


def on_fabric(folder: Path, text: str) -> Path:
    (folder / "fabric.yaml").write_text(text)
    path = folder / "design.yaml"
    path.write_text(
        "workload: {collective: all_reduce, size: 1 MB}\ncluster: {npu: a100-80gb, fabric: fabric.yaml, npus: 4}\n"
    )
    return path


def test_a_fabric_may_be_a_file(tmp_path: Path) -> None:
    design = load_design(on_fabric(tmp_path, FABRIC))
    (dimension,) = design.cluster.dimensions
    assert (dimension.size, dimension.library and dimension.library.name) == (4, "nccl-ampere")
    (tmp_path / "fabric.yaml").unlink()
    assert design_from(design.document()).key == design.key


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sise: even\n", r"expected a list of dimensions, innermost first in 'fabric.yaml' (dimensions), got none"),
        (FABRIC + "sise: even\n", "expected a key of a fabric in 'fabric.yaml' (sise), got 'sise'"),
        (FABRIC.replace("GB/s", "GB"), "in 'fabric.yaml' (dimensions[0].bandwidth)"),
        (FABRIC.replace("ampere", "ampear"), "got 'nccl-ampear'; did you mean 'nccl-ampere'?"),
    ],
)
def test_a_file_that_is_no_fabric_is_refused_with_its_place(tmp_path: Path, text: str, found: str) -> None:
    assert found in message(on_fabric(tmp_path, text))


def test_a_fabric_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = on_fabric(tmp_path, FABRIC)
    (tmp_path / "fabric.yaml").unlink()
    assert "expected a fabric of the catalogue, or a file with one beside the design" in message(path)
