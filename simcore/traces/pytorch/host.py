"""The execution trace of a rank, as `torch.profiler.ExecutionTraceObserver` writes it: operators, without times.

Every operator has an id that grows with its start, its caller (`ctrl_deps`), the tensors it takes and gives, and the id
of its record function (`rf_id`), which the timeline knows too. A tensor is [id, storage, offset, elements, bytes an
element, device]. Source: PyTorch, `torch/csrc/profiler/standalone/execution_trace_observer.cpp`, schemas
1.0.2-chakra.0.0.4 to 1.1.1-chakra.0.0.4.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from simcore.traces.base import refuse
from simcore.traces.pytorch.files import read_object, text, whole

WHAT = "an execution trace of PyTorch"
SCHEMA = re.compile(r"1\.(0\.[2-9]|1\.\d+)-chakra\.0\.0\.4")
GROUPS = "## process_group:init ##"


@dataclass(frozen=True)
class Tensor:
    """A tensor of an operator: where it lies, and its size [B]."""

    storage: int
    size: int
    elements: int


@dataclass(frozen=True)
class HostOp:
    """An operator: `inputs` and `outputs` are PyTorch's values, which hold the tensors."""

    id: int
    name: str
    parent: int
    inputs: tuple[Any, ...]
    types: tuple[str, ...]
    outputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def record(self) -> int:
        """Id of the record function, -1 where there is none."""
        return whole(self.attributes, "rf_id")

    @cached_property
    def parameters(self) -> tuple[tuple[str, bool], ...]:
        """Name of each input, and whether the operator writes to it, from its schema; empty where it has none."""
        schema = text(self.attributes, "op_schema")
        inner = schema.partition("(")[2].rpartition(") ->")[0]
        words = [part.split("=")[0].split() for part in re.split(r",\s+(?![^(\[]*[)\]])", inner) if part.strip()]
        return tuple((word[-1], "!" in " ".join(word)) for word in words if word and word != ["*"])

    @cached_property
    def read(self) -> frozenset[int]:
        """Storages of the tensors it takes."""
        return frozenset(tensor.storage for tensor in tensors(self.inputs))

    @cached_property
    def written(self) -> frozenset[int]:
        """Storages of the tensors it gives, or writes to by its schema."""
        given = {tensor.storage for tensor in tensors(self.outputs)}
        marked = (value for value, (_, writes) in zip(self.inputs, self.parameters, strict=False) if writes)
        return frozenset(given | {tensor.storage for value in marked for tensor in tensors(value)})


def tensors(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """The tensors in a value, in order."""
    if not isinstance(value, list | tuple) or depth > 8:
        return
    head = value[:5]
    if len(value) == 6 and isinstance(value[5], str) and all(type(entry) is int and entry >= 0 for entry in head):
        if value[1]:  # without storage it is undefined
            yield Tensor(value[1], value[3] * value[4], value[3])
        return
    for entry in value:
        yield from tensors(entry, depth + 1)


@dataclass(frozen=True)
class HostTrace:
    """Operators of a rank by id, and its process groups: members by name (empty where the file says all)."""

    path: Path
    operators: Mapping[int, HostOp]
    groups: Mapping[str, tuple[int, ...]]
    world: int

    def callers(self, op: HostOp) -> Iterator[HostOp]:
        """Functions that called an operator, the nearest first.

        Raises `InputError` where they call one another in a circle.
        """
        seen = {op.id}
        while op.parent in self.operators and op.parent != op.id:
            op = self.operators[op.parent]
            if op.id in seen:
                refuse(str(self.path), "callers without a circle", f"operator {op.id} ({op.name}), its own caller")
            seen.add(op.id)
            yield op


def read_host(path: Path) -> HostTrace:
    """Read the execution trace of a rank.

    Raises `InputError` where it is none, of an unknown schema, or cut short.
    """
    document = read_object(path, WHAT)
    schema = text(document, "schema")
    if not isinstance(document.get("nodes"), list):
        found = "a timeline of Kineto" if "traceEvents" in document else "an object without nodes"
        refuse(str(path), WHAT, found, "the execution trace comes first, its timeline after --timeline")
    if not SCHEMA.fullmatch(schema):
        fix = "record it with PyTorch 2.3 or later"
        refuse(str(path), "schema 1.0.2-chakra.0.0.4 to 1.1.1-chakra.0.0.4", f"'{schema[:40]}'", fix)
    operators: dict[int, HostOp] = {}
    for place, node in enumerate(document["nodes"]):
        op = _operator(node)
        if op is None:
            refuse(f"{path}: nodes[{place}]", "an operator with id, name, inputs and outputs", "something else")
        if op.id in operators:
            refuse(f"{path}: nodes[{place}]", "every id once", f"{op.id} twice")
        operators[op.id] = op
    groups, world = _groups(operators, path)
    return HostTrace(path, operators, groups, world)


def _operator(node: Any) -> HostOp | None:
    if not isinstance(node, dict) or whole(node, "id") < 0 or not isinstance(node.get("name"), str):
        return None
    listed = node.get("attrs", [])
    named = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    sides = [node.get("inputs"), node.get("outputs")]
    if not all(isinstance(side, dict) and isinstance(side.get("values"), list) for side in sides):
        return None
    types = tuple(str(kind) for kind in node["inputs"].get("types", ()))
    attributes = {str(entry.get("name")): entry.get("value") for entry in named}
    values = tuple(node["inputs"]["values"]), tuple(node["outputs"]["values"])
    return HostOp(node["id"], node["name"], whole(node, "ctrl_deps"), values[0], types, values[1], attributes)


def _groups(operators: Mapping[int, HostOp], path: Path) -> tuple[dict[str, tuple[int, ...]], int]:
    """The process groups that the trace lists, and the size of the default group (0 where none is listed)."""
    groups: dict[str, tuple[int, ...]] = {}
    world = 0
    for op in operators.values():
        if op.name != GROUPS or not op.inputs:
            continue
        try:
            entries = json.loads(op.inputs[0])
            for entry in entries:
                ranks = tuple(int(rank) for rank in entry["ranks"])
                groups[str(entry["pg_name"])] = ranks
                world = max(world, int(entry.get("group_size", len(ranks))))
        except (ValueError, KeyError, TypeError, RecursionError):
            refuse(f"{path}: operator {op.id}", "the list of process groups", "something else")
    return groups, world
