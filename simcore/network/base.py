"""A topology block: one network dimension as a parallel group sees it.

A group takes a factor of a dimension: `members` NPUs, `stride` apart, out of `size`. A block is its links (`wiring`,
`routes`), over which the link-level engine sends the messages of `simcore.collective`, and a few facts. What a *step*
costs in which every member of the group does the same (a `Pattern`) follows from the links: how long it occupies each
member's ports, and how many neighbour-to-neighbour hops its slowest message travels. Occupancy is a factor on bytes /
bandwidth, so that it can be worked out once for a group and used for every message size. Where a block knows a closed
form it says so in `step`, and a test holds that to the links.

The steps of a phase may use different links (a halving_doubling among NPUs that are all connected: another link each
step). Then the next chunk begins before the last step of this one is over: `carried` says what a step puts on which
link, so that the busiest link of a whole phase is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from simcore.document.problem import Refusal
from simcore.network.from_links import cost_from_links, listed_cost, listed_loads, loads_from_links
from simcore.network.loads import Crossings, Pools, crossings_of, pools_of, whole_links
from simcore.network.pattern import Listed, Loads, Pattern, StepCost
from simcore.network.reduction import Rung, SwitchTree
from simcore.network.sent import Ints
from simcore.network.wiring import Link, Route, Shape, Slice


def ratios_of(oversubscription: float | tuple[float, ...]) -> tuple[float, ...]:
    """Ratio of each level, from the leaves up; one number is that of the leaves."""
    return oversubscription if isinstance(oversubscription, tuple) else (oversubscription,)


class Misfit(NamedTuple):
    """A key of a dimension that does not fit the others."""

    key: str
    expected: str
    found: str
    fix: str = ""


class Seen(NamedTuple):
    """How the dimension of a job differs from the one that it has a part of, in size aside."""

    keys: Mapping[str, Any] = MappingProxyType({})
    """Keys of the dimension in the document."""
    bandwidth: float = 1.0
    """Share of an NPU's bandwidth that leads to NPUs of the job."""


def seen_by_switches(inside: int, places: Sequence[int], what: str) -> int:
    """Places under each of the switches that have `inside` NPUs each, of those that have any.

    Raises `Refusal` where these are not equally many.
    """
    if not inside:
        raise Refusal(f"the size of its {what}", "none")
    counts = Counter(place // inside for place in places)
    if len(set(counts.values())) > 1:
        found = f"{min(counts.values())} to {max(counts.values())} of them"
        fix = "choose numbers that divide each other, or list 'nodes'"
        raise Refusal(f"as many of its nodes under each of its {what}", found, fix)
    return counts[places[0] // inside]


@dataclass(frozen=True)
class Block(ABC):
    """A kind of topology, with what a dimension of the design says of its own."""

    leaf: int = 0
    """NPUs under each leaf switch; 0 where the dimension gives none."""
    oversubscription: float = 1.0

    short: ClassVar[str] = ""
    """Its name in tables; empty where that is the name in documents."""
    switched: ClassVar[bool] = False
    """Whether each NPU has one port for all its messages, at a switch, which costs money as links do."""
    leaves: ClassVar[bool] = False
    """Whether a dimension must give `leaf`."""
    reduces: ClassVar[bool] = False
    """Whether switches join all NPUs, which may add up what they receive (`in_network`)."""
    shares: ClassVar[bool] = True
    """Whether messages from different NPUs, to different ones, meet on its links."""
    takes_any_groups: ClassVar[bool] = False
    """Whether groups of any sizes may follow one another on it (`workload.groups`)."""

    keys: ClassVar[tuple[str, ...]] = ()
    """Keys of a dimension, beside `leaf` and `oversubscription`, that say something of the block; `routing` aside."""
    routings: ClassVar[tuple[str, ...]] = ()
    """The routings that it knows (`simcore.network.routing`), the usual one first; none where ways are fixed."""

    @classmethod
    def of(cls, leaf: int, oversubscription: float | tuple[float, ...], given: dict[str, Any]) -> Self:
        """The block of a dimension that gives these of its `keys`, and `routing`, `routing_seed` and `connections`."""
        return cls(leaf, ratios_of(oversubscription)[0], **given)

    @classmethod
    def default_algorithm(cls, size: int) -> str:
        """The collective algorithm of a dimension of `size` NPUs that names none: at a switch halving_doubling.

        Ring where that cannot be: between neighbours, and for numbers that are no power of two.
        """
        return "halving_doubling" if cls.switched and size & (size - 1) == 0 else "ring"

    @property
    def slowed(self) -> float:
        """How many times longer every message takes than the dimension's bandwidth says."""
        return self.oversubscription

    @property
    def sprayed(self) -> bool:
        """Whether the parts of a message that take several ways are its packets, not messages of their own."""
        return False

    @property
    def levels(self) -> float:
        """Links that each NPU's bandwidth is paid for, in links of that bandwidth."""
        return 1.0

    @property
    def ports(self) -> float:
        """Ports of switches that each NPU's bandwidth is paid for: of each link one, where there are switches."""
        return self.levels if self.switched else 0.0

    def misfits(self, size: int) -> Iterator[Misfit]:
        """What keeps the keys of a dimension of `size` NPUs from describing a block."""
        yield from ()

    def needs(self, part: Slice) -> str | None:
        """What there must be for a group on `part` to fit ("a power of two NPUs"); None where it does.

        A group that is the whole dimension says which sizes there are.
        """
        return None

    def tree(self, part: Slice) -> SwitchTree | None:
        """The tree of switches over a group on `part`; None where switches do not join its members."""
        return None

    def ladder(self, part: Slice, node: int) -> tuple[Rung, ...]:
        """The links of member `node` at each level of the tree over all of `part`, those of a lone leaf first."""
        return ()

    def seen_from(self, size: int, places: Sequence[int]) -> Seen:
        """What a dimension of `size` NPUs looks like to a job that has the NPUs at `places` of it, in rising order.

        Raises `Refusal` where it looks like no dimension: messages would go through the NPUs of others.
        """
        if len(places) == size:
            return Seen()
        fix = "give jobs parts of a switched dimension"
        raise Refusal(f"a job on all {size} places, since messages pass through NPUs", f"one on {len(places)}", fix)

    def seen_alone(self, size: int, places: Sequence[int]) -> Seen:
        """As `seen_from`, where nobody has the NPUs at the other places, which may pass messages on."""
        return self.seen_from(size, places)

    def whole(self, size: int) -> int:
        """The size of the dimension of which `size` NPUs are seen alone."""
        return size

    @abstractmethod
    def shape(self, part: Slice) -> Shape:
        """How the members of a group on `part` are connected."""

    @abstractmethod
    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """The links of a group on `part`; of links that it shares with other groups, its share."""

    @abstractmethod
    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """The ways from member `source` to member `target`; a message splits evenly among them."""

    def listed(self, pattern: Listed, part: Slice) -> tuple[StepCost, dict[int, Loads]]:
        """Cost of messages of any kind for a group on `part`, and the load of each link that they pass."""
        return listed_cost(pattern, self, part), listed_loads(pattern, self, part)

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """Cost of `pattern` for a group on `part`, per byte of one message.

        The load counts from the injection bandwidth B of one NPU: 1 means that the message passes at B.
        """
        return cost_from_links(pattern, self, part)

    def pools(self, size: int) -> Pools:
        """The links of a dimension of `size` NPUs (those of `wiring(Slice(size, size, 1))`), pool by pool.

        A *pool* is links that any messages load alike, such as a leaf's uplinks over which packets are sprayed; most
        are single links.
        """
        return pools_of(self, size)

    def pool_of(self, size: int) -> Ints:
        """The pool of each link of a dimension of `size` NPUs, `[links]`."""
        return np.arange(len(whole_links(self, size)))

    def pool_ends(self, size: int, pool: int) -> tuple[tuple[int, int], ...]:
        """The links of a pool, as the nodes that they lead from and to."""
        link = whole_links(self, size)[pool]
        return ((link.source, link.target),)

    def crossed(self, size: int, source: Ints, target: Ints) -> Crossings:
        """Which pools messages between NPUs `source` and `target` of a dimension pass, with which share of each."""
        return crossings_of(self, size, source, target)

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        """Load of `pattern` on each link of a group on `part`, per byte of one message, counted as in `step` `[links]`.

        The links are the same ones, in the same order, for all patterns: all of `wiring`; or, of links that every
        pattern loads alike, one.
        """
        return loads_from_links(pattern, self, part)
