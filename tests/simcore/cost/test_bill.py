"""The bill of a cluster: what it is built of, and that the price of the cluster is its sum."""

from __future__ import annotations

import pytest
from designs import designs, dimension
from hypothesis import given

from simcore.check.load import design_from
from simcore.cost.materials import bill_of
from simcore.cost.price import cluster_cost
from simcore.design.design import Design


@given(designs())
def test_the_price_of_a_cluster_is_the_sum_of_its_bill(design: Design) -> None:
    bill, cost = bill_of(design), cluster_cost(design)
    assert bill.price() == pytest.approx(cost.total)
    for group in ("network", "npu", "memory", "storage", "other"):
        assert bill.price([group]) == pytest.approx(getattr(cost, group))  # type: ignore[list-item]


def a100s(nodes: int) -> Design:
    inside = dimension("switch", 8, "300 GB/s", tier="node")
    outside = dimension("switch", nodes, "25 GB/s", tier="pod")
    workload = {"collective": "all_reduce", "size": "1 GB"}
    return design_from({"workload": workload, "cluster": {"npu": "a100-80gb", "dimensions": [inside, outside]}})


def test_hosts_and_the_network_between_nodes_draw_power_under_a_linear_list() -> None:
    bill = bill_of(a100s(16))
    watts = {item.part: item.count * item.watts for item in bill.items}
    assert watts["host of dgx-a100"] == 16 * 1600
    assert watts["NICs, pod"] == pytest.approx(128 * 25 * 0.48)
    assert watts["a100-80gb"] == 0  # they draw by what they do
    assert bill.watts == pytest.approx(sum(watts.values()))


@pytest.mark.parametrize(("more", "paid"), [({}, 0), ({"capacity": "300 GB"}, 44), ({"shared_by": 16}, 16)])
def test_a_node_comes_with_its_host_memory(more: dict[str, object], paid: float) -> None:
    """256 GB an NPU; beyond that, and of a pool of more NPUs than a node's, what is more is paid [GB an NPU]."""
    expanded = {"capacity": "256 GB", "bandwidth": "31.5 GB/s", **more}
    cluster = {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 128, "memory": {"expanded": expanded}}
    training = {"workload": {"model": "gpt3-175b", "global_batch": 128}, "parallelism": {"tensor": 8, "pipeline": 8}}
    for prices, each in (("street-2025", paid), ("libra", expanded_gb(expanded))):
        design = design_from({**training, "cluster": cluster, "cost": prices})
        assert cluster_cost(design).memory == pytest.approx(128 * each * 1e9 * design.cost.memory)


def expanded_gb(expanded: dict[str, object]) -> float:
    return float(str(expanded["capacity"]).removesuffix(" GB")) / int(str(expanded.get("shared_by", 1)))


def test_a_bill_at_its_maximum_is_the_nameplates_of_its_nodes_and_the_network() -> None:
    bill = bill_of(a100s(16))
    network = sum(item.count * item.watts_max for item in bill.items if item.group == "network")
    assert bill.watts_max - network == pytest.approx(16 * 6500)
