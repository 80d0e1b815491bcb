"""Jobs as the fast engine's arrays, and the ways that their phases go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.iteration import room_for
from simcore.engine.fast.lower import Lowering
from simcore.engine.fast.sums import add_serially, sum_blocks
from simcore.engine.fast.tables import BLOCKING, COMPUTE, KINDS, SENT, START, pack_program
from simcore.engine.flow.classes import Classes
from simcore.engine.flow.tables import Floats, Ints
from simcore.program import Category, Program
from simcore.schedule import ORDERS
from simcore.system.chunks import LONGEST, PICOSECONDS, too_long_error
from simcore.system.interference import UNIT, slowdowns

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Job:
    """A Program on the NPUs of a cluster that are its own."""

    design: Design
    """What it is, its own NPUs as a cluster: its chunks, algorithms, policies and times of operators are this one's."""
    program: Program
    classes: Classes
    """Classes of its NPUs, in its own placement."""


class Way(NamedTuple):
    """What phases share, whatever their size."""

    group: str
    dimension: int
    kind: str
    message: bool
    """Whether it is part of a message between stages, which occupies its sender alone."""
    onward: bool | None
    """Whether a message goes to the next stage, or the previous one."""
    half: bool = False
    """Whether it is part of an all-reduce."""


@dataclass(frozen=True)
class Lowered:
    """A job as the fast engine's arrays."""

    job: Job
    lowering: Lowering
    choices: Ints
    orders: Ints
    """The blocks of each stage in order, `[stages, blocks]`."""
    path: Ints

    @property
    def microbatches(self) -> int:
        """Microbatches of its Program; of a single collective one."""
        return self.job.program.microbatches if self.job.program.single is None else 1

    @cached_property
    def net(self) -> Ints:
        """See `simcore.engine.fast.state`."""
        return self.lowering.network()

    @cached_property
    def paces(self) -> list[float]:
        """The different slowdowns of its classes; there is a program for each."""
        return sorted(set(self.job.classes.slowdowns))

    @cached_property
    def programs(self) -> list[Ints]:
        """See `simcore.engine.fast.tables`."""
        return [self._program(pace) for pace in self.paces]

    def _program(self, pace: float) -> Ints:
        rows = self.lowering.operators
        if pace != 1.0:
            rows = [(code, _slowed(a, pace) if code == COMPUTE else a, other) for code, a, other in rows]
        return pack_program(rows, self.lowering.segments, self.lowering.blocks, self.choices)

    @cached_property
    def ways(self) -> tuple[list[Way], Ints]:
        """The different ways, and which of them each phase of the network goes."""
        known: dict[Way, int] = {}
        numbers = []
        for key, (group, split) in self.lowering.keyed():
            message = len(key) > 3
            for path in split.paths:
                for phase in path:
                    onward = key[4] if message else None
                    way = Way(group, phase.dimension, phase.kind, message, onward, key[0] == "all_reduce")
                    numbers.append(known.setdefault(way, len(known)))
        return list(known), np.array(numbers, np.int64)

    @cached_property
    def types_by_way(self) -> Flags:
        """Which types of collectives go which ways, `[types, ways]`."""
        ways, numbers = self.ways
        lengths = [sum(map(len, split.paths)) for _, split in self.lowering.types]
        goes = np.zeros((len(lengths), len(ways)), np.bool_)
        goes[np.repeat(np.arange(len(lengths)), lengths), numbers] = True
        return goes

    @cached_property
    def segment_types(self) -> list[list[int] | None]:
        """The types of collectives that each segment starts; None where it hands an input on."""
        found: list[list[int] | None] = []
        for first, end, _ in self.lowering.segments:
            rows = self.lowering.operators[first:end]
            sends = any(code == SENT for code, _, _ in rows)
            starts = [argument for code, argument, _ in rows if code in (START, BLOCKING)]
            found.append(None if sends else starts)
        return found

    @cached_property
    def sending(self) -> list[bool]:
        """Whether each segment is a message to another stage, and nothing else."""
        messages = [len(key) > 3 for key, _ in self.lowering.keyed()]
        rows = [self.lowering.operators[first:end] for first, end, _ in self.lowering.segments]
        return [len(its) == 1 and its[0][0] == BLOCKING and messages[its[0][1]] for its in rows]

    def room(self) -> tuple[int, int]:
        """Most collectives that a class issues while its network is busy, and most outstanding at the same time."""
        return room_for(self.job.program, self.sums, self.microbatches)

    @cached_property
    def sums(self) -> Floats:
        """See `simcore.engine.fast.sums`; of the slowest NPUs."""
        return sum_blocks(self.programs[-1], self.lowering.serial())

    def check_length(self, slowest: float) -> None:
        """Raise `InputError` where its times might not fit 64 bits if everything took `slowest` times as long."""
        beside = 1 + max(slowdowns(self.job.design)) / UNIT
        serial = slowest * beside * add_serially(self.choices, self.sums, self.job.program.microbatches, 1)
        if serial >= LONGEST:
            raise too_long_error(serial / PICOSECONDS)


def _slowed(duration: int, pace: float) -> int:
    """Time of an operator on an NPU that is slower than others [ps], as `reference.npu` has it."""
    return max(1, round(duration * pace))


def lower(job: Job) -> Lowered:
    """Lower a job: an iteration, or one collective of each group of its placement where they lie side by side."""
    return _lower_iteration(job) if job.program.single is None else _lower_single(job)


def _lower_iteration(job: Job) -> Lowered:
    program = job.program
    lowering = Lowering(job.design, job.classes.placement, times_of(job.design), directed=True)
    schedule = ORDERS[program.schedule]
    choices = lowering.add(program)
    orders = schedule.order(program.stages, program.microbatches, program.chunks)
    return Lowered(job, lowering, choices, orders, schedule.path(program.stages, program.chunks))


def _lower_single(job: Job) -> Lowered:
    placement, single = job.classes.placement, job.program.single
    assert single is not None
    lowering = Lowering(job.design, placement, times_of(job.design), directed=True)
    groups = [single.group] if single.group in placement else list(placement)
    for number, group in enumerate(groups):
        kind = lowering.collective(single.kind, group, single.size)
        lowering.operators.extend([(BLOCKING, kind, int(Category.DATA)), (SENT, 0, 0)])
        lowering.segments.append((2 * number, 2 * number + 2, 1))
        lowering.blocks.append((number, number + 1))
    choices = np.repeat(np.arange(len(groups)), KINDS).reshape(len(groups), 1, KINDS)
    return Lowered(job, lowering, choices, np.zeros((len(groups), 1), np.int64), np.zeros(1, np.int64))
