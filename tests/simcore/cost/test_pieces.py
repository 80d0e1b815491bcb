"""The bill at a list of parts: whole pieces, as published designs have them, and what cannot be bought."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from dse.space.space import space_from
from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.cost.bill import GROUPS
from simcore.cost.materials import bill_of
from simcore.cost.orderable import order_of
from simcore.cost.price import cluster_cost, network_cost, racks
from simcore.design.design import Design
from simcore.design.prices import PriceList
from simcore.document.problem import InputError
from simcore.document.text import parse_document

COLLECTIVE = {"collective": "all_reduce", "size": "1 GB"}


def cluster(npu: str, fabric: str, npus: int, cost: Any = "street-2025") -> Design:
    document = {"npu": npu, "fabric": fabric, "npus": npus}
    return design_from({"workload": COLLECTIVE, "cluster": document, "cost": cost})


def of_nodes(nodes: int, cost: Any = "street-2025", **outer: Any) -> Design:
    """Nodes of 8 H100s and a network between them."""
    inside = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us"}
    given = {
        "topology": "switch",
        "size": nodes,
        "nics": 8,
        "nic_bandwidth": "50 GB/s",
        "latency": "1 us",
        "tier": "pod",
    }
    dimensions = [inside, {**given, **outer}]
    return design_from(
        {"workload": COLLECTIVE, "cluster": {"npu": "h100-80gb", "dimensions": dimensions}, "cost": cost}
    )


def counted(design: Design) -> dict[tuple[str, str], float]:
    """(part, where) -> count."""
    return {(item.part, item.where): item.count for item in bill_of(design).items}


def test_the_price_is_the_sum_of_the_bill_group_by_group() -> None:
    design = cluster("h100-80gb", "dgx-h100", 1016)
    bill, cost = bill_of(design), cluster_cost(design)
    assert bill.price() == pytest.approx(cost.total) == pytest.approx(cost.capital)
    for group in GROUPS:
        assert bill.price([group]) == pytest.approx(getattr(cost, group))
    assert sum(network_cost(design)) == pytest.approx(cost.network)


def test_a_single_node_has_a_rack_with_two_power_strips() -> None:
    parts = counted(cluster("h100-80gb", "dgx-h100", 8))
    assert parts == {("dgx-h100", "nodes"): 1, ("rack", "nodes"): 1, ("rack-pdu", "racks"): 2}


def test_127_nodes_of_h100_have_the_published_parts() -> None:
    """NVIDIA DGX SuperPOD with DGX H100, RA-11333-001 V11, tables 7 and 8; docs/bill.md says where the two differ."""
    parts = counted(cluster("h100-80gb", "dgx-h100", 1016))
    assert parts["dgx-h100", "nodes"] == 127
    assert (parts["qm9700", "compute fabric, leaf"], parts["qm9700", "compute fabric, spine"]) == (32, 16)
    fibres = [count for (part, where), count in parts.items() if part == "mpo-om4" and where.startswith("compute")]
    assert sum(fibres) == 2040
    modules = [count for (part, where), count in parts.items() if part == "osfp-2sr4" and where.startswith("compute")]
    assert sum(modules) == 508 + 1536 - 4  # every cage is filled there, also those of 8 free ports
    assert (parts["sn4600c", "management network, leaf"], parts["sn4600c", "management network, spine"]) == (6, 2)
    assert parts["aoc-100g", "management network, node to leaf"] == 254
    assert (parts["rack", "nodes"], parts["rack", "switches, storage, management"]) == (32, 6)
    assert parts["rack-pdu", "racks"] == 96 + 12
    assert parts["management-server", "management"] == 5  # 4 in the document, 5 in its web edition


def test_a_pod_of_tpu_v4_has_the_published_parts() -> None:
    """Jouppi et al. 2023, arXiv 2304.01433: 64 racks of 4 x 4 x 4 chips, 48 circuit switches, 96 optical ports each."""
    design = cluster("tpu-v4", "tpu-v4-pod", 4096)
    parts = counted(design)
    assert parts["tpu-v4-host", "nodes"] == 1024
    assert parts["rack", "nodes"] == 64
    assert parts["palomar", "scale-up, between racks"] == 48
    assert parts["ici-optics", "scale-up, between racks"] == parts["ici-fibre", "scale-up, between racks"] == 64 * 96
    assert parts["ici-copper", "scale-up, in racks"] == 64 * 80  # 144 links inside, less 4 on each of 16 boards
    # arXiv 2502.03885 prices these parts at 1,567.20 $ a chip.
    assert cluster_cost(design).network / 4096 == pytest.approx(1567.20, abs=0.01)


@pytest.mark.parametrize(("npu", "chips", "switches", "ports"), [("tpu-v7", 9216, 48, 13824)])
def test_a_pod_of_tpu_v7_has_the_published_circuit_switches(npu: str, chips: int, switches: int, ports: int) -> None:
    """Hot Chips 2025: 144 racks of 64 chips, 48 circuit switches with 288 ports."""
    parts = counted(cluster(npu, f"{npu}-pod", chips))
    assert parts["ocs-300", "scale-up, between racks"] == switches
    assert parts["ici-optics", "scale-up, between racks"] == ports


@pytest.mark.parametrize(("chips", "switches"), [(64, 1), (128, 2), (512, 6), (2048, 24), (4096, 48)])
def test_of_few_racks_a_circuit_switch_joins_the_links_of_several_places(chips: int, switches: int) -> None:
    """A switch has 136 ports; 48 places of a rack's faces have two ends a rack each."""
    parts = counted(cluster("tpu-v4", "tpu-v4-pod", chips))
    ends = 96 * chips // 64
    assert parts["palomar", "scale-up, between racks"] == switches >= ends / 136
    assert parts["ici-optics", "scale-up, between racks"] == ends


def test_a_small_slice_of_a_torus_has_copper_alone() -> None:
    parts = counted(cluster("tpu-v4", "tpu-v4-pod", 32))  # 2 x 4 x 4
    assert parts["tpu-v4-host", "nodes"] == 8
    assert ("palomar", "scale-up, between racks") not in parts
    assert parts["ici-copper", "scale-up, in racks"] == 16 + 32 + 32 - 8 * 4


def test_a_ring_on_one_board_has_no_cables() -> None:
    ring = {"topology": "ring", "size": 8, "bandwidth": "900 GB/s", "latency": "2 us", "tier": "node"}
    document = {"workload": COLLECTIVE, "cluster": {"npu": "tpu-v6e", "dimensions": [ring]}, "cost": "street-2025"}
    assert counted(design_from(document)).get(("ici-copper", "scale-up, in racks"), 0) == 0


def test_a_rack_of_72_is_bought_whole_with_its_switch_trays() -> None:
    """NVIDIA GB200 NVL72: 18 trays of 4, 9 switch trays, 4 cartridges of copper; 72 NICs."""
    parts = counted(cluster("gb200", "gb200-nvl72", 1024))  # 64 of each rack take part
    racks_bought = 1024 // 64
    assert parts["gb200-nvl72", "nodes"] == 18 * racks_bought
    assert parts["nvlink5-switch-tray", "scale-up"] == 9 * racks_bought
    assert parts["nvlink5-cartridge", "scale-up"] == 4 * racks_bought
    assert parts["connectx-7", "compute fabric, nodes"] == 72 * racks_bought


@pytest.mark.parametrize(("npus", "spares", "bought"), [(1024, 0.1, 0), (1024, 0.2, 20), (1152, 0.1, 29)])
def test_trays_that_a_job_leaves_in_its_racks_stand_by(npus: int, spares: float, bought: int) -> None:
    """Of 16 racks of 18 trays a job on 64 of 72 uses 16 each: two of each rack stand by before others are bought."""
    design = cluster("gb200", "gb200-nvl72", npus).with_("reliability", {"base": "llama3", "spares": spares})
    assert counted(design).get(("gb200-nvl72", "spare nodes"), 0) == bought


@pytest.mark.parametrize(("nodes", "part"), [(4, "dac-400g"), (32, "osfp-2sr4"), (2048, "osfp-2sr4")])
def test_cables_are_copper_inside_a_rack_and_optical_beyond(nodes: int, part: str) -> None:
    assert any(name == part and "node to leaf" in where for name, where in counted(of_nodes(nodes)))


def test_cables_across_a_large_hall_are_single_mode() -> None:
    parts = counted(of_nodes(2048))
    assert ("osfp-2dr4", "compute fabric, spine to core") in parts
    assert ("mpo-smf", "compute fabric, spine to core") in parts


def test_nics_are_those_of_the_design_or_those_that_its_bandwidth_asks_for() -> None:
    given = of_nodes(16, nics=4)
    inferred = of_nodes(16, nics=None, nic_bandwidth=None, bandwidth="25 GB/s")
    assert counted(given)["connectx-7", "compute fabric, nodes"] == 64
    assert counted(given) == counted(inferred)


def test_a_node_brings_along_the_nics_that_are_in_its_price() -> None:
    parts = counted(cluster("gaudi3", "gaudi3-node", 256))
    assert not any("nodes" in where and part.startswith("connectx") for part, where in parts)
    assert parts["qm8790", "compute fabric, leaf"] == 48  # 24 ports of 200 Gb/s a node, in three planes of 8


def test_a_fat_tree_has_its_own_leaves_and_thinner_levels_above() -> None:
    full = of_nodes(128, topology="fat_tree", leaf=16)
    thin = of_nodes(128, topology="fat_tree", leaf=16, oversubscription=4.0)
    one, other = counted(full), counted(thin)
    assert (
        one["qm9700", "compute fabric, leaf"] == 8 * 4
    )  # 16 nodes fill half of a leaf's ports down: two rails share it
    assert other["qm9700", "compute fabric, leaf"] == 8 * 3  # and three of 8 where 51 ports are down
    assert other["mpo-om4", "compute fabric, leaf to spine"] == 24 * 12
    assert other["qm9700", "compute fabric, spine"] < one["qm9700", "compute fabric, spine"]


def test_a_design_names_its_switches() -> None:
    parts = counted(of_nodes(64, switch="tomahawk-5"))
    assert parts["tomahawk-5", "compute fabric, leaf"] == 8
    assert ("qm9700", "compute fabric, leaf") not in parts


def test_nameplates_of_nodes_have_their_nics() -> None:
    items = {item.part: item for item in bill_of(of_nodes(4)).items}
    assert items["dgx-h100"].watts_max == 10_200
    assert items["connectx-7"].watts > 0 == items["connectx-7"].watts_max


def test_racks_are_those_of_the_bill() -> None:
    assert racks(of_nodes(127)) == 38


@pytest.mark.parametrize(
    ("outer", "message"),
    [
        ({"nics": 3, "nic_bandwidth": "40 GB/s"}, r"none for NIC of 40 GB/s"),
        ({"switch": "qm8790"}, r"a switch of 50 GB/s a port, as the NICs have, got 'qm8790'"),
        (
            {"switch": "qm970"},
            r"cluster.dimensions\[1\].switch: expected a part of the catalogue, got 'qm970'; did you mean 'qm9700'",
        ),
        (
            {"nics": None, "nic_bandwidth": None, "bandwidth": "30 GB/s"},
            r"NICs of 'dgx-h100' give: 6.25, 12.5, 25, 50 GB/s an NPU, got 30 GB/s",
        ),
        (
            {"topology": "fat_tree", "leaf": 40},
            r"a leaf of 64 ports with a port up for 1 down, got 40 down; at most 32 fit",
        ),
        ({"size": 20_000}, r"NICs that switches of 64 ports can join, got 160,000; at most 65,536 fit"),
    ],
)
def test_what_cannot_be_bought_is_refused_with_what_can(outer: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        of_nodes(128, **outer)


def test_a_node_of_its_own_has_a_name_and_a_price() -> None:
    npu = {"peak": {"fp16": "800 TFLOP/s"}, "memory": {"capacity": "128 GB", "bandwidth": "4 TB/s"}}
    npu["power"] = {"max": "700 W", "idle": "100 W"}
    node = {
        "npu": ["own"],
        "size": 8,
        "scale_up": {"topology": ["switch"], "bandwidth": ["400 GB/s"], "domains": [8]},
        "power": {"nameplate": "8 kW", "host": "2 kW", "idle": "1 kW"},
        "per_rack": 4,
        "introduced": 2026,
    }
    inside = {"topology": "switch", "size": 8, "bandwidth": "400 GB/s", "latency": "1 us", "tier": "node"}
    cluster = {"npu": {"name": "own", **npu}, "dimensions": [inside]}
    document = {"workload": COLLECTIVE, "cost": "street-2025"}
    told = "got one without a name; give cluster.node a 'name', and write 'cost: {base: street-2025, nodes: {NAME: {"
    with pytest.raises(InputError, match=re.escape(told)):
        design_from({**document, "cluster": {**cluster, "node": node}})
    price = {"price": "300000 $", "low": "250000 $", "high": "350000 $", "date": "2026", "source": "an offer"}
    priced = {**document, "cost": {"base": "street-2025", "nodes": {"box": price}}}
    design = design_from({**priced, "cluster": {**cluster, "node": {**node, "name": "box"}}})
    assert counted(design)["box", "nodes"] == 1
    assert order_of(design.cluster).orderable is True


def test_a_node_without_a_price_is_refused() -> None:
    inside = {"topology": "ring", "size": 8, "bandwidth": "150 GB/s", "latency": "1 us"}
    document = {"workload": COLLECTIVE, "cluster": {"npu": "v100-32gb", "dimensions": [inside]}, "cost": "street-2025"}
    with pytest.raises(InputError, match="a node with a price in list 'street-2025', got 'dgx-1v'"):
        design_from(document)


@pytest.mark.parametrize(
    ("key", "price", "message"),
    [
        ("parts", {"price": "-1 $", "low": "0 $", "high": "1 $"}, "greater than or equal to 0|0 or more"),
        ("parts", {"price": "3 $", "low": "1 $", "high": "2 $"}, "a price between 'low' and 'high', got 3 of 1 to 2"),
    ],
)
def test_a_price_that_is_no_price_is_refused(key: str, price: dict[str, str], message: str) -> None:
    entry = {**price, "date": "2025", "source": "assumed"}
    with pytest.raises(InputError, match=message):
        of_nodes(16, cost={"base": "street-2025", key: {"qm9700": entry}})


def test_a_part_that_the_catalogue_lacks_is_refused() -> None:
    entry = {"price": "1 $", "low": "1 $", "high": "1 $", "date": "2025", "source": "assumed"}
    with pytest.raises(InputError, match=r"cost.parts.qm9701: expected a part of the catalogue, got 'qm9701'"):
        of_nodes(16, cost={"base": "street-2025", "parts": {"qm9701": entry}})


def test_every_problem_is_told_at_once() -> None:
    price = {"price": "1 $", "low": "1 $", "high": "1 $", "date": "2025", "source": "assumed"}
    with pytest.raises(InputError) as error:
        of_nodes(16, cost={"nodes": {"dgx-h100": price}, "parts": {"rack": price}})
    assert [problem.found for problem in error.value.problems] == [
        "none for NIC of 50 GB/s",
        "none for switch of 50 GB/s",
    ]


def test_a_network_that_reduces_is_built_of_switches_that_do() -> None:
    listed = preset(PriceList, "prices", "street-2025")
    ethernet_first = listed.model_copy(update={"parts": dict(sorted(listed.parts.items(), reverse=True))})

    def switches(**outer: Any) -> set[str]:
        bill = bill_of(of_nodes(16, **outer).model_copy(update={"cost": ethernet_first}))
        known = {"tomahawk-5", "qm9700"}
        return {item.part for item in bill.items if item.where.startswith("compute fabric")} & known

    assert switches() == {"tomahawk-5"}
    assert switches(in_network=True) == {"qm9700"}
    with pytest.raises(InputError, match=r"dimensions\[1\].switch: expected a switch that reduces, as in_network says"):
        of_nodes(16, in_network=True, switch="sn5600-400g")


def test_a_list_that_prices_bandwidth_and_parts_is_refused_in_designs_and_in_holes() -> None:
    both = {"base": "street-2025", "network": {"node": {"link": "8 $/(GB/s)"}}}
    with pytest.raises(InputError, match="or of nodes and parts by the piece, got network, nodes, parts; drop one"):
        of_nodes(16, cost=both)
    document = {**of_nodes(16).document(), "cost": {"choice": ["street-2025", both]}}
    with pytest.raises(InputError, match=r"cost\.choice\[1\]: .*got network, nodes, parts"):
        space_from(parse_document(yaml.safe_dump({**document, "objectives": {"minimize": ["cost.total"]}})), "both")
