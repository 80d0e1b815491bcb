"""What all sources of traces share: the traces of all ranks in memory, and the contract of a source.

A *trace* is the nodes of one rank (`simcore.astra.files.chakra.TraceNode`). A *group* is a communicator: a number above
0 and its members in the order of the ring; the empty name stands for all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from simcore.astra.files.chakra import CommType, NodeType, TraceNode
from simcore.document.problem import InputError, Problem

Trace = tuple[TraceNode, ...]

COMMUNICATION = (NodeType.COMM_SEND, NodeType.COMM_RECV, NodeType.COMM_COLL)


@dataclass(frozen=True)
class TraceSet:
    """The traces of all ranks, in the order of the ranks; ranks that do the same may share one object.

    `documents` are further files, by what follows the prefix in their names, such as `network.yml`. `notes` say in a
    sentence each what of the source the traces do not hold.
    """

    ranks: tuple[Trace, ...]
    groups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """What to convert: a file (or a pattern with `{rank}`), and what a source may need besides.

    `timeline` is the pattern of Kineto timelines, `group` the process group of collectives that name none,
    `dimensions` the sizes of a network, innermost first, `passes` the iterations of a text workload.
    """

    path: str
    timeline: str | None = None
    group: str | None = None
    dimensions: tuple[int, ...] = ()
    passes: int = 1


class Source(Protocol):
    """A kind of input that traces can be made from."""

    name: str
    summary: str

    def claims(self, path: str) -> bool:
        """Whether an input of this name is of this kind."""

    def read(self, request: Request) -> TraceSet:
        """The traces. Raises `InputError` with every problem."""


def refuse(where: str, expected: str, found: str, fix: str = "") -> NoReturn:
    """Raise `InputError` with one problem of a file."""
    raise InputError([Problem((where,), expected, found, fix)], "trace")


def integer_of(node: TraceNode, name: str, default: int = 0) -> int:
    """A whole number among a node's attributes; `default` where there is none."""
    value = node.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def kind_of(node: TraceNode) -> str:
    """What a node is, in one word: compute, host, send, receive, load, store, metadata, or a collective's name."""
    if node.type is NodeType.COMP:
        return "host" if node.get("is_cpu_op") else "compute"
    if node.type is NodeType.COMM_COLL:
        number = integer_of(node, "comm_type", -1)
        known = {int(kind): kind.name.lower() for kind in CommType}
        return known.get(number, f"collective {number}")
    return _WORDS.get(node.type, "invalid")


_WORDS = {
    NodeType.COMM_SEND: "send",
    NodeType.COMM_RECV: "receive",
    NodeType.MEM_LOAD: "load",
    NodeType.MEM_STORE: "store",
    NodeType.METADATA: "metadata",
}


def group_of(node: TraceNode) -> str:
    """The group of a collective as its node names it: `all`, a number, or the dimensions it takes."""
    name = node.get("pg_name")
    if name not in (None, "", "0"):
        return str(name)
    involved = node.get("involved_dim")
    if isinstance(involved, tuple) and not all(involved):
        return "dimensions " + "+".join(str(index) for index, taken in enumerate(involved) if taken)
    return "all"
