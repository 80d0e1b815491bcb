"""Whether a cluster can be ordered: what of it nobody sells, by the nodes of the catalogue and the switches between.

An NPU that is not of the catalogue, or that no node there is sold with, is not checked. A variation that keeps the name
of an NPU of the catalogue, and has another peak, memory bandwidth or such, is not sold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from simcore.cost.cabled import cabling_problems, tree_problems
from simcore.cost.sold import Asked, node_problems, problem
from simcore.design.cluster import Cluster
from simcore.design.design import Design
from simcore.design.lacked import lacked_by_libraries
from simcore.design.node import Node, nodes_sold_with
from simcore.design.npu import Npu
from simcore.design.once import once
from simcore.design.variation import is_in_catalogue, is_itself
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
        order = _order(Asked.of(cluster), (cluster.node,))
    elif why := _why_unchecked(cluster.npu):
        return Order(unchecked=why)
    else:
        order = _order_in_catalogue(Asked.of(cluster))
    return order if is_itself(cluster.npu) else replace(order, problems=(_unsold(cluster.npu), *order.problems))


def is_orderable(design: Design) -> bool:
    """Whether nothing is known that speaks against an order, nor do libraries lack anything."""
    return order_of(design.cluster).orderable is not False and not any(lacked_by_libraries(design))


def order_facts(design: Design) -> dict[str, Any]:
    """What a result says of orders, and of libraries."""
    order, lacked = order_of(design.cluster), tuple(map(str, lacked_by_libraries(design)))
    return {"orderable": order.orderable, "order_notes": order.notes, "library_notes": lacked}


def _why_unchecked(npu: Npu) -> str:
    """Why it is not known what an NPU is sold in; empty where it is."""
    if not is_in_catalogue(npu):
        return "the NPU is not of the catalogue"
    return "" if nodes_sold_with(npu.name) else f"no node of the catalogue is sold with {npu.name} ({npu.unsold})"


def _unsold(npu: Npu) -> Problem:
    """That a variation has the name of what is sold."""
    expected = f"{npu.name} as it is sold"
    fix = "give it a 'name' and a 'price' of its own"
    return problem(("npu",), expected, "one at other rates", fix)


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
