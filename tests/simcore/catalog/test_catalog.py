"""The catalogue: every entry is valid, carries its source, and stands for itself by name."""

from __future__ import annotations

import pytest

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.fabric import fabric_dimensions
from simcore.design.library import Library
from simcore.design.node import Node, nodes_sold_with
from simcore.design.npu import Npu
from simcore.design.prices import PriceList
from simcore.document.problem import InputError
from simcore.simulate import simulate
from simcore.workload.transformer.model import Transformer

ENTRIES = [(section, name) for section in catalog.SECTIONS for name in catalog.section(section)]


@pytest.mark.parametrize(("section", "name"), ENTRIES)
def test_every_entry_says_where_its_numbers_come_from(section: str, name: str) -> None:
    entry = catalog.entry(section, name)
    assert entry["name"] == name
    if section in ("npus", "prices", "curves", "reliability"):
        numbers = set(entry) - {"name", "sources", "free_npus", "calibrated_on"}
        assert numbers <= set(entry["sources"]), f"without a source: {numbers - set(entry['sources'])}"
        assert all(entry["sources"].values())
    elif section == "nodes":
        numbers = set(entry) - {"name", "sources"}
        assert numbers == set(entry["sources"])
        assert all(entry["sources"].values())
    elif section == "libraries":
        assert preset(Library, section, name).source
    elif section == "software":
        told = set(entry) - {"name", "sources", "execution", "memory"}
        said = set(entry["sources"])
        assert told <= said, f"without a source: {told - said}"
        assert "memory" in said or set(entry["memory"]) <= said
    else:
        assert entry["source"]


@pytest.mark.parametrize("name", catalog.section("models"))
def test_a_model_is_a_transformer_whose_heads_divide_it_or_have_a_width(name: str) -> None:
    model = preset(Transformer, "models", name)
    assert isinstance(model, Transformer)
    assert model.head_dim or model.hidden % model.heads == 0
    assert model.heads % (model.kv_heads or model.heads) == 0


@pytest.mark.parametrize("name", catalog.section("npus"))
def test_an_npu_that_is_sold_is_priced_by_the_shipped_list_and_faster_at_lower_precision(name: str) -> None:
    npu, prices = preset(Npu, "npus", name), preset(PriceList, "prices", "libra")
    assert isinstance(npu, Npu)
    assert name in prices.npu or npu.unsold
    rates = [npu.peak[p] for p in ("fp32", "fp16", "fp8") if p in npu.peak]
    assert rates == sorted(rates)
    assert 0 < npu.power.idle < npu.power.max


@pytest.mark.parametrize("name", catalog.section("npus"))
def test_an_npu_is_sold_in_a_node_or_says_why_it_is_not(name: str) -> None:
    sold = nodes_sold_with(name)
    assert bool(sold) != bool(preset(Npu, "npus", name).unsold)


@pytest.mark.parametrize("name", catalog.section("nodes"))
def test_a_node_is_sold_with_npus_of_the_catalogue_and_fills_its_domains(name: str) -> None:
    node = preset(Node, "nodes", name)
    assert set(node.npu) <= set(catalog.section("npus"))
    assert all(domain % node.size == 0 for domain in node.scale_up.domains)
    assert node.withdrawn is None or node.withdrawn >= node.introduced


def test_an_npu_without_a_price_cannot_be_bought_at_a_list_that_prices_npus() -> None:
    tile = {"npu": "dojo-d1", "fabric": "dojo-tile", "npus": 25}
    document = {"workload": {"collective": "all_reduce", "size": "1 MiB"}, "cluster": tile}
    with pytest.raises(InputError, match="an NPU priced in 'libra', got 'dojo-d1'"):
        design_from(document)
    assert simulate(design_from({**document, "cost": "network-only"})).iteration_time_s > 0


@pytest.mark.parametrize("name", [name for name in catalog.section("fabrics") if name.startswith("dgx")])
def test_a_fabric_fits_any_number_of_whole_nodes(name: str) -> None:
    node = 16 if name == "dgx-2" else 8
    assert [d["size"] for d in fabric_dimensions(name, 512)] == [node, 512 // node]


@pytest.mark.parametrize("name", catalog.section("prices"))
def test_a_price_list_prices_every_tier_or_parts_of_the_catalogue(name: str) -> None:
    prices = preset(PriceList, "prices", name)
    if prices.by_parts:
        nodes = {key.split(" with ")[0] for key in prices.nodes}
        assert nodes <= set(catalog.section("nodes"))
        assert set(prices.parts) <= set(catalog.section("parts"))
        assert not prices.network
        return
    assert set(prices.network) == {"chiplet", "package", "node", "pod"}
    assert all(tier.link is not None and tier.link > 0 for tier in prices.network.values())


@pytest.mark.parametrize(
    ("name", "hidden", "n_layers", "heads"),
    [
        ("transformer-1t", 25600, 128, 160),
        ("gpt3-175b", 12288, 96, 96),
        ("turing-nlg-17b", 4256, 78, 28),
        ("mt-nlg-530b", 20480, 105, 128),
        ("megatron-22b", 6144, 48, 64),
        ("llama3-8b", 4096, 32, 32),
        ("llama3-70b", 8192, 80, 64),
        ("llama3-405b", 16384, 126, 128),
    ],
)
def test_models_have_their_published_shapes(name: str, hidden: int, n_layers: int, heads: int) -> None:
    model = preset(Transformer, "models", name)
    assert (model.hidden, model.layers, model.heads) == (hidden, n_layers, heads)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        ValueError, match=r"expected a model of the catalogue or one spelled out, got 'gpt3-175'; did you"
    ):
        catalog.entry("models", "gpt3-175")
    with pytest.raises(ValueError, match=r"all are listed by: dse catalogue npus"):
        catalog.entry("npus", "zzzz")


def test_a_node_that_is_named_as_a_fabric_is_said_to_be_a_node() -> None:
    network = {"npu": "h100-80gb", "fabric": "hgx-h100-4", "npus": 16}
    workload = {"model": "llama2-7b", "global_batch": 64, "sequence_length": 4096, "precision": "bf16"}
    with pytest.raises(ValueError, match=r"got 'hgx-h100-4'; it is a node: give the 'dimensions'"):
        design_from({"workload": workload, "cluster": network})


def test_a_preset_is_the_same_object_at_every_call() -> None:
    assert preset(Npu, "npus", "a100-80gb") is preset(Npu, "npus", "a100-80gb")


def test_a_pod_is_a_torus_and_a_wafer_a_mesh() -> None:
    for npus, sizes in (
        (4096, [16, 16, 16]),
        (1024, [8, 8, 16]),
        (96, [4, 4, 6]),
        (8, [2, 2, 2]),
        (14, [2, 7]),
        (7, [7]),
    ):
        assert [d["size"] for d in fabric_dimensions("tpu-v4-pod", npus)] == sizes
    assert [d["size"] for d in fabric_dimensions("tpu-v4-pod", 1)] == [1]
    assert [d["size"] for d in fabric_dimensions("wafer-5x4", 20)] == [5, 4]
    with pytest.raises(ValueError, match="at most 20 NPUs"):
        fabric_dimensions("wafer-5x4", 40)


@pytest.mark.parametrize(
    ("npu", "fabric", "npus", "mebibytes", "microseconds"),
    [
        ("a100-80gb", "dgx-a100-nccl", 8, 8, 134.3),
        ("a100-80gb", "dgx-a100-nccl", 8, 1024, 8193.0),
        ("b200", "dgx-b200-nccl", 8, 1024, 2597.7),
        ("b200", "dgx-b200-nccl", 32, 1024, 5747.1),
        ("a100-80gb", "dgx-a100", 8, 512, 4226.0),
        ("h100-80gb", "dgx-h100", 8, 512, 2111.0),
        ("b200", "dgx-b200", 8, 512, 1335.0),
    ],
)
def test_fabrics_with_a_library_give_the_times_of_nccl(
    npu: str, fabric: str, npus: int, mebibytes: int, microseconds: float
) -> None:
    workload = {"collective": "all_reduce", "size": f"{mebibytes} MiB"}
    design = design_from({"workload": workload, "cluster": {"npu": npu, "fabric": fabric, "npus": npus}})
    assert 1e6 * simulate(design).iteration_time_s == pytest.approx(microseconds, rel=0.1)


@pytest.mark.parametrize("section", catalog.SECTIONS)
def test_a_name_that_no_entry_has_is_refused_in_words(section: str) -> None:
    with pytest.raises(ValueError, match=r"^expected an? [\w ]+ of the catalogue or one spelled out, got 'nothing'; "):
        catalog.entry(section, "nothing")


def test_every_library_of_nccl_inside_a_node_says_what_it_has() -> None:
    found = {}
    for name, fabric in catalog.section("fabrics").items():
        library = fabric["dimensions"][0].get("library")
        if isinstance(library, str):
            library = catalog.entry("libraries", library)
        if library and "rccl" not in library.get("source", ""):
            found[name] = library
    assert {"dgx-a100-nccl", "dgx-b200-nccl", "dgx-h100"} <= set(found)
    for name, library in found.items():
        assert (library["algorithms"], library["rings"]) == (["ring", "flat_ring"], True), name
