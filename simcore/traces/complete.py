"""What must hold of traces that are read: nodes say what they are, and no rank that they speak of is missing.

Which ranks there are is said by the files themselves where `simcore` wrote them (`RANKS` in the first record), by the
other ends of messages, by the members of groups, and by the process groups that PyTorch's metadata nodes list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from simcore.astra.files.chakra import CommType, NodeType, TraceNode, process_groups
from simcore.document.problem import InputError, Problem
from simcore.traces.base import COMMUNICATION, Trace, refuse

MOST_PROBLEMS = 20
"""Nodes that are listed; of more, their number."""
_MOST = 1 << 53
"""Bound on FLOPs and sizes [B] of a node: below it, doubles are exact."""
_KINDS = {int(kind) for kind in CommType}
_ENDS = {NodeType.COMM_SEND: "comm_dst", NodeType.COMM_RECV: "comm_src"}


def check_nodes(trace: Trace, where: str) -> None:
    """Raise `InputError` with every node that is of no kind, of an unknown collective, or without its numbers."""
    found = [problem for node in trace for problem in _problems_of(node, where)]
    more = len(found) - MOST_PROBLEMS
    if more > 0:
        found[MOST_PROBLEMS:] = [Problem((where,), "nodes as these should be", f"{more:,} more like these")]
    if found:
        raise InputError(found, "trace")


def _problems_of(node: TraceNode, where: str) -> Iterator[Problem]:
    def problem(expected: str, found: object) -> Problem:
        told = str(found) if not isinstance(found, bytes) else repr(found)
        return Problem((where,), expected, f"{told[:60]} (node {node.id}, '{node.name[:60]}')")

    def is_whole(name: str) -> bool:
        value = node.get(name)
        return isinstance(value, int | float) and type(value) is not bool and 0 <= value < _MOST and value % 1 == 0

    needed = []
    if node.type is NodeType.INVALID:
        yield problem("an operator of a known kind", "none")
    if node.type is NodeType.COMM_COLL:
        if not is_whole("comm_type") or node.get("comm_type") not in _KINDS:
            names = ", ".join(kind.name.lower() for kind in CommType)
            number = node.get("comm_type")
            yield problem(f"a comm_type of {names}", "none" if number is None else f"the unknown operator {number!r}")
        needed = [] if node.get("comm_type") == CommType.BARRIER else ["comm_size"]
    elif node.type in _ENDS:
        needed = ["comm_size", _ENDS[node.type]]
    elif node.type in (NodeType.MEM_LOAD, NodeType.MEM_STORE):
        needed = ["tensor_size"]
    given = [name for name in ("num_ops", "tensor_size") if node.get(name) is not None and name not in needed]
    for name in (*needed, *given):
        if not is_whole(name):
            yield problem(
                f"a whole number of at least 0 as {name}", "none" if node.get(name) is None else node.get(name)
            )


def check_complete(
    traces: Sequence[Trace], groups: Mapping[int, Sequence[int]], said: Sequence[int], prefix: Path
) -> None:
    """Raise `InputError` where a rank has no trace that another one, or a group, speaks of.

    `said` is the number of ranks that each file gives, 0 where it gives none.
    """
    count = len(traces)
    for rank, ranks in enumerate(said):
        if ranks and ranks < count:
            fix = "traces of different runs may be mixed here"
            refuse(f"{prefix}.{rank}.et", f"one of {count} ranks, as there are here", f"one of {ranks}", fix)
    named = {rank: "group " + str(number) for number, members in groups.items() for rank in members if rank >= count}
    named |= {ranks - 1: f"{prefix.name}.{rank}.et" for rank, ranks in enumerate(said) if ranks > count}
    seen = {id(trace): (rank, trace) for rank, trace in reversed(list(enumerate(traces)))}
    for rank, trace in seen.values():
        named |= {other: f"{prefix.name}.{rank}.et" for other in _ranks_in(trace) if other >= count}
    if named:
        last = max(named)
        more = f" and {last - count} more" if last > count else ""
        found = f"none of this{more}, of which {named[last]} speaks"
        refuse(f"{prefix}.{count}.et", f"a trace of each of {last + 1} ranks", found)


def speaks_of_ranks(traces: Iterable[Trace]) -> bool:
    """Whether checked traces speak of ranks at all: by the other end of a message, or a list of process groups."""
    return any(next(_ranks_in(trace), None) is not None for trace in {id(trace): trace for trace in traces}.values())


def _ranks_in(trace: Iterable[TraceNode]) -> Iterator[int]:
    """The ranks that a checked trace speaks of."""
    for node in trace:
        if node.type in COMMUNICATION and node.type in _ENDS:
            yield int(node.get(_ENDS[node.type]))  # type: ignore[arg-type]  # a whole number: it was checked
        elif node.type is NodeType.METADATA:
            for members in process_groups(node).values():
                yield from members
