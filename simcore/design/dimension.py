"""One dimension of the network: its topology, size, bandwidth, latency and what messages reach of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from simcore.design.algorithm import AlgorithmName
from simcore.design.efficiency import Efficiency
from simcore.design.library import NamedLibrary
from simcore.design.once import once
from simcore.document.field import Count, Flag, Frozen, Natural, Share
from simcore.document.form import format_value
from simcore.document.member import MemberOf
from simcore.document.problem import Refusal
from simcore.document.quantity import Bandwidth, Time
from simcore.network import ROUTING_KEYS, TOPOLOGIES, Block, block
from simcore.network.graph import Joint
from simcore.network.routing import ROUTINGS

Topology = Annotated[str, MemberOf(TOPOLOGIES)]
Routing = Annotated[str, MemberOf(ROUTINGS)]


def _read_ratios(value: Any) -> float | tuple[float, ...]:
    """One ratio or several; raises `ValueError` where one is no number of at least 1."""
    listed = value if isinstance(value, list | tuple) else [value]
    if not listed or not all(isinstance(one, int | float) and not isinstance(one, bool) and one >= 1 for one in listed):
        expected = "a ratio of at least 1, or a list of them from the leaves up"
        raise Refusal(expected, format_value(value))
    return tuple(map(float, value)) if isinstance(value, list | tuple) else float(value)


_RATIO = {"type": "number", "minimum": 1}
Oversubscription = Annotated[
    float | tuple[float, ...],
    PlainValidator(_read_ratios),
    PlainSerializer(lambda ratios: list(ratios) if isinstance(ratios, tuple) else ratios),
    WithJsonSchema({"anyOf": [_RATIO, {"type": "array", "minItems": 1, "items": _RATIO}]}),
]
Tier = Literal["chiplet", "package", "node", "pod"]


class GraphLink(Frozen):
    """A link between two nodes of a graph, which leads both ways."""

    between: tuple[Natural | str, Natural | str]
    """Its ends: numbers of NPUs along the dimension, or names of switches."""
    bandwidth: Annotated[Bandwidth, Field(gt=0)]
    """Each way [B/s]."""
    latency: Annotated[Time, Field(ge=0)] | None = None
    """Unless given that of the dimension; none from an NPU up to a switch [s]."""


class Graph(Frozen):
    """NPUs and switches of a dimension, and the links between them."""

    switches: tuple[str, ...] = ()
    """Names of nodes that are no NPUs."""
    links: Annotated[tuple[GraphLink, ...], Field(min_length=1)]
    """All of them."""

    def seen_alone(self, size: int, places: Sequence[int], latency: float) -> Graph:
        """The graph to a job that has the NPUs at `places` of `size`: the idle ones are switches, a step away each."""
        idle = [place for place in range(size) if place not in places]
        names: dict[int | str, int | str] = {place: number for number, place in enumerate(places)}
        names |= {place: f"idle {place}" for place in idle}

        def rename(link: GraphLink) -> GraphLink:
            steps = latency if link.latency is None and not set(link.between).isdisjoint(idle) else link.latency
            a, b = (names.get(end, end) for end in link.between)
            return link.model_copy(update={"between": (a, b), "latency": steps})

        relays = tuple(f"idle {place}" for place in idle)
        return self.model_copy(update={"switches": (*self.switches, *relays), "links": tuple(map(rename, self.links))})


class Dimension(Frozen):
    """One dimension of the network."""

    topology: Topology
    """How the NPUs (or groups of them) along the dimension are linked."""
    size: Count
    """NPUs, or groups of all dimensions further in, along the dimension."""
    bandwidth: Bandwidth
    """Injection bandwidth per NPU, each direction [B/s]."""
    latency: Time
    """One step between neighbours [s]."""
    tier: Tier = "node"
    """Where the links run, which decides their price."""
    leaf: Count | None = None
    """NPUs under each leaf switch of a fat tree or a Clos."""
    oversubscription: Oversubscription = 1.0
    """Traffic that leaves the leaf of a fat tree or a Clos (of a switch: all of it) gets bandwidth / oversubscription;
    of a Clos with pods, a list: of leaves, then of pods."""
    pod: Count | None = None
    """NPUs of each pod of a Clos of three levels."""
    routers: Count | None = None
    """Routers of each group of a dragonfly, each with `leaf` NPUs."""
    global_links: Count | None = None
    """Links of each router of a dragonfly to other groups."""
    sides: Annotated[tuple[Count, ...], Field(min_length=2, max_length=3)] | None = None
    """Sides of a torus, whose product is its size; NPUs are numbered along the first one first."""
    wrap: Annotated[tuple[Flag, ...], Field(min_length=2, max_length=3)] | None = None
    """Whether each side of a torus is closed; all are unless given."""
    twisted: Flag | None = None
    """Whether sides of k, of a torus of sides k and 2 k, close k places further along those of 2 k."""
    graph: Graph | None = None
    """The links of a graph, each between two NPUs (numbers from 0) or switches (names)."""
    routing: Routing | None = None
    """Which of several ways messages take; unless given the topology's usual one."""
    routing_seed: Natural = 0
    """Seed of the hash of `ecmp`: another seed, other collisions."""
    connections: Count = 1
    """Connections between two NPUs, over which `ecmp` spreads each message, every one by a hash of its own."""
    in_network: Flag = False
    """Its switches add up and copy: an all-reduce sends its buffer once."""
    trees: Count | None = None
    """Groups for which a switch can do that at the same time; any number unless given."""
    efficiency: Efficiency = 1.0
    """Share of the bandwidth that messages reach: a number, or a table by the size of a message."""
    affinity: Share = 1.0
    """Share of that which collectives reach whose group has several NPUs of what lies further in, but not all."""
    at_once: Flag = False
    """Collectives over several such dimensions use all of them at once: their chunks begin on each in turn, where
    `system.inter_dimension` is `baseline`."""
    library: NamedLibrary | None = None
    """What the library of collectives adds to the links' time (or its name in the catalogue); nothing unless given."""
    collective: AlgorithmName | None = None
    """All-reduce algorithm of this dimension, instead of its entry in `system.collective`."""
    nics: Count | None = None
    """NICs of each node (all NPUs of the dimensions further in), which share them: gives `bandwidth`."""
    nic_bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Bandwidth of one NIC, each direction [B/s]."""
    switch: str | None = None
    """Switches that join its NICs, a part of the catalogue; unless given the price list's for the rate of a NIC."""

    @property
    def channels(self) -> bool | None:
        """Whether its library lays several rings over it at once; None without such a library."""
        return True if self.library is not None and self.library.rings else None


@once
def block_of(dimension: Dimension) -> Block:
    """The topology block of a dimension."""
    its = TOPOLOGIES[dimension.topology]
    keys = (*its.keys, *ROUTING_KEYS) if its.routings else its.keys
    given = {key: value for key in keys if (value := getattr(dimension, key)) is not None}
    if dimension.graph is not None:
        given["graph"] = _relative_graph(dimension.graph, dimension.bandwidth, dimension.latency)
    return block(dimension.topology, dimension.leaf, dimension.oversubscription, **given)


@lru_cache(maxsize=64)
def _relative_graph(graph: Graph, bandwidth: float, latency: float) -> tuple[tuple[str, ...], tuple[Joint, ...]]:
    """A graph whose links are measured by the bandwidth and the latency of their dimension."""

    def steps(link: GraphLink) -> float | None:
        return None if link.latency is None else link.latency / latency if latency else 0.0

    joints = (Joint(link.between, link.bandwidth / bandwidth, steps(link)) for link in graph.links)
    return graph.switches, tuple(joints)
