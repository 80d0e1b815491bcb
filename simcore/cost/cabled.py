"""Which networks between nodes can be cabled with the switches of the catalogue (`simcore.cost.clos`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import isclose

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.cost.clos import cable
from simcore.cost.dragonfly import count_routers
from simcore.cost.sold import Asked, Wire, nics_given, problem
from simcore.design.node import Node
from simcore.design.part import Part
from simcore.document.problem import Problem, Refusal
from simcore.document.quantity import write_quantity


def cabling_problems(asked: Asked, node: Node) -> Iterator[Problem]:
    """What of the network between nodes cannot be cabled; nothing where the node has no such NICs."""
    inside = asked.domain
    for index, wire in enumerate(asked.wires[asked.inner :], asked.inner):
        options = list(nics_given(wire, inside, node)) if wire.size > 1 and inside % node.size == 0 else []
        tried = [_refusal(wire, inside // node.size, rate, count, node) for rate, count in options]
        refused = [refusal for refusal in tried if refusal is not None]
        if refused and len(refused) == len(tried):
            yield problem(("dimensions", index), refused[0].expected, refused[0].found, refused[0].fix)
        inside *= wire.size


def _refusal(wire: Wire, step: int, rate: float, count: int, node: Node) -> Refusal | None:
    """Why no switch joins so many NICs of a rate of each node, `step` nodes along a dimension; None where one does.

    Several NICs for each NPU are planes beside each other, as `simcore.cost.fabric` has them.
    """
    rails = node.size if count % node.size == 0 else count
    leaf = None if wire.leaf is None else wire.leaf * step
    pod = None if wire.pod is None else wire.pod * step
    found: Refusal | None = Refusal(f"a switch with ports of {write_quantity(rate, 'bandwidth')}", "none")
    for ports in _port_counts(rate):
        try:
            if wire.routers and wire.global_links and wire.leaf:
                count_routers(wire.size, wire.routers, wire.global_links, wire.leaf, ports)
                return None
            cable(wire.size * step, rails, ports, wire.oversubscription, leaf, pod)
            return None
        except Refusal as refusal:
            found = refusal
    return found


@cache
def _port_counts(rate: float) -> tuple[int, ...]:
    """The numbers of ports that switches of a rate have, ascending."""
    parts = (preset(Part, "parts", name) for name in catalog.section("parts"))
    switches = [part for part in parts if part.kind == "switch" and part.rate is not None]
    return tuple(sorted({part.ports for part in switches if isclose(part.rate or 0.0, rate, rel_tol=1e-6)}))
