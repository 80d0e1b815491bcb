"""Chakra execution traces (`.et`): reading and writing.

A trace is a sequence of records, each a protobuf varint length followed by that many bytes: one
`GlobalMetadata`, then `Node`s. Files are untrusted: lengths are bounded, and whatever does not parse ends in an
`AstraInputError`.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from simcore.astra.files.chakra_schema import messages
from simcore.astra.files.errors import AstraInputError

MAX_TRACE_BYTES = 1 << 30
"""Largest trace file read [B]."""

MAX_RECORD_BYTES = 1 << 26
"""Largest single record read [B]."""

SCHEMA_VERSION = "0.0.4"
RANKS, NODES = "num_ranks", "num_nodes"
"""In the first record, the number of ranks whose traces were written together, and of the nodes of this one."""

Scalar = bool | int | float | str | bytes
Value = Scalar | tuple[Scalar, ...]


class NodeType(IntEnum):
    """What a node is."""

    INVALID = 0
    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMP = 4
    COMM_SEND = 5
    COMM_RECV = 6
    COMM_COLL = 7


class CommType(IntEnum):
    """The collective of a `COMM_COLL` node."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


@dataclass(frozen=True)
class Attribute:
    """A named value; `kind` is its scalar type in the schema, such as int64 or bool."""

    name: str
    value: Value
    kind: str


@dataclass(frozen=True)
class TensorInfo:
    """Inputs or outputs as the schema keeps them: three opaque strings."""

    values: str = ""
    shapes: str = ""
    types: str = ""


@dataclass(frozen=True)
class TraceNode:
    """One node of a trace; times in [us]."""

    id: int
    name: str
    type: NodeType
    ctrl_deps: tuple[int, ...] = ()
    data_deps: tuple[int, ...] = ()
    start_time_us: int = 0
    duration_us: int = 0
    inputs: TensorInfo | None = None
    outputs: TensorInfo | None = None
    attributes: tuple[Attribute, ...] = ()

    def get(self, name: str) -> Value | None:
        """Return the value of an attribute, the last one of that name, or None."""
        for attribute in reversed(self.attributes):
            if attribute.name == name:
                return attribute.value
        return None


def bool_attribute(name: str, value: bool) -> Attribute:
    """Return a flag, such as is_cpu_op."""
    return Attribute(name, value, "bool")


def int_attribute(name: str, value: int, kind: str = "int64") -> Attribute:
    """Return an integer, such as comm_size [B], comm_type or num_ops."""
    return Attribute(name, value, kind)


def text_attribute(name: str, value: str) -> Attribute:
    """Return a word, such as pg_name."""
    return Attribute(name, value, "string")


def flags_attribute(name: str, value: Iterable[bool]) -> Attribute:
    """Return a list of flags, such as involved_dim."""
    return Attribute(name, tuple(value), "bool")


def collective_node(
    id: int,
    kind: CommType,
    size: int,
    deps: Iterable[int] = (),
    involved: Iterable[bool] | None = None,
    group: str = "",
) -> TraceNode:
    """Return a collective of `size` bytes, on some dimensions or in a communicator group."""
    attributes = [
        bool_attribute("is_cpu_op", False),
        int_attribute("comm_type", int(kind)),
        int_attribute("comm_size", size),
        text_attribute("pg_name", group),
    ]
    if involved is not None:
        attributes.append(flags_attribute("involved_dim", involved))
    return TraceNode(id, f"{kind.name}_{id}", NodeType.COMM_COLL, data_deps=tuple(deps), attributes=tuple(attributes))


def compute_node(id: int, duration_us: int, deps: Iterable[int] = ()) -> TraceNode:
    """Return a GPU operation of a recorded duration [us]."""
    attributes = (bool_attribute("is_cpu_op", False),)
    return TraceNode(
        id, f"COMP_{id}", NodeType.COMP, data_deps=tuple(deps), duration_us=duration_us, attributes=attributes
    )


def process_groups(node: TraceNode) -> dict[str, tuple[int, ...]]:
    """The members of the process groups that a metadata node of PyTorch lists, none for all ranks.

    Empty for other nodes, and where the text is no such list.
    """
    if node.type is not NodeType.METADATA or node.inputs is None:
        return {}
    try:
        entries = json.loads(node.inputs.values[2:-2])
        return {str(entry["pg_name"]): tuple(map(int, entry["ranks"])) for entry in entries}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def read_bytes(path: Path) -> bytes:
    """Return the content of a trace file of bounded size."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a device or a pipe may never end
            raise AstraInputError(f"{path}: expected a regular file, got something else; check the path")
        with path.open("rb") as file:
            content = file.read(MAX_TRACE_BYTES + 1)
    except OSError as error:
        raise AstraInputError(f"{path}: cannot be read ({error.strerror}); check the path and the rank") from None
    if len(content) > MAX_TRACE_BYTES:
        raise AstraInputError(f"{path}: expected at most {MAX_TRACE_BYTES} bytes; split the trace")
    return content


def parse_trace(content: bytes, path: Path) -> tuple[TraceNode, ...]:
    """Return the nodes in the bytes of a trace; `path` is for messages."""
    from google.protobuf.message import DecodeError

    node_type = messages()["Node"]
    nodes, said = [], 0
    try:
        for number, record in enumerate(_records(content, path)):
            if number == 0:
                said = _said(messages()["GlobalMetadata"].FromString(record), NODES)
            else:
                nodes.append(_to_node(node_type.FromString(record)))
    except (DecodeError, ValueError) as error:
        if isinstance(error, AstraInputError):
            raise
        raise AstraInputError(f"{path}: record {number}: expected a Chakra node, got something else") from None
    if said and said != len(nodes):
        raise AstraInputError(f"{path}: expected the {said} nodes it says it has, got {len(nodes)}; cut short")
    return tuple(nodes)


def read_count(content: bytes, path: Path) -> int:
    """Of how many ranks the bytes of a trace say it is one; 0 where they do not say it. `path` is for messages."""
    from google.protobuf.message import DecodeError

    try:
        metadata = messages()["GlobalMetadata"].FromString(next(_records(content, path)))
    except DecodeError:
        raise AstraInputError(f"{path}: record 0: expected a trace's metadata, got something else") from None
    return _said(metadata, RANKS)


def _said(metadata: Any, name: str) -> int:
    """A number of the first record; 0 where it is not there."""
    return max((attribute.int64_val for attribute in metadata.attr if attribute.name == name), default=0)


def write_trace(path: Path, nodes: Iterable[TraceNode], ranks: int = 0) -> None:
    """Write a trace file; its metadata say of how many `ranks` it is one, and how many nodes it has (0: neither)."""
    written = list(nodes)
    metadata = messages()["GlobalMetadata"](version=SCHEMA_VERSION)
    if ranks:
        metadata.attr.add(name=RANKS, int64_val=ranks)
        metadata.attr.add(name=NODES, int64_val=len(written))
    with path.open("wb") as file:
        for message in (metadata, *(_to_message(node) for node in written)):
            record = message.SerializeToString(deterministic=True)
            file.write(_varint(len(record)) + record)


def _records(content: bytes, path: Path) -> Iterator[bytes]:
    """Yield the records of a trace."""
    place = 0
    if not content:
        raise AstraInputError(f"{path}: expected a Chakra trace, got an empty file")
    while place < len(content):
        size = shift = 0
        while True:
            if place >= len(content) or shift > 28:
                raise AstraInputError(f"{path}: byte {place}: expected a record length; no Chakra trace, or cut short")
            byte = content[place]
            size |= (byte & 0x7F) << shift
            place, shift = place + 1, shift + 7
            if byte < 0x80:
                break
        if size > MAX_RECORD_BYTES or place + size > len(content):
            raise AstraInputError(
                f"{path}: byte {place}: expected a record of {size} bytes, got {len(content) - place}; "
                "no Chakra trace, or cut short"
            )
        yield content[place : place + size]
        place += size


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _to_node(message: Any) -> TraceNode:
    return TraceNode(
        id=message.id,
        name=message.name,
        type=NodeType(message.type),
        ctrl_deps=tuple(message.ctrl_deps),
        data_deps=tuple(message.data_deps),
        start_time_us=message.start_time_micros,
        duration_us=message.duration_micros,
        inputs=_to_tensors(message, "inputs"),
        outputs=_to_tensors(message, "outputs"),
        attributes=tuple(_to_attribute(attribute) for attribute in message.attr),
    )


def _to_tensors(message: Any, field: str) -> TensorInfo | None:
    if not message.HasField(field):
        return None
    info = getattr(message, field)
    return TensorInfo(info.values, info.shapes, info.types)


def _to_attribute(message: Any) -> Attribute:
    field = message.WhichOneof("value")
    if field is None:
        return Attribute(message.name, (), "bytes")
    kind, shape = field.rsplit("_", 1)
    value = getattr(message, field)
    return Attribute(message.name, tuple(value.values) if shape == "list" else value, kind)


def _to_message(node: TraceNode) -> Any:
    message = messages()["Node"](
        id=node.id,
        name=node.name,
        type=int(node.type),
        ctrl_deps=node.ctrl_deps,
        data_deps=node.data_deps,
        start_time_micros=node.start_time_us,
        duration_micros=node.duration_us,
    )
    for field, info in (("inputs", node.inputs), ("outputs", node.outputs)):
        if info is not None:
            target = getattr(message, field)
            target.SetInParent()
            target.values, target.shapes, target.types = info.values, info.shapes, info.types
    for attribute in node.attributes:
        entry = message.attr.add(name=attribute.name)
        if isinstance(attribute.value, tuple):
            target = getattr(entry, f"{attribute.kind}_list")
            target.SetInParent()
            target.values.extend(attribute.value)
        else:
            setattr(entry, f"{attribute.kind}_val", attribute.value)
    return message
