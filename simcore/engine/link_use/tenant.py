"""A job on its NPUs: what each class serves how long in an iteration, and what its flat rings send."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.design.jobs import JobShare, shares_of
from simcore.engine.fast.iteration import block_issues
from simcore.engine.fast.lower import Lowering
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.flow.links import hops_of, kinds_of, phases_on
from simcore.engine.flow.loads import Carried, Sender
from simcore.engine.flow.of_jobs import PlayedShare
from simcore.engine.flow.rows import Rows
from simcore.memory.plan import program_of
from simcore.program import TO_OTHER_END, Program, Start
from simcore.schedule import ORDERS
from simcore.system.chunks import FLAT, PICOSECONDS, Chunker, Chunks, block_of
from simcore.system.placement import place


class Work(NamedTuple):
    """What a job asks of its links in an iteration."""

    service: dict[tuple[Sender, int], float]
    """How long each sender serves a kind of phase on each dimension, alone [s]."""
    flat: dict[tuple[int, str], float]
    """What an NPU of a class sends in the flat rings of a group [B]."""


@dataclass(frozen=True)
class Tenant:
    """See the module."""

    number: int
    """Number of the job."""
    design: Design
    """Design of the job alone."""
    seconds: float
    """Time of an iteration."""
    share: JobShare | None = None
    """Its share of the cluster; None of a job that has all of it."""

    @cached_property
    def program(self) -> Program:
        """Its Program."""
        return program_of(self.design)

    @cached_property
    def classes(self) -> Classes:
        """Its classes of NPUs."""
        return find_classes(self.design, place(self.design)[0])

    @cached_property
    def rows(self) -> Rows:
        """Its rows of NPUs."""
        return Rows(self.classes, hops_of(self.program))

    @cached_property
    def played(self) -> PlayedShare:
        """It on its share of the cluster."""
        assert self.share is not None
        return PlayedShare(self.share, self.program, self.classes, 0)

    def carried(self, number: int) -> Carried:
        """What the rows of a dimension of its design may carry."""
        design, placement = self.design, self.classes.placement
        dimension = design.cluster.dimensions[number]
        pipeline = [where.part for where in placement.get("pipeline", ()) if where.dimension == number]
        phases = phases_on(design, number, placement, kinds_of(self.program, placement))
        worn, rows = tuple(design.cluster.worn(number).items()), tuple(self.rows.along(number))
        return Carried(block_of(dimension), dimension.size, worn, rows, phases, pipeline[0] if pipeline else None)

    @cached_property
    def work(self) -> Work:
        """See `Work`; of a training job each class does what its stage does."""
        work = Work(defaultdict(float), defaultdict(float))
        for its, stage in enumerate(self.classes.stages):
            for group, times, split in self._issued(stage):
                _add(work, split, times, Sender(its, group, "", -1))
        program, chunker = self.program, Chunker(self.design)
        passed = ((*message, program.microbatches) for message in _messages(program, chunker, self.classes))
        ends = ((*message, program.updates) for message in _messages_of_ends(program, chunker, self.classes))
        for source, target, split, times in (*passed, *ends):
            for its in (its for its, stage in enumerate(self.classes.stages) if stage == source):
                _add(work, split, times, Sender(its, "pipeline", "", target))
        return work

    def _issued(self, stage: int) -> Iterator[tuple[str, int, Chunks]]:
        """The collectives of a stage: group, how often it issues them, chunks."""
        program, placement = self.program, self.classes.placement
        if program.single is not None:
            group = program.single.group if program.single.group in placement else list(placement)[stage]
            chunker = Chunker(self.design)
            yield group, 1, chunker.split_collective(program.single.kind, placement[group], program.single.size)
            return
        lowering, choices = self._lowered
        split_up = ORDERS[program.schedule].splits
        issues = block_issues(lowering, choices[stage].tolist(), program.microbatches, split_up, program.updates)
        for number, (key, (group, split)) in enumerate(lowering.keyed()):
            if len(key) == 3:  # no message between stages
                yield group, issues.get(number, 0), split

    @cached_property
    def _lowered(self) -> tuple[Lowering, NDArray[np.int64]]:
        lowering = Lowering(self.design, self.classes.placement, times_of(self.design))
        return lowering, lowering.add(self.program)


def tenants_of(design: Design, seconds: tuple[float, ...]) -> tuple[Tenant, ...]:
    """The jobs of a design, with the time of an iteration of each [s]."""
    if design.jobs is None:
        (whole,) = seconds
        return (Tenant(0, design, whole),)
    shares = shares_of(design)[0]
    return tuple(Tenant(share.number, share.design, each, share) for share, each in zip(shares, seconds, strict=True))


def _add(work: Work, split: Chunks, times: int, sender: Sender) -> None:
    for path, chunks in split.count_paths():
        for phase in path:
            if phase.kind.startswith(FLAT):
                work.flat[sender.npus, sender.group] += times * chunks * phase.sent
            else:
                took = times * chunks * phase.serialization / PICOSECONDS
                work.service[sender._replace(kind=phase.kind), phase.dimension] += took


def _messages(program: Program, chunker: Chunker, classes: Classes) -> Iterator[tuple[int, int, Chunks]]:
    """What a microbatch sends from stage to stage, as far as its gradients: (stage, stage that gets it, phases)."""
    p, slices = program.stages, classes.placement.get("pipeline", ())
    if p == 1:
        return
    onward = chunker.steps_on(slices, p)
    path = [place % p for place in ORDERS[program.schedule].path(p, program.chunks).tolist()]
    sizes = program.sends or [program.send_bytes] * len(path)
    for size, here, there in zip(sizes, path, path[1:], strict=False):
        if here != there:
            split = chunker.split_message(slices, onward[here if there == (here + 1) % p else there], size)
            yield here, there, split
            if program.trained:
                yield there, here, split


def _messages_of_ends(program: Program, chunker: Chunker, classes: Classes) -> Iterator[tuple[int, int, Chunks]]:
    """What the first and the last stage send each other before an update, as `_messages` has it."""
    slices = classes.placement.get("pipeline", ())
    for stage, final in enumerate(program.final):
        for operator in (operator for segment in final for operator in segment.operators):
            if isinstance(operator, Start) and operator.kind in TO_OTHER_END:
                target = TO_OTHER_END[operator.kind] % program.stages
                yield stage, target, chunker.split_collective("send_recv", slices, operator.size)
