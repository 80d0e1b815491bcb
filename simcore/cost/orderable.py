"""Whether a cluster can be ordered: what of it nobody sells, by the nodes of the catalogue and the switches between.

An NPU that is not of the catalogue, or that no node there is sold with, is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.cost.cabled import cabling_problems, tree_problems
from simcore.cost.sold import Asked, node_problems
from simcore.design.cluster import Cluster
from simcore.design.design import Design
from simcore.design.lacked import lacked_by_libraries
from simcore.design.node import Node, nodes_sold_with
from simcore.design.npu import Npu
from simcore.design.once import once
from simcore.document.problem import Problem


@dataclass(frozen=True, slots=True)
class Order:
    """What became of an order for a cluster."""

    node: str = ""
    """Name of the node that it is made of, or comes nearest to; empty where nothing was checked."""
    problems: tuple[Problem, ...] = ()
    """What nobody sells; empty where all of it can be bought, or nothing was checked."""
    unchecked: str = ""
    """Why nothing was checked; empty where it was."""

    @property
    def orderable(self) -> bool | None:
        """Whether it can be ordered; None where that was not checked."""
        return None if self.unchecked else not self.problems

    @property
    def notes(self) -> tuple[str, ...]:
        """What nobody sells, or why nothing was checked, in sentences."""
        return (self.unchecked,) if self.unchecked else tuple(map(str, self.problems))


@once
def order_of(cluster: Cluster) -> Order:
    """Whether a cluster can be ordered: as its node, else as that of its NPU's which it misses least."""
    if cluster.node is not None:
        return _order(Asked.of(cluster), (cluster.node,))
    if why := _why_unchecked(cluster.npu):
        return Order(unchecked=why)
    return _order_in_catalogue(Asked.of(cluster))


def is_orderable(design: Design) -> bool:
    """Whether nothing is known that speaks against an order, nor do libraries lack anything."""
    return order_of(design.cluster).orderable is not False and not any(lacked_by_libraries(design))


def order_facts(design: Design) -> dict[str, Any]:
    """What a result says of orders, and of libraries."""
    order, lacked = order_of(design.cluster), tuple(map(str, lacked_by_libraries(design)))
    return {"orderable": order.orderable, "order_notes": order.notes, "library_notes": lacked}


def _why_unchecked(npu: Npu) -> str:
    """Why it is not known what an NPU is sold in; empty where it is."""
    if npu.name not in catalog.section("npus") or preset(Npu, "npus", npu.name).peak != npu.peak:
        return "the NPU is not of the catalogue"
    return "" if nodes_sold_with(npu.name) else f"no node of the catalogue is sold with {npu.name} ({npu.unsold})"


@lru_cache(maxsize=65_536)
def _order_in_catalogue(asked: Asked) -> Order:
    return _order(asked, nodes_sold_with(asked.npu))


def _order(asked: Asked, nodes: tuple[Node, ...]) -> Order:
    found = [Order(node.name, (*_problems(asked, node),)) for node in nodes]
    return min(found, key=lambda order: len(order.problems))


def _problems(asked: Asked, node: Node) -> Iterator[Problem]:
    yield from node_problems(asked, node)
    yield from cabling_problems(asked, node)
    yield from tree_problems(asked, node)
