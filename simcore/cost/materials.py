"""What a cluster is built of, and what that costs: the bill of a design at its price list."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from simcore.cost.bill import Bill
from simcore.cost.linear import linear_items, memory_items, server_items
from simcore.cost.pieces import Beside, Pieces, buy
from simcore.cost.pool import pool_items
from simcore.cost.rest import READ_PER_NPU, READS_FOR_WRITES
from simcore.design.cluster import Cluster
from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.node import Node, node_of
from simcore.design.once import once, once_for
from simcore.design.prices import PriceList
from simcore.design.same import Same
from simcore.network import BLOCK_KEYS
from simcore.reliability.storage import storage_needed
from simcore.reliability.waiting import spare_nodes

KEPT = 4096
"""Clusters whose bills are kept."""


def asked_of_linear(design: Design) -> tuple[Any, ...] | None:
    """What prices and watts of most designs at a linear list depend on; None of others."""
    cluster, prices = design.cluster, design.cost
    if prices.by_parts or cluster.memory is not None or design.parallelism.parameter_server is not None:
        return None
    return Same(cluster), Same(prices)


@once_for(asked_of_linear, KEPT)
def bill_of(design: Design) -> Bill:
    """The bill of a checked design; its sums are `cluster_cost`."""
    if not design.cost.by_parts:
        return Bill((*linear_items(design), *pool_items(design), *server_items(design)))
    return Bill((*pieces_of(design).items, *memory_items(design, _host_memory(design)), *server_items(design)))


def _host_memory(design: Design) -> float:
    """What of an NPU's expanded memory its node is sold with, and its price holds [B]; a pool of more NPUs is extra."""
    memory, node = design.cluster.memory, node_of(design.cluster)
    more = None if memory is None else memory.expanded
    if more is None or node is None or more.fabric or more.edge or more.shared_by > node.size:
        return 0.0
    return min(more.share, max((sold.capacity for sold in node.expanded), default=0.0))


def pieces_of(design: Design) -> Pieces:
    """What a cluster is built of at a list of parts, or why it cannot be."""
    cluster, prices = design.cluster, design.cost
    dimensions = tuple(_looked_at(dimension) for dimension in cluster.dimensions)
    node = None if cluster.node is None else _text(cluster.node)
    beside = Beside(_read_rate(design), spare_nodes(design))
    npu = (cluster.npu.name, cluster.npu.power.idle)
    key = (_text(prices), node, npu, dimensions, beside)
    return _buy(_Asked(key, cluster, prices, beside))


def _read_rate(design: Design) -> float:
    """What the storage reads, by what checkpoints are to be written at [B/s]."""
    needed = storage_needed(design)
    return design.cluster.npus * READ_PER_NPU if needed is None else READS_FOR_WRITES * needed[0]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A cluster and a price list; `key` is what their bill depends on."""

    key: tuple[Any, ...]
    cluster: Cluster = field(compare=False)
    prices: PriceList = field(compare=False)
    beside: Beside = field(compare=False)


@lru_cache(maxsize=KEPT)
def _buy(asked: _Asked) -> Pieces:
    return buy(asked.cluster, asked.prices, asked.beside)


def _looked_at(dimension: Dimension) -> tuple[Any, ...]:
    """What a bill looks at of a dimension."""
    d = dimension
    shape = (d.topology, d.size, d.tier, d.leaf, d.oversubscription, *(getattr(d, key) for key in BLOCK_KEYS))
    return (*shape, d.bandwidth, d.nics, d.nic_bandwidth, d.switch, d.in_network)


@once
def _text(part: Node | PriceList) -> str:
    """What tells a node, or a price list, from another one."""
    return part.model_dump_json()
