"""What a host operator or a kernel communicates: the collective, its bytes, its process group.

`c10d::` operators say what the program asked for, whatever a library then does (gloo plays a reduce-scatter as an
all-reduce). The size of a collective is that of what a rank puts in, as ASTRA-sim and Chakra count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from simcore.astra.files.chakra import CommType, NodeType
from simcore.traces.base import refuse
from simcore.traces.pytorch.files import text, whole
from simcore.traces.pytorch.host import HostOp, HostTrace, Tensor, tensors
from simcore.traces.pytorch.timeline import Event

KINDS = {
    "allreduce": CommType.ALL_REDUCE,
    "allreducecoalesced": CommType.ALL_REDUCE,
    "allgather": CommType.ALL_GATHER,
    "allgatherbase": CommType.ALL_GATHER,
    "allgathercoalesced": CommType.ALL_GATHER,
    "allgatherintotensorcoalesced": CommType.ALL_GATHER,
    "reducescatter": CommType.REDUCE_SCATTER,
    "reducescatterbase": CommType.REDUCE_SCATTER,
    "reducescattertensorcoalesced": CommType.REDUCE_SCATTER,
    "alltoall": CommType.ALL_TO_ALL,
    "alltoallv": CommType.ALL_TO_ALL,
    "alltoallbase": CommType.ALL_TO_ALL,
    "broadcast": CommType.BROADCAST,
    "reduce": CommType.REDUCE,
    "gather": CommType.GATHER,
    "scatter": CommType.SCATTER,
    "barrier": CommType.BARRIER,
    "monitoredbarrier": CommType.BARRIER,
}
"""Collectives by the names of c10d's operators and of Kineto's arguments, without case, `_` and `-`."""

MESSAGES = {"send": NodeType.COMM_SEND, "recv": NodeType.COMM_RECV}
ITEM_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "int": 4, "long": 8, "short": 2, "char": 1, "byte": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip
"""Bytes of an element, by the names of PyTorch's scalar types in Kineto's arguments."""

_COMMUNICATES = re.compile(r"nccl|rccl", re.IGNORECASE)


@dataclass(frozen=True)
class Communication:
    """One collective, send or receive: `size` in [B]; `peer` is a rank in the group; `blocks` None where unknown."""

    type: NodeType
    kind: CommType | None
    size: int
    dtype: str
    group: str | None = None
    peer: int = -1
    tag: int = 0
    blocks: bool | None = None
    uneven: bool = False


def plain(name: str) -> str:
    """The name of a collective without case, `_`, `-` and what it belongs to."""
    return name.rpartition(":")[2].replace("_", "").replace("-", "").lower()


def is_communication(op: HostOp) -> bool:
    """Whether a host operator asks for communication."""
    return op.name.startswith("c10d::")


def is_device_communication(event: Event) -> bool:
    """Whether a kernel communicates."""
    return event.category == "kernel" and bool(_COMMUNICATES.search(event.name))


def of_operator(op: HostOp, trace: HostTrace) -> Communication:
    """What a c10d operator asks for.

    Raises `InputError` where it is none that is known.
    """
    where = f"{trace.path}: operator {op.id}"
    word = plain(op.name)
    names = [name for name, _ in op.parameters]
    group = group_name(op, trace)
    found = _input_of(op, names)
    dtype = _dtype(op)
    if word in MESSAGES:
        peer = _argument(op, names, "dst" if word == "send" else "src")
        if type(peer) is not int:
            refuse(where, f"{op.name} with the rank of the other end", "none")
        tag = _argument(op, names, "tag")
        return Communication(MESSAGES[word], None, _size(found), dtype, group, peer, tag if type(tag) is int else 0)
    if word not in KINDS:
        known = ", ".join(sorted({kind.name.lower() for kind in KINDS.values()}))
        refuse(where, f"a collective of c10d ({known}), send or recv", f"the unknown operator '{op.name}'")
    waits = _argument(op, names, "async_op")
    splits = [_argument(op, names, side) for side in ("input_split_sizes", "output_split_sizes")]
    uneven = any(isinstance(split, list) and len(set(map(str, split))) > 1 for split in splits)
    blocks = None if not isinstance(waits, bool) else not waits
    return Communication(NodeType.COMM_COLL, KINDS[word], _size(found), dtype, group, blocks=blocks, uneven=uneven)


def of_kernel(event: Event, trace: HostTrace) -> Communication:
    """What a communicating kernel does, from its arguments alone.

    Raises `InputError` where they do not say it.
    """
    arguments = event.arguments
    word = plain(text(arguments, "Collective name")) or _word_in(event.name)
    dtype = text(arguments, "dtype")
    size = whole(arguments, "In msg nelems", 0) * ITEM_BYTES.get(dtype.lower(), 0)
    group = text(arguments, "Process Group Name") or None
    where = f"{trace.path}: kernel {event.name[:60]}"
    if word in MESSAGES:
        peer = whole(arguments, "Dst Rank" if word == "send" else "Src Rank")
        if peer < 0 or size == 0:
            refuse(where, "a message with its size and its other end", "none")
        return Communication(MESSAGES[word], None, size, dtype, group, peer)
    if word not in KINDS:
        refuse(where, "a collective that is known", f"the unknown collective '{word or 'without a name'}'")
    if size == 0 and KINDS[word] is not CommType.BARRIER:
        refuse(where, "its elements and their type", "none", "record the execution trace of the same steps")
    return Communication(NodeType.COMM_COLL, KINDS[word], size, dtype, group)


def group_name(op: HostOp, trace: HostTrace) -> str | None:
    """The process group that an operator's records or callers name; None where none of them does."""
    for caller in (op, *trace.callers(op)):
        name = text(caller.attributes, "pg_name")
        if name:
            return name
        if caller.name.startswith("_c10d_functional::"):
            named = _argument(caller, [name for name, _ in caller.parameters], "group_name")
            if isinstance(named, str):
                return named.strip('"')
    return None


def record_of(children: Sequence[HostOp]) -> str | None:
    """The process group that a `record_param_comms` names: in its attributes, else as a pair [name, description]."""
    for child in children:
        if child.name != "record_param_comms":
            continue
        if name := text(child.attributes, "pg_name"):
            return name
        for value in child.inputs:
            pair = value if isinstance(value, list) else _parsed(value)
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(entry, str) for entry in pair):
                return str(pair[0])
    return None


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value.startswith("[") else None
    except ValueError:
        return None


def _word_in(name: str) -> str:
    """The collective in a kernel's name, such as ncclDevKernel_AllReduce_Sum_f32_RING_LL."""
    flat = name.replace("_", "").replace("-", "").lower()
    return next((word for word in sorted(KINDS, key=len, reverse=True) if word in flat), "")


def _input_of(op: HostOp, names: Sequence[str]) -> list[Tensor]:
    """The tensors that a collective puts in: those of the parameter named input, else of the first."""
    place = next((index for index, name in enumerate(names) if name.startswith("input") and "split" not in name), 0)
    return list(tensors(op.inputs[place : place + 1]))


def _dtype(op: HostOp) -> str:
    kinds: Iterator[str] = (match.group(1) for kind in op.types for match in re.finditer(r"Tensor\(([^()]*)\)", kind))
    return next(kinds, "")


def _argument(op: HostOp, names: Sequence[str], name: str) -> Any:
    return op.inputs[names.index(name)] if name in names and names.index(name) < len(op.inputs) else None


def _size(found: Sequence[Tensor]) -> int:
    return sum(tensor.size for tensor in found)
