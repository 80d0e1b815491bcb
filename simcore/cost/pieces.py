"""The bill at a list of parts: nodes, what joins them, storage, management and racks, all in whole pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from simcore.cost.bill import NODES, UNUSED, Item
from simcore.cost.fabric import Place, buy_fabric
from simcore.cost.rack import nodes_per_rack
from simcore.cost.rest import Rest, buy_rest
from simcore.cost.shelf import Basket
from simcore.cost.torus import blocks_of, buy_torus
from simcore.cost.tree import Site
from simcore.design.cluster import Cluster
from simcore.design.node import Node, inner_dimensions, node_of, nodes_sold_with
from simcore.design.part import PartPrice
from simcore.design.prices import PriceList
from simcore.document.problem import Path, Problem


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a cluster is built of at a list of parts, or why it cannot be."""

    items: tuple[Item, ...]
    problems: tuple[Problem, ...]
    dimensions: tuple[float, ...] = ()
    """Price of the network of each dimension; the scale-up network counts to the first [$]."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What is bought beside the nodes of a job and the network between them."""

    storage: float
    """What it reads [B/s]."""
    spares: int
    """Nodes that stand by."""


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes of a cluster."""

    node: Node
    price: PartPrice
    inside: int
    """NPUs of a domain that are used."""
    each: int
    """Nodes of a domain."""
    domains: int
    sizes: tuple[int, ...]
    """Sizes of the dimensions inside a domain."""
    per_rack: int
    """Nodes of a rack."""

    @property
    def count(self) -> int:
        """All of them."""
        return self.each * self.domains

    @property
    def unused(self) -> int:
        """NPUs of domains that are sold whole and used in part."""
        return self.count - self.domains * -(-self.inside // self.node.size)

    @property
    def used(self) -> int:
        """NPUs of a node that are used."""
        return min(self.node.size, self.inside)


def buy(cluster: Cluster, prices: PriceList, beside: Beside) -> Pieces:
    """Everything that a cluster is built of."""
    basket = Basket(prices)
    nodes = _nodes(basket, cluster)
    if nodes is None:
        return Pieces((), tuple(basket.problems))
    basket.items += [_node_item(nodes), *_unused_items(nodes, cluster)]
    spares = max(0, beside.spares - nodes.unused)  # what a rack has too many stands by
    basket.items += [_spare_item(nodes, cluster, spares)] if spares else []
    _buy_scale_up(basket, nodes)
    each, switches = [basket.network, *[0.0] * len(cluster.dimensions[1:])], 0
    for index, place in enumerate(_places(cluster, nodes), len(inner_dimensions(cluster.dimensions))):
        before = basket.network
        switches += buy_fabric(basket, place, nodes.price.with_nics)
        each[index] += basket.network - before
    buy_rest(
        basket, Rest(nodes.node, nodes.count, nodes.per_rack, switches, _storage_rate(cluster, nodes), beside.storage)
    )
    return Pieces(tuple(basket.items), tuple(basket.problems), tuple(each))


def _storage_rate(cluster: Cluster, nodes: _Nodes) -> float | None:
    """The rate of a node's ports for storage: that of its NICs [B/s]; None where it has none."""
    given = [d.nic_bandwidth for d in cluster.dimensions if d.nic_bandwidth is not None]
    return next(iter([*given, *(sold.rate for sold in nodes.node.nics)]), None)


def _nodes(basket: Basket, cluster: Cluster) -> _Nodes | None:
    """The nodes of a cluster and their price; None, with a problem, where there are none or the list has none."""
    node, prices = node_of(cluster), basket.prices
    if node is None:
        found = f"'{cluster.npu.name}' with these inner dimensions"
        sold = ", ".join(dict.fromkeys(node.name for node in nodes_sold_with(cluster.npu.name)))
        known = f"choose a fabric of those that it is sold in ({sold}), " if sold else ""
        fix = f"{known}give 'cluster.node' and its price ('cost.nodes'), or a linear price list such as libra"
        basket.refuse(("cluster", "npu"), "NPUs and inner dimensions of a node of the catalogue", found, fix)
        return None
    name = f"{node.name} with {cluster.npu.name}"
    price = prices.nodes.get(name, prices.nodes.get(node.name))
    if price is None:
        called, missing = node.name or "NAME", "" if node.name else "give cluster.node a 'name', and "
        price_of = f"{called}: {{price: PRICE, low: LOW, high: HIGH, date: '2026', source: an offer}}"
        whole = f"with what a node of {node.size} costs"
        fix = f"{missing}write 'cost: {{base: {prices.name}, nodes: {{{price_of}}}}}' {whole}, or choose another list"
        found = f"'{node.name}'" if node.name else "one without a name"
        basket.refuse(("cluster", "npu"), f"a node with a price in list '{prices.name}'", found, fix)
        return None
    sizes = tuple(side for d in inner_dimensions(cluster.dimensions) for side in d.sides or (d.size,)) or (
        min(node.size, cluster.npus),
    )
    inside = prod(sizes)
    domain = min((size for size in node.scale_up.domains if size >= inside), default=None)
    if domain is None:
        expected = f"at most {max(node.scale_up.domains)} NPUs in a domain of '{node.name}'"
        basket.refuse(("cluster", "node"), expected, f"{inside}")
        return None
    blocks = blocks_of(node, sizes)
    each = blocks * node.per_rack if blocks else -(-(inside if node.scale_up.torus else domain) // node.size)
    return _Nodes(node, price, inside, each, -(-cluster.npus // inside), sizes, nodes_per_rack(node, prices))


def _node_item(nodes: _Nodes) -> Item:
    price, power = nodes.price, nodes.node.power
    known = nodes.node.sources
    source = f"price: {price.source} ({price.date}); power: {known.get('power', 'given')}"
    ends = (price.low, price.high)
    return Item(nodes.node.name, NODES, "npu", nodes.count, "", price.price, ends, power.host, power.nameplate, source)


def _unused_items(nodes: _Nodes, cluster: Cluster) -> Iterator[Item]:
    """The NPUs of these nodes that are not used: paid with their nodes, they draw what they do at idle."""
    unused = nodes.count * nodes.node.size - cluster.npus
    if unused > 0:
        idle = cluster.npu.power.idle
        yield Item(cluster.npu.name, UNUSED, "npu", unused, "", 0.0, (0.0, 0.0), idle, 0.0, "in the nodes' price")


def _spare_item(nodes: _Nodes, cluster: Cluster, count: int) -> Item:
    """Nodes that stand by, without a job; the network has ports for them, or takes them in another one's place."""
    watts = nodes.node.power.idle + nodes.node.size * cluster.npu.power.idle
    return replace(_node_item(nodes), where="spare nodes", count=count, watts=watts, watts_max=watts)


def _buy_scale_up(basket: Basket, nodes: _Nodes) -> None:
    scale_up = nodes.node.scale_up
    for name, count in scale_up.parts.items():
        part = basket.need("scale_up", ("cluster", "node", "scale_up", "parts"), name=name)
        basket.add(part, "scale-up", "network", nodes.domains * count)
    if scale_up.torus is not None:
        buy_torus(basket, nodes.node, scale_up.torus, nodes.sizes, nodes.domains)


def _places(cluster: Cluster, nodes: _Nodes) -> Iterator[Place]:
    """The dimensions between nodes."""
    dimensions, first = cluster.dimensions, len(inner_dimensions(cluster.dimensions))
    for index in range(first, len(dimensions)):
        dimension, inside = dimensions[index], prod(d.size for d in dimensions[:index])
        along = nodes.count * inside * dimension.size // cluster.npus
        networks = cluster.npus // (inside * dimension.size)
        where = "compute fabric" if len(dimensions) - first == 1 else f"fabric of dimension {index + 1}"
        path: Path = ("cluster", "dimensions", index)
        site = Site(where, "network", path, max(1, along), nodes.per_rack, networks)
        yield Place(dimension, site, nodes.node, max(1, along // dimension.size), nodes.used, max(inside, nodes.used))
