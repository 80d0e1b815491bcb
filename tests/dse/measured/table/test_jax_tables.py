"""Tables of MaxText and PaxML on GPUs."""

from __future__ import annotations

from dse.measured.table.cells import LACKING
from dse.measured.table.jax import rewrite_jax
from simcore.document.problem import Problem

ROW = {"device": "h100-80gb", "npus": "512", "fsdp_group": "128", "data_replicas": "4", "remat": "full", "zero": "3"}


def test_groups_and_copies_are_hybrid_sharding() -> None:
    found = rewrite_jax(ROW)
    assert not isinstance(found, Problem)
    assert (found["data"], found["shard_group"], found["zero"]) == ("512", "128", "3")
    assert (found["recompute"], found["software"]) == ("full", "maxtext")
    assert "remat" not in found


def test_one_copy_shards_over_all() -> None:
    found = rewrite_jax({**ROW, "data_replicas": "1"})
    assert not isinstance(found, Problem)
    assert found["data"] == "128"
    assert "shard_group" not in found


def test_a_wrong_cell_is_no_matter_of_expression() -> None:
    found = rewrite_jax({**ROW, "fsdp_group": "some"})
    assert isinstance(found, Problem)
    assert found.rule != LACKING
