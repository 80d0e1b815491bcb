"""What can be ordered: the nodes of the catalogue with their NICs and memory, networks that switches can make."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import catalog
from simcore.cost.orderable import Order, order_of
from simcore.design.cluster import Cluster
from simcore.design.node import node_of
from simcore.metrics import METRICS, metrics
from simcore.simulate import simulate

A100 = {"topology": "switch", "size": 8, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"}
POD = {"topology": "switch", "size": 16, "bandwidth": "25 GB/s", "latency": "20 us", "tier": "pod"}


def order(*dimensions: dict[str, Any], npu: Any = "a100-80gb", **more: Any) -> Order:
    return order_of(Cluster.model_validate({"npu": npu, "dimensions": list(dimensions), **more}))


def on_fabric(npu: str, fabric: str, npus: int, **more: Any) -> Order:
    return order_of(Cluster.model_validate({"npu": npu, "fabric": fabric, "npus": npus, **more}))


def places(found: Order) -> set[str]:
    return {".".join(map(str, problem.path[1:])) for problem in found.problems}


SOLD = [
    *(("a100-80gb", fabric) for fabric in ("dgx-a100", "dgx-a100-hdr", "dgx-a100-hdr-8")),
    *(("a100-40gb", "dgx-a100"), ("a100-pcie-80gb", "pcie-gen4-node"), ("l40s", "pcie-gen4-node")),
    *(("h100-80gb", "dgx-h100"), ("h200", "dgx-h200"), ("h800", "hgx-h800"), ("h20", "dgx-h200")),
    *(("b200", "dgx-b200"), ("b300", "dgx-b300"), ("gb200", "gb200-nvl72"), ("gb300", "gb300-nvl72")),
    *((f"mi{model}x", f"mi{model}x-node") for model in (300, 325, 350, 355)),
    *(("gaudi2", "gaudi2-node"), ("gaudi3", "gaudi3-node"), ("rtx-pro-6000", "pcie-gen5-node")),
    *(("h100-pcie", "h100-pcie-node"), ("h100-nvl", "h100-pcie-node"), ("h200-nvl", "h200-nvl-node")),
    ("a800", "hgx-a800"),
    *((f"tpu-{model}", f"tpu-{model}-pod") for model in ("v4", "v5p", "v6e", "v7")),
]


@pytest.mark.parametrize(("npu", "fabric"), SOLD)
def test_the_fabrics_of_machines_that_are_sold_can_be_ordered(npu: str, fabric: str) -> None:
    assert on_fabric(npu, fabric, 512) == Order(on_fabric(npu, fabric, 512).node)
    assert on_fabric(npu, fabric, 512).orderable is True


def test_a_ring_of_chiplets_at_400_gbs_is_not_sold_for_an_a100_and_each_reason_names_its_place() -> None:
    ring = {"topology": "ring", "size": 4, "bandwidth": "400 GB/s", "latency": "20 ns", "tier": "chiplet"}
    found = order(ring, {**POD, "bandwidth": "75 GB/s"})
    assert found.orderable is False
    assert {"dimensions.0.topology", "dimensions.0.tier", "dimensions.0.bandwidth"} <= places(found)
    (rate,) = [problem for problem in found.problems if problem.path[-2:] == (0, "bandwidth")]
    assert "300 GB/s" in rate.expected
    assert rate.found == "400 GB/s"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"bandwidth": "75 GB/s"}, "dimensions.1.bandwidth"),
        ({"bandwidth": None, "nics": 3, "nic_bandwidth": "25 GB/s"}, "dimensions.1.nics"),
        ({"bandwidth": None, "nics": 8, "nic_bandwidth": "50 GB/s"}, "dimensions.1.nics"),
        ({"topology": "fat_tree", "leaf": 8, "size": 128}, ""),
        ({"topology": "fat_tree", "leaf": 128, "size": 512}, "dimensions.1"),
        ({"topology": "ring"}, "dimensions.1.bandwidth"),
        ({"tier": "node"}, "dimensions.1.size"),
    ],
)
def test_nics_and_switches_between_nodes_are_those_that_are_sold(change: dict[str, Any], place: str) -> None:
    pod = {key: value for key, value in {**POD, **change}.items() if value is not None}
    found = order(A100, pod)
    assert place in places(found) if place else found.orderable is True


def test_a_domain_is_of_whole_nodes_and_at_least_half_full() -> None:
    inner = {**A100, "bandwidth": "900 GB/s"}
    pod = {**POD, "bandwidth": "50 GB/s", "size": 4}
    verdicts = {n: order({**inner, "size": n}, pod, npu="gb200").orderable for n in (72, 64, 36, 18, 16, 70, 144)}
    assert verdicts == {72: True, 64: True, 36: True, 18: False, 16: False, 70: False, 144: False}


def test_a_part_of_one_node_can_be_used_but_not_of_several() -> None:
    half = {**A100, "size": 4}
    assert order(half).orderable is True
    assert places(order(half, POD)) >= {"dimensions.0.size"}


def test_a_side_of_a_slice_of_tpus_has_the_sizes_that_are_sold() -> None:
    mesh = {"topology": "mesh", "bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"}
    assert order({**mesh, "size": 4}, {**mesh, "size": 8}, npu="tpu-v5e").orderable is True
    assert places(order({**mesh, "size": 4}, {**mesh, "size": 5}, npu="tpu-v5e")) == {"dimensions.1.size"}


@pytest.mark.parametrize(
    ("topology", "shape", "sold"),
    [
        ("mesh", (2, 4, 4), True),
        ("ring", (2, 4, 4), False),  # a part of a cube has no links back
        ("mesh", (4, 8), False),
        ("ring", (4, 4, 4), True),
        ("ring", (4, 8, 16), True),
        ("ring", (16, 16), False),
        ("ring", (2, 8, 16), False),
    ],
)
def test_slices_of_a_torus_of_three_axes_are_whole_cubes_or_parts_of_one(
    topology: str, shape: tuple[int, ...], sold: bool
) -> None:
    """As Google's documentation has it; two axes of a v4 would be a pod of v5e, with a third of the links unused."""
    axis = {"topology": topology, "bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"}
    found = order(*({**axis, "size": size} for size in shape), npu="tpu-v4")
    assert (found.orderable, places(found)) == (sold, set() if sold else {"dimensions"})


@pytest.mark.parametrize(("wrap", "sold"), [([False] * 3, True), ([True] * 3, False)])
def test_a_torus_in_one_dimension_is_sold_by_its_axes(wrap: list[bool], sold: bool) -> None:
    axes = {"topology": "torus", "size": 32, "sides": [2, 4, 4], "wrap": wrap}
    found = order({**axes, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"}, npu="tpu-v4")
    assert found.orderable is sold


def test_memory_is_the_sizes_that_are_sold() -> None:
    more = {"capacity": "240 GB", "bandwidth": "96 GB/s"}
    grace = {"memory": {"expanded": more}}
    assert on_fabric("gb200", "gb200-nvl72", 72, **grace).orderable is True
    assert places(on_fabric("a100-80gb", "dgx-a100", 64, memory={"expanded": {**more, "bandwidth": "500 GB/s"}})) == {
        "memory.expanded"
    }
    assert places(on_fabric("a100-80gb", "dgx-a100", 64, memory={"capacity": "160 GiB"})) == {"memory.capacity"}
    assert on_fabric("h20", "dgx-h200", 64, memory={"capacity": "141 GB"}).orderable is True


def test_an_npu_that_is_spelled_out_is_not_checked() -> None:
    own = {**catalog.entry("npus", "a100-80gb"), "name": "mine"}
    found = order({**A100, "bandwidth": "1 TB/s"}, npu=own)
    assert (found.orderable, found.node) == (None, "")
    assert "not of the catalogue" in found.unchecked


def test_an_npu_that_no_node_is_sold_with_is_not_checked_and_says_why() -> None:
    assert "made for one customer" in on_fabric("h100-96gb-500w", "dgx-h100", 64).unchecked


@pytest.mark.parametrize("rate", [{"peak": {"fp16": "1 PFLOP/s"}}, {"memory": {"bandwidth": "8 TB/s"}}])
def test_a_variation_at_another_rate_is_not_what_is_sold_under_its_name(rate: dict[str, Any]) -> None:
    assert order(A100, POD, npu={"base": "a100-80gb", "price": "9000 $"}).orderable is True
    found = order(A100, POD, npu={"base": "a100-80gb", **rate})
    assert (found.orderable, [one.path for one in found.problems]) == (False, [("cluster", "npu")])
    assert order(A100, POD, npu={"base": "a100-80gb", "name": "mine", **rate}).orderable is None


def test_a_node_that_a_cluster_names_is_what_is_ordered() -> None:
    assert order(A100, POD, node="dgx-a100").orderable is True
    assert places(order(A100, POD, node="dgx-h100")) >= {"node"}


def test_a_cluster_is_made_of_the_node_with_the_least_domain_that_holds_it() -> None:
    def name(npu: str, **inner: Any) -> str | None:
        found = node_of(Cluster.model_validate({"npu": npu, "dimensions": [{**A100, **inner}]}))
        return found and found.name

    assert name("a100-40gb", size=8) == "dgx-a100"
    assert name("a100-40gb", size=16) == "hgx-a100-16"
    assert name("h100-80gb", size=4, topology="fully_connected") == "hgx-h100-4"
    assert name("a100-80gb", size=32) is None


def test_a_simulation_says_what_cannot_be_ordered_and_the_metric_counts_what_is_not_checked_as_orderable() -> None:
    from simcore.check.load import design_from

    collective = {"collective": "all_reduce", "size": "1 GiB"}

    def result(npu: Any, bandwidth: str) -> Any:
        cluster = {"npu": npu, "dimensions": [{**A100, "bandwidth": bandwidth}]}
        return simulate(design_from({"workload": collective, "cluster": cluster}))

    sold, unsold = result("a100-80gb", "300 GB/s"), result("a100-80gb", "400 GB/s")
    unknown = result({**catalog.entry("npus", "a100-80gb"), "name": "mine", "price": "1 $"}, "400 GB/s")
    assert [r.document()["orderable"] for r in (sold, unsold, unknown)] == [True, False, None]
    assert "order_notes" not in sold.document()
    assert "300 GB/s" in unsold.document()["order_notes"][0]
    assert [metrics(r)["orderable"] for r in (sold, unsold, unknown)] == [1.0, 0.0, 1.0]
    assert METRICS["orderable"].scope == "network"
