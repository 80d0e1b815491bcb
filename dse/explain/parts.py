"""The parts of an iteration, each with what is behind it in words: operators, collectives, pipeline stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dse.report.aspects import short_name
from dse.report.reasons import breakdown
from dse.report.units import clean_text, format_brief, format_percent, format_with_unit
from simcore.design.design import Design
from simcore.engine.anatomy import CollectiveUse, OperatorUse, collectives_of, operators_of
from simcore.memory.plan import program_of
from simcore.network import TOPOLOGIES
from simcore.policy.groups import group_kind
from simcore.program import GROUP_CATEGORY
from simcore.result import Result
from simcore.system.pool import own_reach

_KINDS = {"gemm": "matrix products", "memory": "element-wise", "flash": "attention", "core": "attention"}
_LEAST_SHARE = 0.02
_NAMED = 3


@dataclass(frozen=True, slots=True)
class TimePart:
    """A part of the iteration time."""

    name: str
    seconds: float
    share: float
    why: str
    """What is behind it."""


def explain_parts(design: Design, result: Result) -> tuple[TimePart, ...]:
    """The parts that take any time, the longest first; their seconds add up to the iteration."""
    stage = result.stage or 0
    operators, collectives = operators_of(design, stage), collectives_of(design, stage)
    parts = []
    for name, seconds in breakdown(result).items():
        if seconds:
            why = _reason(name, design, result, operators, collectives)
            parts.append(TimePart(name, seconds, seconds / result.iteration_time_s, why))
    return tuple(sorted(parts, key=lambda part: -part.seconds))


def _reason(
    name: str,
    design: Design,
    result: Result,
    operators: Sequence[OperatorUse],
    collectives: Sequence[CollectiveUse],
) -> str:
    if name == "compute":
        return _of_compute(design, result, operators)
    if name == "bubble":
        return _of_bubble(design, result)
    if name.endswith(" communication"):
        group = name.removesuffix(" communication")
        return _of_collectives(design, [use for use in collectives if use.category.name.lower() == group])
    return "updates the weights from gradients; bytes moved" if name == "optimizer" else ""


def _of_compute(design: Design, result: Result, operators: Sequence[OperatorUse]) -> str:
    total = sum(use.seconds for use in operators)
    if not total:
        return ""
    kinds: dict[str, float] = {}
    for use in operators:
        kind = _KINDS.get(use.kind, use.kind)
        kinds[kind] = kinds.get(kind, 0.0) + use.seconds
    texts = [
        f"{kind} {format_percent(seconds / total)}{_rate(design, operators) if kind == 'matrix products' else ''}"
        for kind, seconds in sorted(kinds.items(), key=lambda pair: -pair[1])
        if seconds >= _LEAST_SHARE * total
    ]
    named = [f"{clean_text(use.name)} {format_percent(use.seconds / total)}" for use in operators[:_NAMED]]
    slowed = result.compute_s - total
    if slowed > _LEAST_SHARE * result.compute_s:
        texts.append(f"slowed by collectives beside it {format_with_unit(slowed, 's')}")
    return f"{', '.join(texts)}; longest: {', '.join(named)}"


def _rate(design: Design, operators: Sequence[OperatorUse]) -> str:
    """How near matrix products come to the data sheet's peak."""
    products = [use for use in operators if use.kind == "gemm"]
    seconds, peak = sum(use.seconds for use in products), design.cluster.npu.rate(design.workload.precision)
    return f" (at {format_percent(sum(use.flops for use in products) / seconds / peak)} of the peak)" if seconds else ""


def _of_bubble(design: Design, result: Result) -> str:
    program = program_of(design)
    chunks = f", {program.chunks} chunks a stage" if program.chunks > 1 else ""
    why = (
        f"{program.stages} stages wait for each other: {program.microbatches} microbatches, {program.schedule}{chunks}"
    )
    here = result.stage or 0
    each = [_work_of(design, stage) for stage in range(program.stages)]
    stage = max(range(program.stages), key=lambda stage: sum(each[stage].values()))
    own, most = each[here], each[stage]
    longer = {name: seconds - own.get(name, 0.0) for name, seconds in most.items()}
    total = sum(most.values()) - sum(own.values())
    if total < _LEAST_SHARE * sum(own.values()):
        return why
    told = [
        f"{format_with_unit(seconds, 's')} of {name}"
        for name, seconds in sorted(longer.items(), key=lambda pair: -pair[1])
        if seconds >= _LEAST_SHARE * total
    ]
    p = design.parallelism
    placed = p.stages is not None or p.first_stage_layers is not None or p.last_stage_layers is not None
    mend = "" if placed else "; stages that are solved, or fewer layers there, even that out"
    return f"{why}; stage {stage} works longer than stage {here}, shown here, by {' and '.join(told)}{mend}"


def _work_of(design: Design, stage: int) -> dict[str, float]:
    """What an NPU of a stage does that its next stage waits for: kind -> seconds, of collectives those that block."""
    work = {"computing": sum(use.seconds for use in operators_of(design, stage))}
    p = design.parallelism
    hidden = {"tensor": p.tensor_overlap, "context": p.context_overlap, "expert": p.expert_overlap}
    for use in collectives_of(design, stage):
        group = use.category.name.lower()
        if hidden.get(group) is False:
            name = f"{group} communication"
            work[name] = work.get(name, 0.0) + max(use.busy)
    return work


def _queue_name(design: Design, number: int) -> str:
    """A dimension, or a direction of the link to the memory that weights stream in from."""
    if design.streamed is not None and number >= len(design.cluster.dimensions):
        return f"the memory's link at {format_with_unit(own_reach(design.streamed).rate, 'B/s')}"
    dimension = design.cluster.dimensions[number]
    block = f"{short_name(TOPOLOGIES, dimension.topology)}({dimension.size})"
    return f"dimension {number}, {block} at {format_with_unit(dimension.bandwidth, 'B/s')},"


def _of_collectives(design: Design, uses: Sequence[CollectiveUse]) -> str:
    """What is sent over which dimension, for how long in all, hidden or not."""
    told = []
    for use in (*uses[:2], *(use for use in uses[2:] if group_kind(use.group) == "reshard")):
        busiest = max(range(len(use.busy)), key=lambda index: use.busy[index])
        where = _queue_name(design, busiest)
        size = format_with_unit(use.bytes / use.count, "B")
        told.append(
            f"{format_brief(use.count)} {use.kind} of {size}{_among(use.group)} keep {where} busy for "
            f"{format_with_unit(use.busy[busiest], 's')}"
        )
    return "; ".join(told)


def _among(group: str) -> str:
    """Which layers a group is of, or between which, where not all have the same degrees."""
    kind, _, own = group.partition(" ")
    if kind == "reshard":
        return f" between layers of tensor {own.replace('-', ' and ')}"
    return f" in layers of {own}" if own and kind in GROUP_CATEGORY else ""
