"""An explicit graph of what NPUs do: nodes, what each waits for, and who takes part in what.

A Program repeats segments; a trace does not, so its Program carries a graph beside the list of its operators. NPUs that
do the same share a `NodeTable` and differ in their groups and in whom they send to (`Rank`). Which NPUs are alike in
that too, so that one can be played for all of its *class*, follows from the cluster (`Graph.classes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Action(IntEnum):
    """What a node does; the NPU, its host and its memory link do one thing of theirs at a time."""

    NOTHING = 0
    COMPUTE = 1
    HOST = 2
    MEMORY = 3
    COLLECTIVE = 4
    SEND = 5
    RECEIVE = 6


class Collective(NamedTuple):
    """A collective of `size` [B] over the group of this number (see `Rank.groups`)."""

    kind: str
    group: int
    size: float


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """Nodes in the order in which those that are ready begin.

    `operands` say more of each: an index of `computes`, `collectives` or `sizes` (of a message), the time of a host's
    operation [ps], or the bytes that a memory node moves.
    """

    actions: Ints
    operands: Ints
    first_child: Ints
    """Where the children of each node begin in `children`, and where those of the last one end, `[nodes + 1]`."""
    children: Ints
    parents: Ints
    """How many nodes each one waits for."""
    names: tuple[str, ...]
    computes: tuple[Any, ...]
    """Operators that compute (`simcore.program.Compute`)."""
    collectives: tuple[Collective, ...]
    sizes: tuple[float, ...]
    """Sizes of messages [B], in the order of their nodes."""

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """What one NPU does."""

    table: NodeTable
    groups: tuple[str, ...]
    """Names, in the placement, of the groups that its collectives speak of."""
    peers: tuple[int, ...]
    """The other end of each of its messages."""
    partners: tuple[int, ...]
    """The node of the other end that receives, or sends, each of its messages."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """What every NPU does. Nodes of classes have numbers of their own: those of class 0 first."""

    ranks: tuple[Rank, ...]
    class_of: tuple[int, ...]
    """The class of each NPU."""
    classes: tuple[int, ...]
    """An NPU of each class."""
    order: Ints
    """All nodes of all classes, each after those that it waits for, on whichever NPU."""
    uneven: str
    """Why one NPU does not stand for its class; empty where it does."""

    @property
    def firsts(self) -> list[int]:
        """The number of the first node of each class, and of all nodes."""
        out = [0]
        for npu in self.classes:
            out.append(out[-1] + self.ranks[npu].table.nodes)
        return out
