"""At what price: a cluster, its racks, its power; and what a price list does not sell."""

from __future__ import annotations

from simcore.cost.linear import elements, memory_beyond, npu_price, unit_price
from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.once import once
from simcore.design.prices import PriceList
from simcore.document.problem import Problem
from simcore.result import Cost


@once
def cluster_cost(design: Design) -> Cost:
    """Price of the cluster [$]."""
    cluster, prices = design.cluster, design.cost
    network = cluster.npus * sum(unit_price(prices, d) * d.bandwidth for d in cluster.dimensions)
    npu = cluster.npus * (0.0 if prices.free_npus else npu_price(design))
    memory = cluster.npus * (memory_beyond(design) * prices.memory)
    return Cost(network=network, npu=npu, memory=memory, total=network + npu + memory)


def racks(design: Design) -> int:
    """Racks that the NPUs fill."""
    return -(-design.cluster.npus // design.cost.npus_per_rack)


def price_problems(design: Design) -> list[Problem]:
    """What of the design cannot be bought at its price list."""
    prices = design.cost
    problems = [
        Problem(
            ("cluster", "dimensions", index, "tier"),
            f"a tier with a price for a {element} in price list '{prices.name}'",
            f"'{dimension.tier}'",
            "choose another tier or topology, or spell the price list out",
        )
        for index, dimension in enumerate(design.cluster.dimensions)
        for element in elements(dimension.topology)
        if not _is_sold(prices, dimension, element)
    ]
    npu = design.cluster.npu
    if not prices.free_npus and npu.name not in prices.npu and npu.price is None:
        found = f"'{npu.name}'" if npu.name else "an NPU without a price"
        fix = "add 'price' to the NPU, or its name to the price list's 'npu'"
        problems.append(Problem(("cluster", "npu"), f"an NPU priced in '{prices.name}'", found, fix))
    return problems


def _is_sold(prices: PriceList, dimension: Dimension, element: str) -> bool:
    tier = prices.network.get(dimension.tier)
    return tier is not None and getattr(tier, element) is not None
