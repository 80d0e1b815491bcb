"""A training iteration as work of the graph: every NPU plays its stage's part of the Program, operator by operator.

As engine `reference` plays it (`simcore.engine.reference.npu`): what an NPU does and in which order is known before, so
that its operators are a chain of work, and collectives and messages hang on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simcore.compute import OperatorTimes
from simcore.engine.packets.collectives import Collectives
from simcore.program import TO_OTHER_END, Category, Compute, Program, Segment, Start, Waits
from simcore.schedule import ORDERS
from simcore.schedule.base import read_block
from simcore.system.chunks import picoseconds


@dataclass
class Iteration:
    """What all NPUs share."""

    program: Program
    times: OperatorTimes
    network: Collectives
    inputs: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    durations: dict[Compute, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path: list[int] = ORDERS[self.program.schedule].path(self.program.stages, self.program.chunks).tolist()
        self.along = {place: k for k, place in enumerate(self.path)}
        """The virtual stage at each place (chunk x stages + stage)."""

    def input_gate(self, npu: int, direction: int, stage: int, microbatch: int) -> int:
        """What is over when a virtual stage of `npu` has its input."""
        key = npu, direction, stage, microbatch
        if key not in self.inputs:
            self.inputs[key] = self.network.graph.gate()
        return self.inputs[key]

    def duration(self, operator: Compute, slowdown: float) -> int:
        """Time of an operator on an NPU [ps]."""
        if operator not in self.durations:
            self.durations[operator] = picoseconds(self.times.seconds(operator))
        usual = self.durations[operator]
        return usual if slowdown == 1.0 else max(1, round(usual * slowdown))


@dataclass
class NpuChain:
    """One NPU's chain of work."""

    job: Iteration
    number: int
    slowdown: float
    order: Sequence[int]
    """Blocks in order, coded as `PipelineSchedule.order` says."""
    spans: list[tuple[Category | None, int, int]] = field(default_factory=list)
    """What each piece of time counts as (None: bubble), and the work at whose ends it begins and ends."""
    pending: dict[Waits, list[int]] = field(default_factory=lambda: {waits: [] for waits in Waits})

    def __post_init__(self) -> None:
        self.network, self.graph = self.job.network, self.job.network.graph
        self.stage = self.network.cluster.rank(self.number, "pipeline")
        self.last = self.graph.gate()

    def add_blocks(self) -> None:
        """All blocks."""
        program = self.job.program
        parts = program.parts_of(self.stage)
        for position, code in enumerate(self.order):
            direction, microbatch, chunk, weights, alone = read_block(code)
            part = parts[chunk]
            ends, last = position == len(self.order) - 1, microbatch == program.microbatches - 1
            if weights:
                self._add_segments(part.last_weights if last else part.weights)
            else:
                forward = part.forward_pass(microbatch, alone)
                backward = part.last_backward if last or ends else part.backward_pass(alone)
                self._receive(direction, chunk, microbatch)
                self._add_segments(backward if direction else forward)
                self._send(direction, chunk, microbatch)
            if direction and ends:
                self._add_segments(program.final[self.stage])

    def _go_on(self, category: Category | None, work: int) -> None:
        self.spans.append((category, self.last, work))
        self.last = work

    def _receive(self, direction: int, chunk: int, microbatch: int) -> None:
        """Wait for the input; the two ends of the pipeline have theirs."""
        stage = self._virtual_stage(chunk)
        source = 0 if direction == 0 else len(self.job.path) - 1
        if stage != source and self.job.program.stages > 1:
            self._go_on(
                None, self.graph.gate(self.last, self.job.input_gate(self.number, direction, stage, microbatch))
            )

    def _send(self, direction: int, chunk: int, microbatch: int) -> None:
        """Send to the next virtual stage and wait until it has it."""
        stages, stage, onward = self.job.program.stages, self._virtual_stage(chunk), 1 if direction == 0 else -1
        after = stage + onward
        if not 0 <= after < len(self.job.path) or stages == 1:
            return
        target = self.job.path[after] % stages
        if target != self.stage:
            size = self.job.program.sent_bytes(stage, onward)
            arrived = self.network.send(self.number, "pipeline", target, size, self.last)
            self._go_on(Category.PIPELINE, arrived)
        receiver = self.network.cluster.npu_at(self.number, "pipeline", target)
        self.graph.wait(self.job.input_gate(receiver, direction, after, microbatch), self.last)

    def _virtual_stage(self, chunk: int) -> int:
        return self.job.along[chunk * self.job.program.stages + self.stage]

    def _issue(self, start: Start) -> int:
        """The work at whose end what starts is done."""
        if start.kind not in TO_OTHER_END:
            return self.network.issue(self.number, start.kind, start.group, start.size, self.last)
        target = TO_OTHER_END[start.kind] % self.job.program.stages
        return self.network.send(self.number, start.group, target, start.size, self.last)

    def _add_segments(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            for _ in range(segment.repeat):
                for operator in segment.operators:
                    if isinstance(operator, Compute):
                        duration = self.job.duration(operator, self.slowdown)
                        processor = self.graph.processor(self.number)
                        self._go_on(operator.category, self.graph.task(processor, duration, self.last))
                    elif isinstance(operator, Start):
                        self.pending[operator.waits].append(self._issue(operator))
                    elif self.pending[operator.waits]:
                        self._go_on(operator.category, self.graph.gate(self.last, *self.pending[operator.waits]))
                        self.pending[operator.waits] = []
