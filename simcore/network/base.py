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
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simcore.network.from_links import cost_from_links, loads_from_links
from simcore.network.pattern import Pattern, StepCost
from simcore.network.reduction import Rung, SwitchTree
from simcore.network.wiring import Link, Route, Shape, Slice


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
    takes_any_groups: ClassVar[bool] = False
    """Whether groups of any sizes may follow one another on it (`workload.groups`)."""

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
    def levels(self) -> float:
        """Levels of links and switches that each NPU's bandwidth is paid for."""
        return 1.0

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

    @abstractmethod
    def shape(self, part: Slice) -> Shape:
        """How the members of a group on `part` are connected."""

    @abstractmethod
    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """The links of a group on `part`; of links that it shares with other groups, its share."""

    @abstractmethod
    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """The ways from member `source` to member `target`; a message splits evenly among them."""

    def step(self, pattern: Pattern, part: Slice) -> StepCost:
        """Cost of `pattern` for a group on `part`, per byte of one message.

        The load counts from the injection bandwidth B of one NPU: 1 means that the message passes at B.
        """
        return cost_from_links(pattern, self, part)

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        """Load of `pattern` on each link of a group on `part`, per byte of one message, counted as in `step` `[links]`.

        The links are the same ones, in the same order, for all patterns: all of `wiring`; or, of links that every
        pattern loads alike, one.
        """
        return loads_from_links(pattern, self, part)
