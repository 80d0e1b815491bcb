"""Tables of MaxText on TPUs: axes of a mesh as degrees."""

from __future__ import annotations

import pytest

from dse.measured.table.tpu import rewrite_tpu
from simcore.document.problem import Problem

ROW = {
    "device": "tpu-v5p", "chips": "512", "slices": "1", "model": "gpt3-175b", "seq": "2048", "global_batch": "2048",
    "per_device_batch": "4", "precision": "int8 products (AQT), bf16 else", "layout": "ici_fsdp=64 ici_tensor=8",
    "remat": "full", "step_s": "22.197",
}  # fmt: skip


def rewritten(**cells: str) -> dict[str, str]:
    found = rewrite_tpu({**ROW, **cells})
    assert not isinstance(found, Problem), found
    return dict(found)


def test_a_mesh_is_degrees_and_there_is_no_accumulation() -> None:
    cells = rewritten()
    degrees = {name: cells[name] for name in ("tensor", "data", "context", "pipeline", "microbatch", "zero")}
    assert degrees == {"tensor": "8", "data": "64", "context": "1", "pipeline": "1", "microbatch": "32", "zero": "3"}
    assert (cells["npus"], cells["fabric"], cells["software"]) == ("512", "tpu-v5p-pod", "maxtext")
    assert (cells["precision"], cells["measured_s"], cells["recompute"]) == ("int8", "22.197", "full")
    assert "shard_group" not in cells


def test_copies_of_shards_are_hybrid_sharding() -> None:
    cells = rewritten(layout="ici_data=4 ici_fsdp=16 ici_tensor=8")
    assert (cells["data"], cells["shard_group"], cells["microbatch"]) == ("64", "16", "32")


def test_the_rest_of_a_slice_and_of_the_slices() -> None:
    cells = rewritten(layout="ici_fsdp=-1 dcn_data=-1", slices="2")
    assert (cells["data"], cells["shard_group"], cells["slices"]) == ("512", "256", "2")


def test_ranks_of_experts_are_ranks_of_data() -> None:
    cells = rewritten(layout="ici_fsdp=64 ici_expert=8")
    assert (cells["data"], cells["expert"], cells["microbatch"]) == ("512", "8", "4")
    assert "shard_group" not in cells


def test_two_devices_a_chip_are_one_npu() -> None:
    cells = rewritten(layout="ici_fsdp=-1", per_device_batch="2")
    assert (cells["data"], cells["microbatch"]) == ("512", "4")


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ({"layout": "ici_magic=4"}, "layout"),
        ({"layout": "ici_fsdp=32 ici_tensor=8"}, "layout"),
        ({"global_batch": "100", "per_device_batch": ""}, "layout"),
        ({"remat": "my own"}, "remat"),
        ({"chips": "many"}, "chips"),
    ],
)
def test_what_cannot_be_said_names_its_column(cells: dict[str, str], column: str) -> None:
    found = rewrite_tpu({**ROW, **cells})
    assert isinstance(found, Problem)
    assert found.path == (column,)
