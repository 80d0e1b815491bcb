"""What of a cluster a node is not sold with: the network inside its domain, its NICs, its memory.

Inside a domain a design has the topologies of the scale-up network at its rate (of a torus, each dimension its share of
the links). Several domains are alike, whole nodes, and at least half full: a job may leave a part of a rack empty.
Between nodes, all outer dimensions together have the bandwidth of the NICs of a node, shared by its NPUs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.cluster import Cluster
from simcore.design.node import NicsSold, Node, inner_dimensions
from simcore.design.npu import Npu
from simcore.document.problem import Path, Problem
from simcore.document.quantity import write_quantity
from simcore.network import TOPOLOGIES, ratios_of

RULE = "orderable"
"""The rule that is broken by what nobody sells."""
_CLOSE = 1e-6
"""Relative: by so much rates may differ that are the same."""


class Wire(NamedTuple):
    """What an order says of a dimension."""

    topology: str
    size: int
    bandwidth: float
    tier: str
    leaf: int | None
    pod: int | None
    sides: tuple[int, ...]
    """Sides of a torus in one dimension."""
    wrap: tuple[bool, ...]
    """Which of these have links back; all unless given."""
    routers: int | None
    global_links: int | None
    oversubscription: float | tuple[float, ...]
    in_network: bool
    trees: int | None
    nics: int | None
    nic_rate: float | None

    def axes(self) -> tuple[Wire, ...]:
        """A torus axis by axis, each with its share of the links, as nodes are sold with them; else the wire itself."""
        if not self.sides:
            return (self,)
        rate = self.bandwidth / len(self.sides)
        own = self._replace(bandwidth=rate, sides=(), wrap=())
        closed = self.wrap or (True,) * len(self.sides)
        kinds = (self.topology if wraps else "mesh" for wraps in closed)
        return tuple(own._replace(size=side, topology=kind) for side, kind in zip(self.sides, kinds, strict=True))

    @property
    def rate_key(self) -> str:
        """The key of the document that gives its rate."""
        return "bandwidth" if self.nics is None else "nics"


class Asked(NamedTuple):
    """All that an order says; what is equal here is sold, or not, alike."""

    npu: str
    wires: tuple[Wire, ...]
    inner: int
    """Dimensions that links of the NPUs themselves make."""
    memory: float
    """Memory of one NPU [B]."""
    expanded: tuple[float, float] | None
    """Capacity [B] and rate [B/s] of one NPU's expanded memory."""
    pooled: bool
    """Whether a fabric leads to that."""
    updates: bool
    """Whether it updates the weights that lie in it."""

    @classmethod
    def of(cls, cluster: Cluster) -> Asked:
        """What is asked for with a cluster."""
        own, more = cluster.npu.memory.capacity, cluster.memory
        expanded = None if more is None or more.expanded is None else (more.expanded.share, more.expanded.rate)
        wires = tuple(
            Wire(
                d.topology,
                d.size,
                d.bandwidth,
                d.tier,
                d.leaf,
                d.pod,
                d.sides or (),
                d.wrap or (),
                d.routers,
                d.global_links,
                d.oversubscription,
                d.in_network,
                d.trees,
                d.nics,
                d.nic_bandwidth,
            )
            for d in cluster.dimensions
        )
        inner = len(inner_dimensions(cluster.dimensions))
        pooled = more is not None and more.expanded is not None and bool(more.expanded.fabric)
        updates = more is not None and more.expanded is not None and more.expanded.updates
        return cls(cluster.npu.name, wires, inner, (more and more.capacity) or own, expanded, pooled, updates)

    @property
    def domain(self) -> int:
        """NPUs that the inner dimensions join."""
        return math.prod(wire.size for wire in self.wires[: self.inner])

    @property
    def domains(self) -> int:
        """How many such domains there are."""
        return math.prod(wire.size for wire in self.wires[self.inner :])


def problem(path: Path, expected: str, found: str, fix: str = "") -> Problem:
    """The problem of what nobody sells."""
    return Problem(("cluster", *path), expected, found, fix, rule=RULE)


def too_many_trees(place: Path, wire: Wire, sold: int, what: str) -> Problem:
    """The problem of more trees than switches have."""
    found = "any number" if wire.trees is None else str(wire.trees)
    return problem((*place, "trees"), f"at most {sold}, which {what} have", found, f"add 'trees: {sold}'")


def listed(values: Iterable[object]) -> str:
    """`1, 2 or 4` of several values."""
    *most, last = map(str, values)
    return f"{', '.join(most)} or {last}" if most else last


def node_problems(asked: Asked, node: Node) -> Iterator[Problem]:
    """What of a cluster a node is not sold with."""
    if asked.npu not in node.npu:
        yield problem(
            ("node",), f"a node that is sold with {asked.npu}", f"'{node.name}', sold with {listed(node.npu)}"
        )
    for index, wire in enumerate(asked.wires[: asked.inner]):
        yield from dict.fromkeys(found for axis in wire.axes() for found in _inner_problems(axis, index, asked, node))
    yield from _domain_problems(asked, node)
    yield from _outer_problems(asked, node)
    yield from _nic_problems(asked, node)
    yield from _memory_problems(asked, node)


def _inner_problems(wire: Wire, index: int, asked: Asked, node: Node) -> Iterator[Problem]:
    """What nobody sells of a dimension inside a domain."""
    sold, place = node.scale_up, ("dimensions", index)
    own_tiers = ("node", "pod") if sold.axes > 1 else ("node",)
    if wire.size == 1:
        return
    if wire.topology not in sold.topology:
        expected = f"{listed(sold.topology)}, which joins the NPUs of {node.name}"
        yield problem((*place, "topology"), expected, f"'{wire.topology}'")
    if wire.tier not in own_tiers:
        yield problem((*place, "tier"), f"tier node, where {node.name} joins its NPUs", f"'{wire.tier}'")
    rates = [rate / sold.axes for rate in sold.bandwidth]
    if not any(_are_close(wire.bandwidth, rate) for rate in rates):
        expected = f"{listed(map(_rate, rates))}, as {node.name} joins its NPUs"
        yield problem((*place, "bandwidth"), expected, _rate(wire.bandwidth))
    if (thinnest := max(ratios_of(wire.oversubscription))) != 1:
        yield problem((*place, "oversubscription"), f"1 inside {node.name}", f"{thinnest:g}")
    if wire.in_network and not sold.in_network:
        yield problem((*place, "in_network"), f"switches of {node.name}, which do not reduce", "in_network: true")
    elif wire.in_network and sold.trees is not None and (wire.trees or math.inf) > sold.trees:
        yield too_many_trees(place, wire, sold.trees, f"switches of {node.name}")
    if sold.sides and wire.size not in sold.sides:
        yield problem((*place, "size"), f"a side of {listed(sold.sides)}", str(wire.size))


def _domain_problems(asked: Asked, node: Node) -> Iterator[Problem]:
    """Domains that are not sold: too large, parts of nodes, or too empty."""
    sold, place = node.scale_up, ("dimensions", max(asked.inner - 1, 0))
    used = sum(axis.size > 1 for wire in asked.wires[: asked.inner] for axis in wire.axes())
    if used > sold.axes:
        yield problem(("dimensions",), f"{sold.axes} dimensions inside {node.name} at most", str(used))
    if sold.cube is not None:
        yield from _cube_problems(asked, node, sold.cube)
    domain, most = asked.domain, max(sold.domains)
    if domain > most:
        yield problem((*place, "size"), f"at most {most:,} NPUs that {node.name} joins without NICs", f"{domain:,}")
    elif asked.domains > 1 and domain % node.size:
        yield problem((*place, "size"), f"whole nodes, {node.size} NPUs each", f"domains of {domain}")
    elif asked.domains > 1 and not sold.sides and not any(domain <= size <= 2 * domain for size in sold.domains):
        yield problem((*place, "size"), f"domains of {listed(sold.domains)} NPUs, at least half full", str(domain))


def _cube_problems(asked: Asked, node: Node, cube: int) -> Iterator[Problem]:
    """Slices of a torus that are sold by whole cubes: smaller ones are parts of a cube, without links back."""
    axes = [axis for wire in asked.wires[: asked.inner] for axis in wire.axes() if axis.size > 1]
    shape, whole = " x ".join(str(axis.size) for axis in axes), cube**node.scale_up.axes
    if asked.domain < whole:
        if any(axis.size > cube for axis in axes):
            expected = f"sides of at most {cube} where {node.name} joins less than {whole} NPUs"
            yield problem(("dimensions",), expected, shape)
        if any(axis.size > 2 and axis.topology != "mesh" for axis in axes):
            expected = f"meshes: slices of less than {whole} NPUs of {node.name} have no links back"
            yield problem(("dimensions",), expected, f"rings, {shape}")
    elif len(axes) < node.scale_up.axes or any(axis.size % cube for axis in axes):
        expected = f"{node.scale_up.axes} sides, each a multiple of {cube}, where {node.name} joins as many NPUs"
        yield problem(("dimensions",), expected, shape)


def _outer_problems(asked: Asked, node: Node) -> Iterator[Problem]:
    """Dimensions between nodes that no switches make."""
    for index, wire in enumerate(asked.wires[asked.inner :], asked.inner):
        if wire.size > 1 and (wire.tier != "pod" or not TOPOLOGIES[wire.topology].switched):
            expected = f"switches of tier pod outside the domain of {node.name}"
            yield problem(("dimensions", index), expected, f"'{wire.topology}' of tier {wire.tier}")


def _nic_problems(asked: Asked, node: Node) -> Iterator[Problem]:
    """NICs that a node is not sold with."""
    outer = [(i, wire) for i, wire in enumerate(asked.wires[asked.inner :], asked.inner) if wire.size > 1]
    if not outer:
        return
    (index, first), *_ = outer
    whole = sum(wire.bandwidth for _, wire in outer) * node.size
    rates = {wire.nic_rate for _, wire in outer if wire.nics is not None}
    if not any(_gives(sold, count, whole, rates) for sold in node.nics for count in sold.count):
        choices = [f"{listed(sold.count)} NICs of {_rate(sold.rate)}" for sold in node.nics]
        expected = f"what {node.name}, a node of {node.size}, is sold with ({', '.join(choices)})"
        found = f"{_rate(whole)} a node" if first.nics is None else f"{_nics(first, asked, node)} a node"
        yield problem(("dimensions", index, first.rate_key), expected, found)


def nics_given(wire: Wire, inside: int, node: Node) -> Iterator[tuple[float, int]]:
    """The rates that the NICs of a dimension can have [B/s], each with how many of a node they are."""
    if wire.nics is not None and wire.nic_rate is not None:
        if wire.nics * node.size % inside == 0:
            yield wire.nic_rate, wire.nics * node.size // inside
        return
    for sold in node.nics:
        count = round(wire.bandwidth * node.size / sold.rate)
        if count and _are_close(count * sold.rate, wire.bandwidth * node.size):
            yield sold.rate, count


def _gives(sold: NicsSold, count: int, whole: float, rates: set[float | None]) -> bool:
    """Whether so many of these NICs give a node what it needs, of one of the rates that are asked for."""
    asked = all(rate is not None and _are_close(rate, sold.rate) for rate in rates)
    return asked and _are_close(count * sold.rate, whole)


def _nics(wire: Wire, asked: Asked, node: Node) -> str:
    each = (wire.nics or 0) * node.size / asked.domain
    return f"{each:g} of {_rate(wire.nic_rate or 0.0)}"


def _memory_problems(asked: Asked, node: Node) -> Iterator[Problem]:
    """Memory that an NPU is not sold with; one that is spelled out is sold with its own."""
    known = asked.npu in node.npu and asked.npu in catalog.section("npus")
    sizes = [preset(Npu, "npus", asked.npu).memory.capacity, *node.memory] if known else [asked.memory]
    if not any(_are_close(asked.memory, size) for size in sizes):
        expected = f"{listed(write_quantity(size, 'size') for size in sizes)}, as {asked.npu} is sold"
        yield problem(("memory", "capacity"), expected, write_quantity(asked.memory, "size"))
    if asked.expanded is not None and not any(_holds(asked.expanded, s.capacity, s.bandwidth) for s in node.expanded):
        most = [f"{write_quantity(s.capacity, 'size')} at {_rate(s.bandwidth)}" for s in node.expanded]
        expected = f"at most {listed(most)} an NPU with {node.name}" if most else f"none with {node.name}"
        found = f"{write_quantity(asked.expanded[0], 'size')} at {_rate(asked.expanded[1])} an NPU"
        yield problem(("memory", "expanded"), expected, found)
    if asked.pooled:
        yield problem(("memory", "expanded", "fabric"), "none: no pool of memory is in the catalogue", "a fabric")
    if asked.updates:
        yield problem(("memory", "expanded", "updates"), f"false with {node.name}", "true")


def _holds(asked: tuple[float, float], capacity: float, rate: float) -> bool:
    return asked[0] <= capacity * (1 + _CLOSE) and asked[1] <= rate * (1 + _CLOSE)


def _are_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE)


def _rate(bandwidth: float) -> str:
    return write_quantity(bandwidth, "bandwidth")
