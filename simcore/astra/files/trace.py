"""A Chakra trace made ready to run: operations in ascending node id, with everything looked up once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from pathlib import Path

from simcore.astra.algorithms.collective import Group, Request
from simcore.astra.files.chakra import CommType, NodeType, TraceNode
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.groups import group_number, make_group
from simcore.astra.files.system import Collective, SystemSettings

MAX_NUMBER = 1 << 53
"""Bound on sizes [B] and times [ns] of a node: below it, doubles are exact."""


class Resource(IntEnum):
    """What an operation occupies on its NPU; each does one thing at a time, `NONE` is free."""

    CPU = 0
    COMPUTE = 1
    COMMUNICATION = 2
    NONE = 3


class Action(Enum):
    """What an operation does."""

    DELAY = 0
    COLLECTIVE = 1
    SEND = 2
    RECEIVE = 3
    MEMORY = 4
    INSTANT = 5


COLLECTIVES = {
    CommType.ALL_REDUCE: Collective.ALL_REDUCE,
    CommType.ALL_GATHER: Collective.ALL_GATHER,
    CommType.ALL_TO_ALL: Collective.ALL_TO_ALL,
    CommType.REDUCE_SCATTER: Collective.REDUCE_SCATTER,
}


@dataclass(frozen=True)
class Operation:
    """One node: sizes in [B], delay in [ns]. `source`/`destination` of -1 is the NPU itself."""

    id: int
    name: str
    action: Action
    resource: Resource
    delay: int = 0
    compute_ns: int = 0  # what counts as GPU computation
    size: int = 0
    source: int = -1
    destination: int = -1
    tag: int = 0
    request: Request | None = None

    @property
    def label(self) -> str:
        """Name of the operation in messages."""
        what = self.name if self.request is None else f"{self.request.kind.value} of {self.request.size} B"
        return f"node {self.id} ({what})"


@dataclass(frozen=True)
class OperationTrace:
    """Operations in ascending id; `children` and `parents` (a count) by position."""

    operations: tuple[Operation, ...]
    children: tuple[tuple[int, ...], ...]
    parents: tuple[int, ...]


def compile_trace(
    nodes: Sequence[TraceNode], path: Path, system: SystemSettings, groups: Mapping[int, Group], npus: int
) -> OperationTrace:
    """Return the trace of some nodes.

    Raises
    ------
    AstraInputError
        If a node cannot be run, or the dependencies are incomplete or cyclic.
    """
    ordered = sorted(nodes, key=lambda node: node.id)
    places = {node.id: place for place, node in enumerate(ordered)}
    if len(places) < len(ordered):
        raise AstraInputError(f"{path}: expected every node id once, got one twice")
    known = dict(groups)
    for node in ordered:
        if node.type is NodeType.METADATA:
            known.update(_process_groups(node, path, npus))
    builder = _OperationBuilder(path, system, known, npus)
    children: list[list[int]] = [[] for _ in ordered]
    parents = [0] * len(ordered)
    for place, node in enumerate(ordered):
        for dependency in {*node.data_deps, *node.ctrl_deps}:
            if dependency not in places:
                raise AstraInputError(
                    f"{path}: node {node.id}: depends on node {dependency}, which is not in the trace"
                )
            children[places[dependency]].append(place)
            parents[place] += 1
    trace = OperationTrace(tuple(map(builder.operation, ordered)), tuple(map(tuple, children)), tuple(parents))
    _check_acyclic(trace, path)
    return trace


def _check_acyclic(trace: OperationTrace, path: Path) -> None:
    missing = list(trace.parents)
    ready = [place for place, count in enumerate(missing) if count == 0]
    for place in ready:  # grows
        for child in trace.children[place]:
            missing[child] -= 1
            if missing[child] == 0:
                ready.append(child)
    if len(ready) < len(missing):
        stuck = [str(trace.operations[place].id) for place, count in enumerate(missing) if count]
        raise AstraInputError(f"{path}: nodes {', '.join(stuck[:8])}: expected no cycle, they depend on one another")


def _process_groups(node: TraceNode, path: Path, npus: int) -> dict[int, Group]:
    """Return the process groups that a PyTorch metadata node lists; what does not parse is no list."""
    import json

    text = node.inputs.values[2:-2] if node.inputs is not None else ""
    try:
        entries = [(str(entry["pg_name"]), entry["ranks"] or list(range(npus))) for entry in json.loads(text)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    where = f"{path}: node {node.id}"
    named = [(group_number(where, name), ranks) for name, ranks in entries]
    return {number: make_group(where, str(number), ranks, npus) for number, ranks in named if number > 0}


class _OperationBuilder:
    """Turns nodes of one file into operations."""

    def __init__(self, path: Path, system: SystemSettings, groups: Mapping[int, Group], npus: int) -> None:
        self._path = path
        self._system = system
        self._groups = groups
        self._npus = npus

    def operation(self, node: TraceNode) -> Operation:
        """Return the operation of a node."""
        cpu = bool(node.get("is_cpu_op"))
        is_communication = node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV, NodeType.COMM_COLL)
        resource = Resource.CPU if cpu else Resource.COMMUNICATION
        if not cpu and node.type is NodeType.COMP:
            resource = Resource.COMPUTE
        elif not cpu and node.type is NodeType.COMM_RECV:
            resource = Resource.NONE
        if self._system.track_local_memory and node.get("inputs") is None:
            raise self._error(node, "track-local-mem: expected an attribute inputs, got none; set it to 0")
        if self._system.replay_only:
            return self._delay(node, resource, _recorded_ns(node))
        if cpu and is_communication:
            raise self._error(node, "expected is_cpu_op false on a communication node")
        if node.type is NodeType.COMP:
            return self._compute(node, resource, cpu)
        if node.type is NodeType.COMM_COLL:
            return self._collective(node)
        if is_communication:
            return self._message(node, resource)
        if node.type in (NodeType.MEM_LOAD, NodeType.MEM_STORE):
            return Operation(node.id, node.name, Action.MEMORY, resource, size=self._int(node, "tensor_size"))
        return Operation(node.id, node.name, Action.INSTANT, resource)

    def _compute(self, node: TraceNode, resource: Resource, cpu: bool) -> Operation:
        if cpu or not self._system.roofline:
            return self._delay(node, resource, _recorded_ns(node))
        work, size = self._int(node, "num_ops", 0), self._int(node, "tensor_size", 0)
        if size == 0:
            return Operation(node.id, node.name, Action.INSTANT, resource)
        speed = min(self._system.local_memory_bandwidth * (work / size), self._system.peak_flops)
        if speed == 0:
            raise self._error(
                node,
                "roofline: expected num_ops, local-mem-bw and peak-perf above 0; the time would be infinite",
            )
        return self._delay(node, resource, int(work / speed * 1e9))

    def _delay(self, node: TraceNode, resource: Resource, delay: int) -> Operation:
        if delay >= MAX_NUMBER:
            raise self._error(node, f"expected a time below {MAX_NUMBER} ns, got {delay} ns")
        compute = 0 if resource is Resource.CPU else delay
        return Operation(node.id, node.name, Action.DELAY, resource, delay=delay, compute_ns=compute)

    def _collective(self, node: TraceNode) -> Operation:
        kind = self._int(node, "comm_type")
        if kind == CommType.BROADCAST:
            return replace(self._delay(node, Resource.COMMUNICATION, _recorded_ns(node)), compute_ns=0)
        if kind not in COLLECTIVES:
            names = {int(known): known.name for known in CommType}
            raise self._error(node, f"comm_type: ASTRA-sim has no {names.get(kind, kind)}; it leaves with an exception")
        involved = node.get("involved_dim")
        if involved is not None and (
            not isinstance(involved, tuple) or not all(isinstance(flag, bool) for flag in involved)
        ):
            raise self._error(node, f"involved_dim: expected a list of flags, got {involved!r}")
        request = Request(
            COLLECTIVES[CommType(kind)],
            self._int(node, "comm_size"),
            None if involved is None else tuple(map(bool, involved)),
            self._group(node),
        )
        if request.group is not None:
            request = Request(request.kind, request.size, None, request.group)
        return Operation(node.id, node.name, Action.COLLECTIVE, Resource.COMMUNICATION, request=request)

    def _group(self, node: TraceNode) -> Group | None:
        name = node.get("pg_name")
        if name is None or name in ("", "0"):
            return None
        number = group_number(f"{self._path}: node {node.id}: pg_name", str(name))
        if number not in self._groups:
            raise self._error(node, f"pg_name: group {number} is not in the communicator-group file")
        return self._groups[number]

    def _message(self, node: TraceNode, resource: Resource) -> Operation:
        size = self._int(node, "comm_size")
        if size == 0:
            raise self._error(node, "comm_size: expected at least 1 B, got 0 B; ASTRA-sim aborts on empty messages")
        sends = node.type is NodeType.COMM_SEND
        return Operation(
            node.id,
            node.name,
            Action.SEND if sends else Action.RECEIVE,
            resource,
            size=size,
            source=self._npu(node, "comm_src", -1 if sends else None),
            destination=self._npu(node, "comm_dst", None if sends else -1),
            tag=self._int(node, "comm_tag", 0),
        )

    def _npu(self, node: TraceNode, name: str, default: int | None) -> int:
        npu = self._int(node, name, default)
        if npu >= self._npus:
            raise self._error(node, f"{name}: expected an NPU below {self._npus}, got {npu}")
        return npu

    def _int(self, node: TraceNode, name: str, default: int | None = None) -> int:
        value = node.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_NUMBER:
            raise self._error(node, f"{name}: expected a whole number of at least 0, got {value!r}")
        return int(value)

    def _error(self, node: TraceNode, message: str) -> AstraInputError:
        return AstraInputError(f"{self._path}: node {node.id} ({node.name}): {message}")


def _recorded_ns(node: TraceNode) -> int:
    """Return a recorded duration; none at all still takes an instant [ns]."""
    return node.duration_us * 1000 or 1
