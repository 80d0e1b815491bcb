"""What fabrics of graphs cost: whole switches and links, and linear prices by level."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import load_design
from simcore.cost.clos import cable
from simcore.cost.dragonfly import count_routers
from simcore.cost.linear import unit_price
from simcore.cost.orderable import order_of
from simcore.design.design import Design
from simcore.document.problem import Refusal


def a_design(npu: str, *dimensions: dict[str, Any]) -> Design:
    return load_design(
        {
            "workload": {"collective": "all_reduce", "size": "1 MiB"},
            "cluster": {"npu": npu, "dimensions": list(dimensions)},
        }
    )


def test_a_dragonfly_has_a_switch_for_each_router_and_a_link_between_any_two_groups() -> None:
    """Slingshot (De Sensi et al. 2020): 16 endpoints, 31 local and 17 global ports of 64; 545 groups at the most."""
    found = count_routers(16 * 32 * 545, 32, 17, 16, 64)
    assert found.switches == 32 * 545
    assert found.local == 545 * 32 * 31 // 2
    assert found.between == 545 * 544 // 2
    with pytest.raises(Refusal, match="switches of 64 ports"):
        count_routers(16 * 32 * 545, 32, 17, 16, 48)


def test_pods_are_thinned_by_their_own_ratio() -> None:
    full = cable(512, 1, 64, 1.0, 32, 128)
    thin = cable(512, 1, 64, (1.0, 4.0), 32, 128)
    assert (full.leaves, full.node_links, full.leaf_links) == (thin.leaves, thin.node_links, thin.leaf_links)
    assert full.spine_links == 4 * thin.spine_links
    assert full.group == thin.group == 128


def test_linear_prices_count_a_link_and_a_port_a_level() -> None:
    pod = {"size": 64, "bandwidth": "50 GB/s", "latency": "1 us", "tier": "pod"}
    plain, thin, three = (
        a_design("h100-80gb", {**pod, **more})
        for more in (
            {"topology": "switch"},
            {"topology": "clos", "leaf": 8, "oversubscription": 4},
            {"topology": "clos", "leaf": 8, "pod": 32, "oversubscription": [2, 2]},
        )
    )
    prices = plain.cost
    of_pod = prices.network["pod"]
    assert of_pod.link is not None
    assert of_pod.switch is not None
    level = of_pod.link + of_pod.switch
    once, twice, thrice = (unit_price(prices, design.cluster.dimensions[0]) for design in (plain, thin, three))
    assert twice - once == pytest.approx(level / 4)
    assert thrice - once == pytest.approx(level * (1 / 2 + 1 / 4))


def test_a_graph_that_is_a_switch_costs_what_a_switch_costs_but_its_nics() -> None:
    node = {"size": 4, "bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"}
    links = [{"between": [npu, "hub"], "bandwidth": "100 GB/s"} for npu in range(4)]
    graph = a_design("a100-80gb", {**node, "topology": "graph", "graph": {"switches": ["hub"], "links": links}})
    switch = a_design("a100-80gb", {**node, "topology": "switch"})
    prices = [unit_price(design.cost, design.cluster.dimensions[0]) for design in (graph, switch)]
    assert prices[0] == pytest.approx(prices[1])


@pytest.mark.parametrize("twisted", [False, True])
def test_a_slice_of_a_pod_of_tpus_is_sold_in_any_shape(twisted: bool) -> None:
    torus = {"topology": "torus", "size": 128, "sides": [4, 4, 8], "twisted": twisted, "tier": "node"}
    design = a_design("tpu-v4", {**torus, "bandwidth": "300 GB/s", "latency": "1 us"})
    assert list(order_of(design.cluster).problems) == []
    thinner = a_design("tpu-v4", {**torus, "bandwidth": "200 GB/s", "latency": "1 us"})
    assert [problem.path[-1] for problem in order_of(thinner.cluster).problems] == ["bandwidth"]
