"""Dollars as LIBRA counts them (ISPASS 2024, arXiv 2109.11762)."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, npu, training

from simcore.check.load import design_from
from simcore.cost.linear import npu_price, unit_price
from simcore.cost.price import cluster_cost, price_problems
from simcore.design.design import Design
from simcore.document.problem import InputError

FOUR_D = [("ring", 4, "chiplet"), ("fully_connected", 8, "package"), ("ring", 4, "node"), ("switch", 32, "pod")]


def four_d(bandwidths: list[float], cost: Any = "libra", chip: Any = "a100-80gb") -> Design:
    dimensions = [
        dimension(topology, size, f"{bandwidth} GB/s", tier=tier)
        for (topology, size, tier), bandwidth in zip(FOUR_D, bandwidths, strict=True)
    ]
    workload = {"collective": "all_reduce", "size": "1 GB"}
    return design_from({"workload": workload, "cluster": {"npu": chip, "dimensions": dimensions}, "cost": cost})


def test_libras_4d_4k_at_100_gb_per_s_split_equally_costs_6_902_million() -> None:
    cost = cluster_cost(four_d([25.0] * 4))
    assert cost.network == pytest.approx(6.902e6, rel=1e-4)
    assert cost.network == pytest.approx(4096 * 25 * (2 + 4 + 4 + (7.8 + 18 + 31.6)))


@pytest.mark.parametrize(
    ("topology", "tier", "dollars"),
    [
        ("ring", "chiplet", 2.0),
        ("fully_connected", "chiplet", 2.0),
        ("ring", "package", 4.0),
        ("switch", "package", 17.0),
        ("ring", "node", 4.0),
        ("fully_connected", "node", 4.0),
        ("switch", "node", 17.0),
        ("ring", "pod", 7.8),
        ("switch", "pod", 57.4),
    ],
)
def test_each_element_costs_what_libra_says(topology: str, tier: str, dollars: float) -> None:
    design = design_from(training({}, [dimension(topology, 8, tier=tier)]))
    assert unit_price(design.cost, design.cluster.dimensions[0]) * 1e9 == pytest.approx(dollars)


def test_a_switch_between_chiplets_cannot_be_bought() -> None:
    ring = design_from(training({}, [dimension("ring", 8, tier="chiplet")]))
    inner = ring.cluster.dimensions[0].model_copy(update={"topology": "switch"})
    design = ring.model_copy(update={"cluster": ring.cluster.model_copy(update={"dimensions": (inner,)})})
    (problem,) = price_problems(design)
    assert problem.path == ("cluster", "dimensions", 0, "tier")


@pytest.mark.parametrize(
    ("name", "dollars"),
    [("v100-32gb", 8000), ("a100-80gb", 15000), ("h100-80gb", 30000), ("b200", 38000), ("tpu-v4", 10000)],
)
def test_an_npu_costs_what_the_price_list_says(name: str, dollars: float) -> None:
    design = four_d([25.0] * 4, chip=name)
    assert npu_price(design) == dollars
    cost = cluster_cost(design)
    assert cost.npu == 4096 * dollars
    assert cost.total == cost.network + cost.npu + cost.memory


def test_network_only_counts_the_network_alone() -> None:
    cost = cluster_cost(four_d([25.0] * 4, cost="network-only"))
    assert (cost.npu, cost.memory) == (0.0, 0.0)
    assert cost.total == cost.network == pytest.approx(6.902e6, rel=1e-4)


def test_an_npus_own_price_counts_whether_the_list_has_one_or_not() -> None:
    assert npu_price(four_d([25.0] * 4, chip=npu(price="1234 $"))) == 1234.0
    used = four_d([25.0] * 4, chip={"base": "a100-80gb", "price": "4000 $"})
    assert npu_price(used) == 4000.0
    assert cluster_cost(used).npu == 4096 * 4000.0


def test_a_list_of_whole_nodes_refuses_the_price_of_an_npu() -> None:
    with pytest.raises(InputError, match=r"cluster\.npu\.price: .*'street-2025' sells whole nodes.*4,000 \$"):
        four_d([25.0] * 4, chip={"base": "a100-80gb", "price": "4000 $"}, cost="street-2025")


def test_cost_is_linear_in_bandwidth() -> None:
    one, two = (cluster_cost(four_d([n * 10.0] * 4)).network for n in (1, 2))
    assert two == pytest.approx(2 * one)


def test_the_shipped_list_has_the_rates_of_the_model() -> None:
    prices = four_d([25.0] * 4).cost
    assert prices.electricity * 3.6e6 == pytest.approx(0.10)
    assert prices.memory * 1e9 == pytest.approx(8.0)
    assert prices.pue == 1.2
    assert prices.lifetime == 4 * 365 * 86400.0
