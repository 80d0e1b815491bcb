"""The bill at a linear price list: NPUs, memory, and what the network has of bandwidth, dimension by dimension.

Network as LIBRA (ISPASS 2024, arXiv 2109.11762): per dimension N x element prices x bandwidth over all N NPUs, where a
ring, a mesh or a fully connected block needs links, and a switch a link, a port and (between pods) a NIC for each NPU.
A fat tree or a Clos has links and ports at each level, the upper ones divided by the oversubscription of those below;
a dragonfly has its share of local and global links; a graph what it lists (our own reading: LIBRA has none of them).
LIBRA's prices have no servers: hosts are counted for their watts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simcore.cost.bill import NODES, Group, Item
from simcore.design.design import Design
from simcore.design.dimension import Dimension, Tier
from simcore.design.node import node_of, nodes_sold_with
from simcore.design.npu import Npu
from simcore.design.prices import PriceList
from simcore.document.ranges import range_of
from simcore.network import TOPOLOGIES
from simcore.system.chunks import block_of

GB = 1e9
OWN = "as the design says it"
"""The source of a price that is in a design."""
HOST = (325.0, 575.0)
"""What the host of an NPU that no node is sold with draws in a job, and at the most [W]: assumed, as that of a DGX H100
(range 150 to 450 in a job)."""
WATTS: dict[tuple[str, str], tuple[float, float]] = {
    ("pod", "link"): (0.32, 0.34),
    ("pod", "switch"): (0.23, 0.27),
    ("pod", "nic"): (0.48, 0.66),
}
"""Tier and element -> what it draws in a job, and at the most [W per GB/s of an NPU]; assumed, half to twice of it.

Of 400 Gb/s: a link has two ends of 8 W (400G SR4), a switch's port an NVIDIA QM9700's 747 W over 64, a NIC a
ConnectX-7's 24 W. Links and switches of inner tiers are among the watts of NPUs and hosts.
"""


def elements(dimension: Dimension) -> tuple[str, ...]:
    """Network elements that each NPU needs in a dimension."""
    has_switches = TOPOLOGIES[dimension.topology].switched or (dimension.graph is not None and dimension.graph.switches)
    return ("link", "switch") if has_switches else ("link",)


def unit_price(prices: PriceList, dimension: Dimension) -> float:
    """Price of 1 B/s of one NPU's bandwidth in a dimension, at a linear list [$ per B/s]."""
    tier = prices.network[dimension.tier]
    its = block_of(dimension)
    counts = {"link": its.levels, "switch": its.ports}
    total = sum(getattr(tier, element) * counts[element] for element in elements(dimension))
    return float(total) + ((tier.nic or 0.0) if its.switched else 0.0)


def npu_price(design: Design) -> float:
    """Price of one NPU [$] of a checked design: see `own_or_listed`."""
    price = own_or_listed(design.cluster.npu, design.cost)
    assert price is not None  # checked at the door
    return price


def own_or_listed(npu: Npu, prices: PriceList) -> float | None:
    """Price of one NPU [$]: its own, else the price list's; None where neither has one."""
    return prices.npu.get(npu.name) if npu.price is None else npu.price


def memory_beyond(design: Design) -> float:
    """What one NPU has beyond its own memory, with its share of the expanded memory [B]."""
    memory = design.cluster.memory
    if memory is None:
        return 0.0
    own = design.cluster.npu.memory.capacity
    return (memory.capacity or own) - own + (memory.expanded.share if memory.expanded else 0.0)


def linear_items(design: Design) -> Iterator[Item]:
    """What a cluster is built of at a linear price list."""
    yield _npus(design)
    yield _hosts(design)
    for index, dimension in enumerate(design.cluster.dimensions):
        yield from _dimension_items(design, index, dimension)
    yield from memory_items(design)


def memory_items(design: Design, included: float = 0.0) -> Iterator[Item]:
    """Memory beyond the NPUs' own, and beyond the `included` of each NPU [B]; nothing where there is none."""
    size, prices = (memory_beyond(design) - included) * design.cluster.npus, design.cost
    if size:
        price, source = prices.memory * GB, prices.sources.get("memory", "")
        ends = _between(prices, "memory", price)
        yield Item("memory", "beyond the NPUs' own", "memory", size / GB, "GB", price, ends, 0.0, 0.0, source)


def server_items(design: Design) -> Iterator[Item]:
    """Dedicated parameter servers, at the price that the design says."""
    served = design.parallelism.parameter_server
    if served is not None and served.dedicated:
        price, watts = served.price or 0.0, served.power or 0.0
        each = (price, (price, price), watts, watts)
        yield Item("parameter server", "gradients", "other", served.servers, "", *each, OWN)


def servers_price(design: Design) -> float:
    """Price of dedicated parameter servers [$]."""
    return sum(item.count * item.price for item in server_items(design))


def _between(prices: PriceList, path: str, price: float) -> tuple[float, float]:
    """What a price of a list may be at the least and at the most [$]."""
    low, high = range_of(prices.ranges, path)
    return low * price, high * price


def _npus(design: Design) -> Item:
    npu, prices = design.cluster.npu, design.cost
    price = 0.0 if prices.free_npus else npu_price(design)
    name, source = npu.name or "NPU", prices.sources.get("npu", "") if npu.price is None else OWN
    ends = _between(prices, f"npu.{npu.name}" if npu.price is None else "npu", price)
    return Item(name, NODES, "npu", design.cluster.npus, "", price, ends, 0.0, npu.power.max, source)


def _hosts(design: Design) -> Item:
    """The hosts, for what they draw: of its nodes, else of the usual node of its NPUs, else one for each NPU."""
    cluster, npus = design.cluster, design.cluster.npus
    node = node_of(cluster) or next(iter(nodes_sold_with(cluster.npu.name)), None)
    if node is None:
        return Item("host of one NPU", NODES, "npu", npus, "", 0.0, (0.0, 0.0), *HOST, "assumed")
    most = max(node.power.nameplate - node.size * design.cluster.npu.power.max, node.power.host)
    nodes, source = -(-npus // node.size), node.sources.get("power", "")
    return Item(f"host of {node.name}", NODES, "npu", nodes, "", 0.0, (0.0, 0.0), node.power.host, most, source)


def _dimension_items(design: Design, index: int, dimension: Dimension) -> Iterator[Item]:
    its, where = block_of(dimension), f"dimension {index}, {dimension.tier}"
    each = {"link": its.levels, "switch": its.ports}
    counts = {element: each[element] for element in elements(dimension)}
    if its.switched and design.cost.network[dimension.tier].nic is not None:
        counts["nic"] = 1.0
    bandwidth = design.cluster.npus * dimension.bandwidth
    yield from wire_items(design.cost, dimension.tier, counts, bandwidth, where, "network")


def wire_items(
    prices: PriceList, tier: Tier, counts: Mapping[str, float], bandwidth: float, where: str, group: Group
) -> Iterator[Item]:
    """Links, ports and NICs of a tier for `bandwidth` [B/s] in all, so many of each as `counts` says."""
    for element, each in counts.items():
        price, source = getattr(prices.network[tier], element) * GB, prices.sources.get("network", "")
        ends = _between(prices, f"network.{tier}.{element}", price)
        watts = WATTS.get((tier, element), (0.0, 0.0))
        part = f"{_NAMES[element]}, {tier}"
        yield Item(part, where, group, bandwidth * each / GB, "GB/s", price, ends, *watts, source)


_NAMES = {"link": "links", "switch": "switch ports", "nic": "NICs"}
