"""Memory beyond an NPU's own: what lies where, what still fits, and what it costs in time.

`[spill]` is COMET's hybrid memory (arXiv 2211.16648, on memory expansion): the share f of the footprint that the
NPU's own memory cannot hold lies in the expanded memory, traffic is spread alike, and an operator that moves Q bytes
takes Q (1 - f) / own bandwidth + Q f / expanded bandwidth. Offloaded parts are moved beside what the NPU computes
(ZeRO-Offload, arXiv 2101.06840): the optimizer step takes the larger of its traffic here and there; a microbatch's
activations leave during its forward pass and return during its backward pass, and what the pass does not hide is waited
for. A pool serves its NPUs one after the other (ASTRA-sim 2.0, arXiv 2303.14006): each has 1/n of the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from simcore.compute import OperatorTimes, times_of
from simcore.design.design import Design
from simcore.design.memory import ExpandedMemory
from simcore.document.field import BYTES
from simcore.document.problem import Path, Problem
from simcore.document.quantity import write_quantity
from simcore.memory.footprint import first_stage_memory, footprint
from simcore.memory.reserved import add_reserved, bytes_beside_tensors
from simcore.memory.streaming import streaming_problems, updating_problems
from simcore.program import Category, Compute, ModelPart, Operator, Program, Segment
from simcore.result import Memory
from simcore.system.edge import edge_problems, edge_share
from simcore.system.pool import own_reach, pool_problems
from simcore.workload.base import kind_of
from simcore.workload.data_parallel import optimizer_bytes, update_bytes


def own_capacity(design: Design) -> float:
    """Bytes of an NPU's own memory that can be used."""
    memory, its = design.cluster.memory, design.cluster.npu.memory
    if memory is None:
        return its.usable or its.capacity
    return (memory.capacity or its.capacity) * its.usable_share * (1.0 - (memory.fragmentation or 0.0))


def capacity(design: Design) -> float:
    """Bytes of both memories of an NPU that can be used."""
    expanded = design.expanded_memory
    return own_capacity(design) + (expanded.share if expanded else 0.0)


def memory_of(design: Design, program: Program) -> Memory:
    """Memory of the fullest stage, with what must be reserved for it (see `reserve`)."""
    return reserve(design, footprint(design, program))


def least_memory(design: Design) -> Memory | None:
    """Memory that a checked design needs at least, before there is a Program; None where nobody knows it."""
    program = kind_of(design.workload).first_stage(design)
    return None if program is None else reserve(design, first_stage_memory(design, program))


def reserve(design: Design, memory: Memory) -> Memory:
    """The memory of a stage with what must be reserved for it, and what of that lies in the expanded memory."""
    expanded = design.expanded_memory
    if expanded is None:
        return add_reserved(design, memory)
    if expanded.spills:
        memory = add_reserved(design, memory)
        return replace(memory, expanded=max(0.0, memory.reserved - own_capacity(design)), own=own_capacity(design))
    kept = {*expanded.place, "gradients"} if expanded.streams else set(expanded.place)
    there = sum(getattr(memory, part) for part in kept)
    loose = memory.activations if "activations" in expanded.place else 0.0
    return replace(add_reserved(design, memory, loose), expanded=there, own=own_capacity(design))


def fits(design: Design, memory: Memory) -> bool:
    """Whether both memories hold what must be reserved in them."""
    expanded = design.expanded_memory
    room = expanded.share if expanded else 0.0
    there = memory.expanded or 0.0
    if expanded and expanded.spills:
        return there <= room  # the rest is what the NPU's own memory holds; their difference would round
    return memory.reserved - there <= own_capacity(design) and there <= room


def apply_expanded_memory(design: Design, program: Program) -> Program:
    """The Program as it runs with the design's expanded memory, if it has one."""
    expanded = design.expanded_memory
    if expanded is None:
        return program
    reach = own_reach(expanded)
    bandwidth = reach.rate * expanded.shared_by * edge_share(design)
    expanded = expanded.model_copy(update={"bandwidth": bandwidth, "latency": reach.latency})
    own = design.cluster.running_npu.streaming_rate
    if expanded.spills:
        memory = memory_of(design, program)
        share = (memory.expanded or 0.0) / (memory.reserved - bytes_beside_tensors(design))
        return _edit_program(program, _Slower(1.0 + share * (own / expanded.rate - 1.0))) if share else program
    if "optimizer" in expanded.place:
        program = _edit_program(program, _Optimizer(design, own, expanded))
    if "activations" in expanded.place:
        times = times_of(design)
        program = replace(program, parts=tuple(_add_waits(part, times, own, expanded) for part in program.parts))
    return program


@dataclass(frozen=True)
class _Slower:
    """Every operator's traffic, as if all of it went to the NPU's own memory."""

    factor: float

    def __call__(self, operator: Compute) -> Compute:
        return operator._replace(bytes=operator.bytes * self.factor)


@dataclass(frozen=True)
class _Optimizer:
    """The optimizer step: weights and gradients here, its states there, both at the same time; or all of them there."""

    design: Design
    own: float
    expanded: ExpandedMemory

    def __call__(self, operator: Compute) -> Compute:
        workload = self.design.workload
        if operator.category != Category.OPTIMIZER:
            return operator
        gradient, weight = BYTES[workload.gradient_precision], BYTES[workload.precision]
        moved, kept = update_bytes(weight, gradient), optimizer_bytes(weight)
        here, parameters = moved - 2 * kept, operator.bytes / moved
        crossing = kept + (max(gradient, weight) if self.expanded.streams else 0)  # both ways at the same time
        there = self.expanded.latency + parameters * crossing / self.expanded.rate
        return operator._replace(bytes=max(parameters * here, there * self.own))


def _edit_program(program: Program, edit: _Slower | _Optimizer) -> Program:
    """The Program with its compute operators edited; equal lists of operators stay one object."""
    known: dict[int, tuple[Operator, ...]] = {}

    def edit_operators(listed: tuple[Operator, ...]) -> tuple[Operator, ...]:
        if id(listed) not in known:
            known[id(listed)] = tuple(edit(op) if isinstance(op, Compute) else op for op in listed)
        return known[id(listed)]

    lists: dict[int, tuple[Segment, ...]] = {}

    def edit_segments(listed: tuple[Segment, ...]) -> tuple[Segment, ...]:
        if id(listed) not in lists:
            lists[id(listed)] = tuple(
                segment._replace(operators=edit_operators(segment.operators)) for segment in listed
            )
        return lists[id(listed)]

    parts = tuple(
        replace(
            part,
            forward=edit_segments(part.forward),
            first_forward=edit_segments(part.first_forward),
            backward=edit_segments(part.backward),
            last_backward=edit_segments(part.last_backward),
            weights=edit_segments(part.weights),
            last_weights=edit_segments(part.last_weights),
            alone_forward=edit_segments(part.alone_forward),
            alone_backward=edit_segments(part.alone_backward),
        )
        for part in program.parts
    )
    return replace(program, parts=parts, final=tuple(edit_segments(final) for final in program.final))


def _add_waits(part: ModelPart, times: OperatorTimes, own: float, expanded: ExpandedMemory) -> ModelPart:
    """The part with the wait for what its passes do not hide: at the end of forward, at the start of backward."""
    moving = expanded.latency + part.activations / expanded.rate

    def make_wait(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        working = sum(
            segment.repeat * times.seconds(op)
            for segment in segments
            for op in segment.operators
            if isinstance(op, Compute)
        )
        exposed = moving - working
        if part.activations == 0 or exposed <= 0:
            return ()
        return (Segment("offload", (Compute("offload", "memory", 0.0, exposed * own),)),)

    return replace(
        part,
        forward=(*part.forward, *make_wait(part.forward)),
        first_forward=(*part.first_forward, *make_wait(part.first_forward)) if part.first_forward else (),
        backward=(*make_wait(part.backward), *part.backward),
        last_backward=(*make_wait(part.last_backward), *part.last_backward),
        alone_forward=(*part.alone_forward, *make_wait(part.alone_forward)) if part.alone_forward else (),
        alone_backward=(*make_wait(part.alone_backward), *part.alone_backward) if part.alone_backward else (),
    )


def memory_problems(design: Design) -> Iterator[Problem]:
    """What of the design's expanded memory cannot be simulated."""
    expanded = design.expanded_memory
    path: Path = ("cluster", "memory", "expanded")
    own, given = design.cluster.npu.memory.capacity, design.cluster.memory and design.cluster.memory.capacity
    if given and given < own:
        expected = f"at least the NPU's own memory ({write_quantity(own, 'size')})"
        yield Problem(("cluster", "memory", "capacity"), expected, write_quantity(given, "size"))
    if expanded is None:
        return
    yield from edge_problems(design)
    yield from pool_problems(design, expanded)
    if not design.workload.computes:
        yield Problem(path, "no expanded memory for a single collective", "one", "leave it out")
        return
    if not kind_of(design.workload).trained and not expanded.spills:
        found = ", ".join(expanded.place)
        yield Problem((*path, "place"), "[spill] where a model is served", found, "it has no optimizer to offload")
    yield from updating_problems(design)
    if expanded.streams:
        yield from streaming_problems(design)
    if len(set(expanded.place)) < len(expanded.place) or (expanded.spills and len(expanded.place) > 1):
        expected = "[spill], or parts (optimizer, activations), each once"
        yield Problem((*path, "place"), expected, ", ".join(expanded.place))
    if expanded.shared_by > design.cluster.npus or design.cluster.npus % expanded.shared_by:
        expected = f"a number of NPUs that divides the cluster's {design.cluster.npus}"
        yield Problem((*path, "shared_by"), expected, str(expanded.shared_by))
    model = design.cluster.npu.compute
    if model is not None and model.table is not None and expanded.spills:
        expected = "parts (optimizer, activations) on an NPU of measured products, which hide their traffic"
        yield Problem((*path, "place"), expected, "[spill]")
