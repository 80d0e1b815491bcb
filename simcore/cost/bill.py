"""A bill of materials: what a cluster is built of, with counts, prices and watts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

Group = Literal["npu", "network", "memory", "storage", "other"]
"""The part of the price that an item counts to: nodes with their NPUs; NICs, switches, optics and cables; memory beyond
the NPUs' own; storage; racks and management."""

GROUPS: tuple[Group, ...] = get_args(Group)
NODES, UNUSED = "nodes", "unused"
"""What nodes are for that work on the job, or are in one rack with them; and NPUs of these that are not used."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a bill."""

    part: str
    """Its name in the catalogue, or in words where it has none."""
    where: str
    """What it is for: `nodes`, `compute fabric, leaf`, `storage`."""
    group: Group
    count: float
    """How many; of what is priced by bandwidth or capacity, how much, in `unit`."""
    unit: str
    """`""` for pieces, else `GB/s` or `GB`."""
    price: float
    """Price of one [$]."""
    price_range: tuple[float, float]
    """The least and the most that one may cost [$]."""
    watts: float
    """What one draws while a job runs, NPUs aside, which draw by what they do [W]."""
    watts_max: float
    """What one draws at the most, NPUs included [W]."""
    source: str
    """Where its price and its watts were read, or *assumed*."""


@dataclass(frozen=True)
class Bill:
    """What a cluster is built of."""

    items: tuple[Item, ...]

    def price(self, groups: Iterable[Group] | None = None) -> float:
        """Price of all items, or of those of some groups [$]."""
        wanted = None if groups is None else frozenset(groups)
        return sum(item.count * item.price for item in self.items if wanted is None or item.group in wanted)

    @property
    def at_work(self) -> list[Item]:
        """The nodes with their NPUs, without those that stand by."""
        return [item for item in self.items if item.group == "npu" and item.where == NODES]

    @cached_property
    def watts(self) -> float:
        """What all items draw while a job runs, NPUs aside [W]."""
        return sum(item.count * item.watts for item in self.items)

    @cached_property
    def watts_max(self) -> float:
        """What all items draw at the most, NPUs included [W]."""
        return sum(item.count * item.watts_max for item in self.items)
