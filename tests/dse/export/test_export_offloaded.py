"""What lies in the host's memory: told to the program that has a word for it, named where it has none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from designs_to_export import DENSE, refused

from dse.export import export
from simcore.check.load import design_from
from simcore.document.problem import InputError


def offloading(*place: str, software: str = "megatron-core", precision: str = "bf16", **keys: Any) -> Any:
    memory = {"expanded": {"capacity": "256 GB", "bandwidth": "25 GB/s", "place": list(place)}}
    cluster = {**DENSE["cluster"], "memory": memory}
    workload = {**DENSE["workload"], "precision": precision}
    return design_from({**DENSE, "workload": workload, "cluster": cluster, "parallelism": keys, "software": software})


def test_megatron_keeps_the_optimizer_in_the_host_and_is_not_told_of_activations() -> None:
    exported = export(offloading("optimizer", tensor=8, zero=1), "megatron")
    assert "--optimizer-cpu-offload" in exported.text
    assert refused("megatron", exported.text) == []
    assert exported.unsaid == ()
    assert any("step the optimizer" in note for note in exported.notes)
    both = export(offloading("activations", "optimizer", tensor=8, zero=1), "megatron")
    (left,) = both.unsaid
    assert left == ("cluster.memory.expanded.place", "[activations, optimizer]", "[optimizer]")


def test_megatron_gathers_no_weights_in_8_bits_beside_an_offloaded_optimizer() -> None:
    design = offloading("optimizer", precision="fp8_block", tensor=8, zero=1)
    with pytest.raises(InputError, match="no optimizer beside weights that are gathered in 8 bits"):
        export(design, "megatron")


@pytest.mark.parametrize(
    ("zero", "place", "kept", "left"),
    [
        (2, ("optimizer",), {"offload_optimizer"}, None),
        (3, ("weights", "optimizer"), {"offload_optimizer", "offload_param"}, None),
        (0, ("optimizer",), set(), "[optimizer]"),
        (1, ("spill",), set(), "[spill]"),
    ],
)
def test_deepspeed_is_told_what_zero_keeps_in_the_host(
    zero: int, place: tuple[str, ...], kept: set[str], left: str | None
) -> None:
    design = offloading(*place, software="deepspeed", zero=zero, microbatch=2, data_overlap=False)
    exported = export(design, "deepspeed")
    said = json.loads(exported.text)["zero_optimization"]
    assert {key for key in said if key.startswith("offload")} == kept
    places = [entry.design for entry in exported.unsaid if entry.path == "cluster.memory.expanded.place"]
    assert places == ([] if left is None else [left])


def test_torchtitan_keeps_all_shards_in_the_host_or_none() -> None:
    whole = export(offloading("weights", "optimizer", software="pytorch-fsdp", zero=3, microbatch=2), "torchtitan")
    assert "--training.enable-cpu-offload" in whole.text
    assert refused("torchtitan", whole.text) == []
    assert whole.unsaid == ()
    part = export(offloading("optimizer", software="pytorch-fsdp", zero=3, gather="microbatch"), "torchtitan")
    assert "--training.enable-cpu-offload" not in part.text
    assert ("cluster.memory.expanded.place", "[optimizer]", "nothing") in part.unsaid
