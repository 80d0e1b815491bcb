"""The tree of switches over a group on one dimension, where switches add up what they receive and copy what they send.

A *flow* goes up from its sources, is added up at every switch on its way, and goes down from the top to its targets,
copied at every switch (FRED, ISCA 2025, arXiv 2406.19580, section 4; SHARP: Graham et al. 2016). Every collective is a
few flows of a buffer of S bytes among n members:

- all_reduce: one flow of S from all members to all;
- reduce_scatter: n flows of S/n, one after the other, from all to each member;
- all_gather: n flows of S/n from each member to all;
- broadcast: one flow of S from the first member to all.

So each link of the tree carries S in the busier direction, and in the other one S (all_reduce) or S over the number of
members below it. However many members a switch has below, one sum of S goes up from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

TREE_KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast")
"""Collectives that trees of switches can do."""
ADDED_KINDS = ("all_reduce", "reduce_scatter")
"""The ones whose flows have several sources."""


class Level(NamedTuple):
    """What leads up to a switch, and down from it, of each member or switch below it."""

    links: int
    """Links in each direction that carry a flow together."""
    rate: float
    """Bandwidth of one of them, as a factor on the injection bandwidth B of an NPU."""
    below: int
    """Members of the group below them."""


class SwitchTree(NamedTuple):
    """The tree of a group."""

    levels: tuple[Level, ...]
    """From the members up."""
    meeting: int
    """Groups like it whose trees meet at one switch."""


class Rung(NamedTuple):
    """What leads up from one NPU at one level of a tree: its port, or its links of the switches above it."""

    up: tuple[int, ...]
    """Numbers of the links that lead up."""
    down: tuple[int, ...]
    """Numbers of the links that lead down."""
    switch: int
    """Number of the switch, or of the switches side by side, that they lead to and from, within the level."""


class Flow(NamedTuple):
    """A part of a collective that passes the tree at once."""

    sources: tuple[int, ...]
    """The members that send."""
    targets: tuple[int, ...]
    """The members that receive the sum."""
    share: float
    """Share of the buffer."""


def flows(kind: str, members: int) -> Iterator[Flow]:
    """The flows of one of `TREE_KINDS`, in the order in which each member sends its parts."""
    everyone = tuple(range(members))
    match kind:
        case "all_reduce":
            yield Flow(everyone, everyone, 1.0)
        case "reduce_scatter":
            yield from (Flow(everyone, (member,), 1 / members) for member in everyone)
        case "all_gather":
            yield from (Flow((member,), everyone, 1 / members) for member in everyone)
        case _:
            yield Flow((0,), everyone, 1.0)
