"""At what price: network, NPUs, memory, power.

Network as LIBRA (ISPASS 2024, arXiv 2109.11762): per dimension N x element prices x bandwidth over all N NPUs, where a
ring, a mesh or a fully connected block needs links, and a switch a link, a port and (between pods) a NIC for each NPU.
A two-level fat tree has links and ports twice, the upper ones divided by its oversubscription (our own reading: LIBRA
has no fat tree).
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.once import once
from simcore.design.prices import PriceList
from simcore.document.problem import Problem
from simcore.network import TOPOLOGIES
from simcore.result import Cost
from simcore.system.chunks import block_of


def elements(topology: str) -> tuple[str, ...]:
    """Network elements that each NPU needs in a dimension."""
    return ("link", "switch") if TOPOLOGIES[topology].switched else ("link",)


def unit_price(prices: PriceList, dimension: Dimension) -> float:
    """Price of 1 B/s of one NPU's bandwidth in a dimension [$ per B/s]."""
    tier = prices.network[dimension.tier]
    total = sum(getattr(tier, element) for element in elements(dimension.topology))
    its = block_of(dimension)
    return float(total) * its.levels + ((tier.nic or 0.0) if its.switched else 0.0)


@once
def cluster_cost(design: Design) -> Cost:
    """Price of the cluster [$]."""
    cluster, prices = design.cluster, design.cost
    network = cluster.npus * sum(unit_price(prices, d) * d.bandwidth for d in cluster.dimensions)
    each = 0.0 if prices.free_npus else npu_price(design)
    npu = cluster.npus * each
    memory = cluster.npus * memory_price(design)
    return Cost(network=network, npu=npu, memory=memory, total=network + npu + memory)


def memory_price(design: Design) -> float:
    """Price of what one NPU has beyond its own memory, and of its share of the expanded memory [$]."""
    memory = design.cluster.memory
    if memory is None:
        return 0.0
    own = design.cluster.npu.memory.capacity
    beyond = (memory.capacity or own) - own
    return (beyond + (memory.expanded.share if memory.expanded else 0.0)) * design.cost.memory


def racks(design: Design) -> int:
    """Racks that the NPUs fill."""
    return -(-design.cluster.npus // design.cost.npus_per_rack)


def npu_price(design: Design) -> float:
    """Price of one NPU [$]: the price list's, or the NPU's own."""
    npu = design.cluster.npu
    price = design.cost.npu.get(npu.name, npu.price)
    assert price is not None  # checked at the door
    return price


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


def peak_power(design: Design) -> float:
    """What the cluster draws at the most, with PUE [W]."""
    return design.cluster.npus * design.cluster.npu.power.max * design.cost.pue


@dataclass(frozen=True, slots=True)
class Energy:
    """Power of the cluster [W] and energy of one iteration [J]."""

    power: float
    energy: float


def energy(design: Design, busy_share: float, seconds: float) -> Energy:
    """Energy of `seconds` in which NPUs compute for `busy_share` of the time.

    An NPU draws idle + (max - idle) x share; the building adds PUE.
    """
    draw = design.cluster.npu.power
    power = design.cluster.npus * (draw.idle + (draw.max - draw.idle) * busy_share) * design.cost.pue
    return Energy(power, power * seconds)
