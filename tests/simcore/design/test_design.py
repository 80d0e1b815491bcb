"""The design document: every key of the contract, its defaults, its canonical form, presets and fabrics."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from designs import designs, dimension, npu, training
from hypothesis import given, settings
from pydantic import ValidationError

from simcore import catalog
from simcore.check.load import design_from, load_design
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.workload.collective.document import CollectiveWorkload
from simcore.workload.transformer.document import TransformerWorkload

CONTRACT = """
workload: {model: transformer-1t, global_batch: 1024, sequence_length: 2048, precision: fp16, gradient_precision: fp16}
parallelism: {tensor: 8, pipeline: 16, data: 8, context: 1, expert: 1, zero: 0, microbatch: 1, schedule: 1f1b,
              interleave: 1, recompute: none, sequence_parallel: false, bucket: 25 MB}
cluster:
  npu: a100-80gb
  dimensions:
    - {topology: switch, size: 8,   bandwidth: 300 GB/s, latency: 700 ns, tier: node}
    - {topology: switch, size: 128, bandwidth: 25 GB/s,  latency: 1.7 us, tier: pod}
  placement: [tensor, context, data, pipeline]
system: {collective: [halving_doubling, halving_doubling], chunks: 64, intra_dimension: priority,
         inter_dimension: baseline, active_chunks: overlap}
cost: libra
software: megatron-core
"""

LEAST: dict[str, Any] = {
    "workload": {"model": "transformer-1t", "global_batch": 1024},
    "parallelism": {"tensor": 8, "pipeline": 16},
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            dimension(size=8, bandwidth="300 GB/s", latency="700 ns", tier="node"),
            dimension(size=128, bandwidth="25 GB/s", latency="1.7 us", tier="pod"),
        ],
    },
}


@pytest.fixture
def contract(tmp_path: Path) -> Design:
    path = tmp_path / "design.yaml"
    path.write_text(CONTRACT)
    return load_design(path)


def test_every_key_of_the_contract_loads(contract: Design) -> None:
    workload, p, system = contract.workload, contract.parallelism, contract.system
    assert isinstance(workload, TransformerWorkload)
    assert (workload.model.hidden, workload.global_batch, workload.sequence) == (25600, 1024, 2048)
    assert (workload.precision, workload.gradient_precision) == ("fp16", "fp16")
    assert (p.tensor, p.pipeline, p.data, p.context, p.expert, p.zero, p.microbatch) == (8, 16, 8, 1, 1, 0, 1)
    assert (p.schedule, p.interleave, p.recompute, p.sequence_parallel, p.bucket) == ("1f1b", 1, "none", False, 25e6)
    assert contract.cluster.npu.name == "a100-80gb"
    assert contract.cluster.npus == 1024
    inner, outer = contract.cluster.dimensions
    assert (inner.topology, inner.size, inner.bandwidth, inner.latency, inner.tier) == ("switch", 8, 3e11, 7e-7, "node")
    assert (outer.topology, outer.size, outer.bandwidth, outer.latency, outer.tier) == (
        "switch",
        128,
        2.5e10,
        1.7e-6,
        "pod",
    )
    assert contract.cluster.placement == ("tensor", "context", "data", "pipeline")
    assert system.collective == ("halving_doubling", "halving_doubling")
    assert (system.chunks, system.intra_dimension, system.inter_dimension) == (64, "priority", "baseline")
    assert system.active_chunks == "overlap"
    assert contract.cost.name == "libra"
    assert contract.microbatches == 128


def test_what_is_left_out_has_the_default_of_the_contract(contract: Design) -> None:
    least = design_from({**LEAST, "workload": {**LEAST["workload"], "gradient_precision": "fp16"}})
    assert least.document() == contract.document()
    assert least.key == contract.key


@pytest.mark.parametrize("model", ["resnet-50", "dlrm-mlperf"])
def test_gradients_of_tables_and_recommenders_are_as_the_software_keeps_them(model: str) -> None:
    cluster = {"npu": "a100-80gb", "npus": 64, "fabric": "dgx-a100"}
    document = {"workload": {"model": model, "global_batch": 64}, "cluster": cluster}
    usual, old = design_from(document), design_from({**document, "software": "megatron-lm-2021"})
    assert (usual.software.name, usual.workload.gradient_precision) == ("pytorch-fsdp", "fp32")
    assert old.workload.gradient_precision == "fp16"


def test_what_is_left_out_is_as_the_software_has_it() -> None:
    core, old = design_from(LEAST), design_from({**LEAST, "software": "megatron-lm-2021"})
    assert (core.software.name, old.software.name) == ("megatron-core", "megatron-lm-2021")
    assert (core.workload.gradient_precision, old.workload.gradient_precision) == ("fp32", "fp16")
    assert (core.parallelism.flash_attention, old.parallelism.flash_attention) == (True, False)
    assert core.with_("software", "megatron-lm-2021").key == old.key
    given = {**LEAST["parallelism"], "flash_attention": True}
    kept = design_from({**LEAST, "parallelism": given, "software": "megatron-lm-2021"})
    assert kept.parallelism.flash_attention
    assert not kept.parallelism.cross_entropy_fusion


def test_the_data_degree_is_what_is_left_of_the_npus() -> None:
    assert design_from(LEAST).data == 8


@pytest.mark.parametrize(
    ("topology", "size", "algorithm"),
    [
        ("ring", 8, "ring"),
        ("fully_connected", 8, "direct"),
        ("switch", 8, "halving_doubling"),
        ("switch", 6, "ring"),
    ],
)
def test_the_default_algorithm_follows_the_topology(topology: str, size: int, algorithm: str) -> None:
    network = [dimension(topology, size, tier="node")]
    document = {
        "workload": {"collective": "all_reduce", "size": "1 MB"},
        "cluster": {"npu": npu(), "dimensions": network},
    }
    assert design_from(document).algorithms == (algorithm,)


def test_a_dimension_may_name_its_own_algorithm() -> None:
    document = training({}, [dimension(size=8, collective="double_binary_tree"), dimension(size=2)])
    design = design_from(document)
    assert design.algorithms == ("double_binary_tree", "halving_doubling")
    again = design.document()
    assert again["system"]["collective"] == ["double_binary_tree", "halving_doubling"]
    assert "collective" not in again["cluster"]["dimensions"][0]
    assert design_from(again).key == design.key


@settings(max_examples=200)
@given(designs())
def test_the_canonical_document_loads_back_to_an_equal_design_with_the_same_key(design: Design) -> None:
    document = json.loads(json.dumps(design.document()))
    again = design_from(document)
    assert again.document() == document
    assert again.key == design.key
    assert design_from(again.document()) == again
    assert again.algorithms == design.algorithms
    assert again.cluster == design.cluster
    assert again.cost == design.cost


def test_a_design_that_left_keys_out_loads_back_with_them_filled_in() -> None:
    least = design_from(LEAST)
    again = design_from(least.document())
    assert again.parallelism.data == least.data == 8
    assert again.system.collective == least.algorithms
    assert again.key == least.key


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("workload", "global_batch"), 2048),
        (("workload", "precision"), "bf16"),
        (("workload", "gradient_precision"), "fp16"),
        (("workload", "sequence_length"), 1024),
        (("parallelism", "tensor"), 4),
        (("parallelism", "zero"), 1),
        (("parallelism", "microbatch"), 2),
        (("parallelism", "schedule"), "gpipe"),
        (("parallelism", "interleave"), 2),
        (("parallelism", "recompute"), "full"),
        (("parallelism", "sequence_parallel"), True),
        (("parallelism", "bucket"), "50 MB"),
        (("cluster", "npu"), "h100-80gb"),
        (("cluster", "placement"), ["data", "tensor", "context", "pipeline"]),
        (("system", "chunks"), 32),
        (("system", "intra_dimension"), "scf"),
        (("system", "inter_dimension"), "themis"),
        (("system", "active_chunks"), 3),
        (("system", "collective"), ["ring", "ring"]),
        (("cost",), "network-only"),
        (("software",), "pytorch-fsdp"),
        (("software",), {"base": "megatron-core", "execution": "graph"}),
    ],
)
def test_every_key_is_part_of_the_identity(path: tuple[str, ...], value: object) -> None:
    document: dict[str, Any] = copy.deepcopy(LEAST)
    inner = document
    for part in path[:-1]:
        inner = inner.setdefault(part, {})
    inner[path[-1]] = value
    other = design_from(document)
    assert other.key != design_from(LEAST).key
    assert design_from(other.document()).key == other.key


def test_a_design_is_frozen() -> None:
    design = design_from(LEAST)
    with pytest.raises(ValidationError, match="frozen"):
        design.parallelism.tensor = 4


def test_a_workload_may_be_one_collective_without_parallelism() -> None:
    document = {
        "workload": {"collective": "all_reduce", "size": "1 GiB"},
        "cluster": {"npu": "a100-80gb", "dimensions": [dimension(size=8)]},
    }
    design = design_from(document)
    assert isinstance(design.workload, CollectiveWorkload)
    assert design.workload.size == 2.0**30
    assert "parallelism" not in design.document()
    assert design_from(design.document()).key == design.key


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ("models", ["transformer-1t", "gpt3-175b", "turing-nlg-17b", "llama3-8b", "llama3-70b", "llama3-405b"]),
        ("npus", ["v100-32gb", "a100-80gb", "h100-80gb", "b200", "tpu-v4"]),
        ("prices", ["libra", "network-only"]),
        ("fabrics", ["dgx-a100-hdr"]),
    ],
)
def test_the_catalogue_has_the_presets_of_the_contract(section: str, names: list[str]) -> None:
    assert set(names) <= set(catalog.section(section))


def test_an_inline_npu_keeps_its_numbers_in_the_canonical_document() -> None:
    document = training({}, [dimension(size=2)])
    written = design_from(document).document()["cluster"]["npu"]
    assert written["peak"] == {"fp16": "100 TFLOP/s"}
    assert written["memory"]["capacity"] == "80 GB"
    assert design_from(document) == design_from({**document, "cluster": {**document["cluster"], "npu": written}})


def test_a_preset_changed_in_one_number_is_written_out_and_not_by_name() -> None:
    document = copy.deepcopy(LEAST)
    document["cluster"]["npu"] = {**catalog.entry("npus", "a100-80gb"), "overhead": "9 us"}
    design = design_from(document)
    assert design.document()["cluster"]["npu"]["overhead"] == "9 us"
    assert design.key != design_from(LEAST).key
    assert design_from(design.document()) == design_from(design_from(design.document()).document())


def test_prices_that_no_short_text_holds_still_have_a_canonical_document() -> None:
    prices = {**catalog.entry("prices", "libra"), "name": "own", "memory": "3.123456789012345 $/GB"}
    prices["network"] = {"node": {"link": "7.0000000000000018 $/GB/s", "switch": "123456789.12345679 $/GB/s"}}
    design = design_from(training({}, [dimension(size=8)], cost=prices))
    assert design_from(design.document()).cost == design.cost


# Fabrics


@pytest.mark.parametrize(("npus", "sizes"), [(512, [8, 64]), (8, [8]), (4, [4]), (1, [1]), (16, [8, 2])])
def test_a_fabric_gives_dimensions_of_nodes_and_what_is_left(npus: int, sizes: list[int]) -> None:
    document = {**LEAST, "parallelism": {}, "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100-hdr", "npus": npus}}
    design = design_from({**document, "workload": {"model": "gpt3-175b", "global_batch": npus}})
    assert [d.size for d in design.cluster.dimensions] == sizes
    assert [d.bandwidth for d in design.cluster.dimensions] == [300e9, 12.5e9][: len(sizes)]
    assert [d.tier for d in design.cluster.dimensions] == ["node", "pod"][: len(sizes)]


def refused(cluster: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        design_from({**LEAST, "parallelism": {}, "cluster": {"npu": "a100-80gb", **cluster}})
    return str(error.value)


def test_a_fabric_that_is_unknown_says_the_nearest() -> None:
    assert "did you mean 'dgx-a100-hdr'?" in refused({"fabric": "dgx-a100-hrd", "npus": 64})


@pytest.mark.parametrize("npus", [None, "512", 0, -8, 8.5, True])
def test_a_fabric_needs_its_number_of_npus(npus: object) -> None:
    assert "the number of NPUs of the fabric" in refused({"fabric": "dgx-a100", "npus": npus})


def test_keys_that_are_none_are_told_with_the_fabric_that_cannot_be_had() -> None:
    message = refused({"fabric": "dgx-a100", "gpu": "H100", "nodes": 64})
    assert "got none; e.g. 'npus: 512'; 'gpu' is no key of a cluster, did you mean 'npu'?" in message
    assert "'nodes' is no key of a cluster, did you mean 'npus'?" in message


def test_several_numbers_of_npus_are_a_choice() -> None:
    assert "for several write npus: {choice: [256, 512]}" in refused({"fabric": "dgx-a100", "npus": [256, 512]})


def test_a_fabric_needs_whole_nodes() -> None:
    assert "fills whole groups of 8, got 12; e.g. 8 or 16" in refused({"fabric": "dgx-a100", "npus": 12})


def test_a_fabric_and_dimensions_are_one_too_many() -> None:
    message = refused({"fabric": "dgx-a100", "npus": 8, "dimensions": [dimension(size=8)]})
    assert "either 'fabric' or 'dimensions', got both" in message


def test_a_fabric_whose_sizes_leave_npus_over_is_refused() -> None:
    # Every dimension of this fabric has its size, so it has 8 NPUs, and not the 16 that are asked for.
    assert "16" in refused({"fabric": {"dimensions": [dimension(size=8)]}, "npus": 16})


@pytest.mark.parametrize(
    "fabric",
    [
        5,
        {},
        {"dimensions": 3},
        {"dimensions": [3]},
        {"dimensions": ["switch"]},
        {"dimensions": [dimension(size=8) | {"size": "8"}]},
        {"dimensions": [dimension(size=8) | {"size": 0}]},
        {"dimensions": [dimension(size=8) | {"size": -2}]},
        {"dimensions": [dimension(size=8) | {"size": None}]},
        {"dimensions": []},
    ],
)
def test_a_fabric_that_makes_no_sense_is_an_input_error_and_no_traceback(fabric: object) -> None:
    assert "cluster" in refused({"fabric": fabric, "npus": 8})


def test_modern_kernels_and_priority_are_the_default() -> None:
    least = design_from(LEAST)
    assert least.parallelism.flash_attention
    assert least.parallelism.cross_entropy_fusion
    assert least.system.intra_dimension == "priority"
