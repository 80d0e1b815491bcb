"""Rows of the common form as documents: columns of the published tables beyond degrees."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from dse.measured.measured import MeasuredTable, collect_tables, read_table
from dse.measured.table.document import row_document
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.npu import Npu
from simcore.document.problem import InputError

ITERATIONS = Path(__file__).parents[3] / "accuracy" / "iterations"
VALUES: dict[str, Any] = {
    "device": preset(Npu, "npus", "h100-80gb"), "fabric": "dgx-h100", "model": catalog.section("models")["llama3-8b"],
    "layers": 32, "seq": 8192, "npus": 16, "global_batch": 32, "microbatch": 1, "tensor": 2, "pipeline": 2, "data": 4,
    "interleave": 2, "zero": 1, "recompute": "none", "sequence_parallel": True,
}  # fmt: skip
COLUMNS = (
    "device,fabric,model,seq,npus,global_batch,microbatch,tensor,pipeline,data,precision,tp_comm_overlap,"
    "sequence_parallel,measured_s"
)
ROW = "h100-80gb,dgx-h100,llama3-8b,8192,16,32,1,2,2,4,bf16,yes,true,1.5"


def parallelism(**values: Any) -> dict[str, Any]:
    section: dict[str, Any] = row_document({**VALUES, **values})["parallelism"]
    return section


def table(tmp_path: Path, *rows: str) -> MeasuredTable:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([COLUMNS, *rows]))
    return read_table(path)


def test_tensor_overlap_needs_what_it_overlaps() -> None:
    assert parallelism(tp_comm_overlap=True)["tensor_overlap"]
    assert "tensor_overlap" not in parallelism(tp_comm_overlap=True, sequence_parallel=False)
    assert "tensor_overlap" not in parallelism(tp_comm_overlap=True, tensor=1)
    assert "tensor_overlap" not in parallelism(tp_comm_overlap=False)


def test_every_other_product_is_half_of_the_layers() -> None:
    section = parallelism(recompute="selective", software="pytorch-fsdp", pipeline=1, interleave=1)
    assert (section["recompute"], section["recompute_layers"]) == ("full", 16)
    assert parallelism(recompute="selective")["recompute"] == "selective"


def test_modules_that_the_model_has_not_are_left_out() -> None:
    section = parallelism(recompute=("core_attn", "mlp", "moe", "mla_up_proj", "shared_experts"))
    assert (section["recompute"], section["recompute_modules"]) == ("selective", ["core_attn", "mlp"])
    assert parallelism(recompute="full", recompute_modules=("mlp",))["recompute"] == "full"
    assert parallelism(recompute=("moe",))["recompute"] == "none"


def test_experts_over_tensor_ranks_are_told_in_notes_or_a_column() -> None:
    section = parallelism(notes="expert 32 > data x context 16: taken as 16 with experts split", expert=16)
    assert (section["expert"], section["expert_tensor"]) == (32, 1)
    assert parallelism(expert_tensor=2)["expert_tensor"] == 2


def test_given_layers_of_the_end_stages_are_taken() -> None:
    section = parallelism(first_stage_layers=11, last_stage_layers=11, layers=94, pipeline=8, interleave=4)
    assert (section["first_stage_layers"], section["last_stage_layers"]) == (11, 11)


def test_layers_are_the_models_unless_given(tmp_path: Path) -> None:
    (row,) = table(tmp_path, ROW).rows
    assert row.workload.model.layers == 32
    assert row.case == "rows:2"
    assert row.design.parallelism.tensor_overlap


def test_a_row_that_no_design_can_say_leaves_the_others(tmp_path: Path) -> None:
    strange = [
        ROW.replace("h100-80gb", "abacus-9"),
        ROW.replace("llama3-8b", "our-own-3b"),
        ROW.replace(",2,2,4,", ",3,2,4,"),
    ]
    read = table(tmp_path, ROW, *strange)
    assert len(read.rows) == 1
    assert [row.line for row in read.not_expressed] == [3, 4, 5]
    assert read.not_expressed[0].why == "device: expected a device of the catalogue, got 'abacus-9'"
    assert "parallelism" in read.not_expressed[2].why
    with pytest.raises(InputError, match="abacus-9"):
        table(tmp_path, strange[0])
    with pytest.raises(InputError, match="did you mean 'h100-80gb'"):
        table(tmp_path, ROW, ROW.replace("h100-80gb", "h100-80g"))


def test_a_compressed_table_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(f"{COLUMNS}\n{ROW}\n".encode()))
    assert [row.case for row in read_table(packed).rows] == ["rows:2"]
    packed.write_text("no archive")
    with pytest.raises(InputError, match="a file that gzip wrote"):
        read_table(packed)


@pytest.mark.parametrize("path", sorted(ITERATIONS.glob("*.csv")), ids=lambda path: str(path.stem))
def test_published_tables_are_read_as_they_are(path: Path) -> None:
    least = {"schedules": 0.3, "tpu": 0.6}.get(path.stem, 0.95)
    (read,) = collect_tables([path])
    rows = len(read.rows) + len(read.not_expressed)
    assert len(read.rows) >= least * rows, {row.why for row in read.not_expressed}
