"""What is inside an iteration: the operators and the collectives of the NPU whose time a result tells.

A result says how long an NPU computes and waits, and for which group. This says what it computes then, and what its
network carries: each operator and each kind of collective with all the time it takes in the iteration, whether anything
waits for it or not. Sums over operators are `compute_s` where no collective slows them (`software.overlap`), sums over
collectives are `busy_s` of each dimension.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.iteration import block_issues
from simcore.engine.fast.lower import Lowering
from simcore.memory.plan import program_of
from simcore.policy.groups import group_kind
from simcore.program import GROUP_CATEGORY, Category, Compute
from simcore.schedule import ORDERS
from simcore.system.chunks import PICOSECONDS
from simcore.system.placement import place
from simcore.system.streamed import count_queues

_DIRECTION = re.compile(r"-(backward|input-gradient|weight-gradient|recomputed|recompute)$")


@dataclass(frozen=True, slots=True)
class OperatorUse:
    """All applications of one operator in an iteration, forward and backward."""

    name: str
    kind: str
    """As of `simcore.program.Compute`: gemm, memory, flash, core."""
    seconds: float
    flops: float


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """All collectives of one kind over one group in an iteration."""

    kind: str
    group: str
    category: Category
    """What waiting for it counts as."""
    count: int
    bytes: float
    """Bytes of all their buffers [B]."""
    busy: tuple[float, ...]
    """Time that each dimension serves them [s]."""


def operators_of(design: Design, stage: int = 0) -> tuple[OperatorUse, ...]:
    """The operators of a pipeline stage, those that take longest first; none of a single collective.

    A result tells of its `stage`, the one that finishes last in its engine.
    """
    program = program_of(design)
    if program.single is not None:
        return ()
    time = times_of(design).seconds
    seconds: dict[tuple[str, str], float] = {}
    flops: dict[tuple[str, str], float] = {}
    for segment, times in program.segments_of(stage):
        for operator in segment.operators:
            if isinstance(operator, Compute) and operator.category == Category.COMPUTE:
                key = _DIRECTION.sub("", operator.name), operator.kind
                repeats = times * segment.repeat
                seconds[key] = seconds.get(key, 0.0) + repeats * time(operator)
                flops[key] = flops.get(key, 0.0) + repeats * operator.flops
    found = (OperatorUse(*key, seconds[key], flops[key]) for key in seconds)
    return tuple(sorted(found, key=lambda use: (-use.seconds, use.name)))


def collectives_of(design: Design, stage: int = 0) -> tuple[CollectiveUse, ...]:
    """The collectives and messages of a pipeline stage, those that occupy a dimension longest first.

    Of a single collective that one, over its first group.
    """
    program, placement = program_of(design), place(design)[0]
    lowering = Lowering(design, placement, times_of(design))
    if program.single is not None:
        group = next(iter(placement))
        issues = {lowering.collective(program.single.kind, group, program.single.size): 1}
    else:
        choices = lowering.add(program)
        split = ORDERS[program.schedule].splits
        issues = block_issues(lowering, choices[stage].tolist(), program.microbatches, split, program.updates)
    dimensions = count_queues(design)
    uses: dict[tuple[str, str], CollectiveUse] = {}
    for index, (key, (group, split_up)) in enumerate(lowering.keyed()):
        count = issues.get(index, 0)
        if not count:
            continue
        busy = [0.0] * dimensions
        for path, times in split_up.count_paths():
            for phase in path:
                busy[phase.dimension] += count * times * phase.serialization / PICOSECONDS
        known = uses.get((key[0], group), CollectiveUse(key[0], group, _category(group), 0, 0.0, (0.0,) * dimensions))
        both = tuple(a + b for a, b in zip(known.busy, busy, strict=True))
        size = known.bytes + count * float(key[2])
        uses[key[0], group] = CollectiveUse(key[0], group, known.category, known.count + count, size, both)
    return tuple(sorted(uses.values(), key=lambda use: (-max(use.busy), use.kind, use.group)))


def _category(group: str) -> Category:
    return GROUP_CATEGORY.get(group_kind(group), Category.DATA)
