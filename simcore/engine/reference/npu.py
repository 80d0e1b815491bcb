"""One NPU: a process that plays its stage's part of the Program, operator by operator, nothing skipped.

A block is what a stage does for one microbatch in one direction: it waits for its input, runs the segments, sends on,
and (the very last one) reduces what is left and steps the optimizer.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from simcore.compute import OperatorTimes
from simcore.engine.fast.iteration import Timing
from simcore.engine.reference.clock import now
from simcore.engine.reference.cluster import NpuGroups
from simcore.engine.reference.transport import Transport
from simcore.program import TO_OTHER_END, Category, Compute, Program, Segment, Start, Waits
from simcore.schedule import ORDERS
from simcore.schedule.base import read_block
from simcore.system.chunks import picoseconds

Process = Generator[simpy.Event, Any, None]


@dataclass
class PipelineRun:
    """What all NPUs share: the program, the network, and the inputs that stages hand to each other."""

    env: simpy.Environment
    cluster: NpuGroups
    program: Program
    compute: OperatorTimes
    transport: Transport
    inputs: dict[tuple[int, int, int, int], simpy.Event] = field(default_factory=dict)
    durations: dict[Compute, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path: list[int] = ORDERS[self.program.schedule].path(self.program.stages, self.program.chunks).tolist()
        self.along = {place: k for k, place in enumerate(self.path)}
        """The virtual stage at each place (chunk x stages + stage)."""

    def input_event(self, npu: int, direction: int, stage: int, microbatch: int) -> simpy.Event:
        """The event at which a virtual stage of `npu` has its input."""
        return self.inputs.setdefault((npu, direction, stage, microbatch), self.env.event())


@dataclass
class NpuProcess:
    """See the module."""

    job: PipelineRun
    number: int
    slowdown: float
    order: Sequence[int]
    """Blocks in order, coded as `PipelineSchedule.order` says."""
    spent: dict[Category, int] = field(default_factory=lambda: dict.fromkeys(Category, 0))
    bubble: int = 0
    """Time it waited for its input [ps]."""
    finish: int = -1
    pending: dict[Waits, list[simpy.Event]] = field(default_factory=lambda: {waits: [] for waits in Waits})
    ended: list[Timing] = field(default_factory=list)
    """What it came to at the end of each batch, where the pipeline never empties."""

    def __post_init__(self) -> None:
        self.stage = self.job.cluster.rank(self.number, "pipeline")
        self.env: simpy.Environment = self.job.env

    def play(self) -> Process:
        """All blocks."""
        program, flushes = self.job.program, ORDERS[self.job.program.schedule].flushes
        parts = program.parts_of(self.stage)
        for position, code in enumerate(self.order):
            direction, microbatch, chunk, weights, alone = read_block(code)
            part = parts[chunk]
            segments = part.forward_pass(microbatch, alone)
            last = (microbatch + 1) % program.updated_after == 0
            final = direction == 1 and (position == len(self.order) - 1 if flushes else last)
            if direction:
                segments = part.last_backward if last or final else part.backward_pass(alone)
            if weights:
                yield from self._run_segments(part.last_weights if last else part.weights)
            else:
                yield from self._receive(direction, chunk, microbatch)
                yield from self._run_segments(segments)
                yield from self._send(direction, chunk, microbatch)
            if final:
                yield from self._run_segments(program.final[self.stage])
            if final and not flushes and (microbatch + 1) % program.microbatches == 0:
                self.ended.append(self._timing())
        self.finish = now(self.env)

    def _timing(self) -> Timing:
        use = self.job.transport.use_of(self.number)
        return Timing(now(self.env), dict(self.spent), self.bubble, self.stage, list(use.busy), list(use.sent))

    def _receive(self, direction: int, chunk: int, microbatch: int) -> Process:
        """Wait for the input; the two ends of the pipeline have theirs."""
        stage = self._virtual_stage(chunk)
        source = 0 if direction == 0 else len(self.job.path) - 1
        if stage != source and self.job.program.stages > 1:
            begin = now(self.env)
            yield self.job.input_event(self.number, direction, stage, microbatch)
            self.bubble += now(self.env) - begin

    def _send(self, direction: int, chunk: int, microbatch: int) -> Process:
        """Send to the next virtual stage and wait until it has it: a blocking collective of the sender.

        Nothing is sent where the next virtual stage is on the same NPU.
        """
        stages, stage, onward = self.job.program.stages, self._virtual_stage(chunk), 1 if direction == 0 else -1
        after = stage + onward
        if not 0 <= after < len(self.job.path) or stages == 1:
            return
        begin = now(self.env)
        target = self.job.path[after] % stages
        if target != self.stage:
            size = self.job.program.sent_bytes(stage, onward)
            yield self.job.transport.send_message(self.number, "pipeline", target, size)
        self.spent[Category.PIPELINE] += now(self.env) - begin
        receiver = self.job.cluster.npu_at(self.number, "pipeline", target)
        self.job.input_event(receiver, direction, after, microbatch).succeed()

    def _virtual_stage(self, chunk: int) -> int:
        return self.job.along[chunk * self.job.program.stages + self.stage]

    def _run_segments(self, segments: Sequence[Segment]) -> Process:
        for segment in segments:
            for _ in range(segment.repeat):
                for operator in segment.operators:
                    if isinstance(operator, Compute):
                        begin = now(self.env)
                        yield self.job.transport.processors[self.number].compute(self._duration(operator))
                        self.spent[operator.category] += now(self.env) - begin
                    elif isinstance(operator, Start):
                        self.pending[operator.waits].append(self._issue(operator))
                    else:
                        begin = now(self.env)
                        while self.pending[operator.waits]:
                            yield self.pending[operator.waits].pop()
                        self.spent[operator.category] += now(self.env) - begin

    def _issue(self, start: Start) -> simpy.Event:
        """The event at which what starts is done."""
        transport = self.job.transport
        if start.kind not in TO_OTHER_END:
            return transport.issue_collective(self.number, start.kind, start.group, start.size)
        target = TO_OTHER_END[start.kind] % self.job.program.stages
        return transport.send_message(self.number, start.group, target, start.size)

    def _duration(self, operator: Compute) -> int:
        """Time of an operator on this NPU [ps]."""
        known = self.job.durations
        if operator not in known:
            known[operator] = picoseconds(self.job.compute.seconds(operator))
        usual = known[operator]
        return usual if self.slowdown == 1.0 else max(1, round(usual * self.slowdown))
