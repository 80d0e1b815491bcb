"""The fast engine's meaning, played out plainly: every microbatch, layer, chunk and phase, nothing remembered.

One representative NPU per pipeline stage, one queue per network dimension. It shares with the engine only what says
how long things take (operators, phases of chunks, the order of a schedule).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.program import GROUP_CATEGORY, TO_OTHER_END, Category, Compute, Segment, Start, Wait, Waits
from simcore.schedule import SCHEDULES
from simcore.schedule.base import ALONE, CHUNK_MASK, CHUNK_SHIFT, WEIGHTS
from simcore.system.chunks import Chunker, Chunks, Phase, picoseconds
from simcore.system.interference import slowdowns
from simcore.system.placement import place
from simcore.system.steps import as_served
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.program import transformer_program


@dataclass
class Task:
    """A chunk of an issued collective on its way."""

    issue: int
    chunk: int
    group: str
    waits: Waits
    path: list[Phase]
    at: int = 0
    arrival: int = 0

    @property
    def phase(self) -> Phase:
        return self.path[self.at]

    def key(self, design: Design) -> tuple[int, int, int, int, int]:
        """Who is served first: by the policy, then arrival, issue, chunk, phase."""
        system = design.system
        listed: tuple[str, ...] = system.priority
        gradients = ("data_context", "expert_data", "shard", "expert_shard", "replica")
        group = "data" if self.group in gradients else self.group
        rank = listed.index(group) if group in listed else len(listed)
        policy = {"fifo": 0, "lifo": -self.issue, "scf": int(self.phase.size), "priority": rank}
        policy["preemptive"] = 2 * rank + (not self.phase.begun)
        return policy[system.intra_dimension], self.arrival, self.issue, self.chunk, self.at


@dataclass
class Stage:
    """A representative NPU and its network."""

    design: Design
    now: int = 0
    issued: int = 0
    bubble: int = 0
    spent: dict[Category, int] = field(default_factory=lambda: dict.fromkeys(Category, 0))
    waiting: dict[int, list[Task]] = field(default_factory=dict)
    serving: dict[int, tuple[int, Task]] = field(default_factory=dict)
    flying: list[tuple[int, Task]] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)

    def start(self, split: Chunks, group: str, waits: Waits) -> None:
        self.issued += 1
        paths = as_served(self.design, split).paths
        for chunk, path in enumerate(split.chosen):
            self._enqueue(Task(self.issued, chunk, group, waits, paths[path]))

    def outstanding(self) -> list[Task]:
        queued = [task for tasks in self.waiting.values() for task in tasks]
        return queued + [task for _, task in self.serving.values()] + [task for _, task in self.flying]

    def advance(self, until: int) -> None:
        while self.now < until:
            self._serve()
            time = self._next()
            if time is None or time > until:
                self.now = until
                return
            self._happen(time)

    def compute(self, work: int, category: Category) -> None:
        """Work [ps], slowed while dimensions serve: of the time at each slowdown, whole picoseconds of work count."""
        costs = slowdowns(self.design)
        begin, times = self.now, dict.fromkeys((0, *costs), 0)
        while work > (done := sum(time * 1000 // (1000 + slow) for slow, time in times.items())):
            self._serve()
            slow = max((costs[d] for d in self.serving), default=0)
            others = done - times[slow] * 1000 // (1000 + slow)
            end = self.now + -(-(work - others) * (1000 + slow) // 1000) - times[slow]
            time = self._next()
            until = end if time is None else min(end, time)
            times[slow] += until - self.now
            if until == time:
                self._happen(time)
            self.now = until
        self.spent[category] += self.now - begin

    def wait(self, waits: Waits, category: Category) -> None:
        since = self.now
        while any(task.waits == waits for task in self.outstanding()):
            self._serve()
            time = self._next()
            assert time is not None
            self._happen(time)
        self.spent[category] += self.now - since

    def _enqueue(self, task: Task) -> None:
        task.arrival = self.now
        self.waiting.setdefault(task.phase.dimension, []).append(task)

    def _serve(self) -> None:
        slots = self.design.system.active_chunks
        for d, tasks in self.waiting.items():
            if not tasks or d in self.serving or (slots != "overlap" and self.held.get(d, 0) >= slots):
                continue
            task = min(tasks, key=lambda one: one.key(self.design))
            tasks.remove(task)
            self.serving[d] = (self.now + task.phase.serialization, task)
            self.held[d] = self.held.get(d, 0) + 1

    def _next(self) -> int | None:
        times = [end for end, _ in self.serving.values()] + [arrival for arrival, _ in self.flying]
        return min(times, default=None)

    def _happen(self, time: int) -> None:
        """Services that end, then chunks that arrive."""
        self.now = time
        for d in [d for d, (end, _) in self.serving.items() if end == time]:
            _, task = self.serving.pop(d)
            self.flying.append((time + task.phase.latency, task))
        landed = sorted((t for a, t in self.flying if a == time), key=lambda task: (task.issue, task.chunk, task.at))
        self.flying = [(arrival, task) for arrival, task in self.flying if arrival != time]
        for task in landed:
            self.held[task.phase.dimension] -= 1
            task.at += 1
            if task.at < len(task.path):
                self._enqueue(task)


@dataclass(frozen=True)
class Played:
    """What the stage that finishes last did [ps]."""

    total: int
    spent: dict[Category, int]
    bubble: int
    stage: int


def play(design: Design) -> Played:
    """Play an iteration."""
    workload = design.workload
    assert isinstance(workload, TransformerWorkload)
    program, (placement, _) = transformer_program(design), place(design)
    chunker, roofline = Chunker(design), times_of(design)
    p, v, m = program.stages, program.chunks, program.microbatches
    stages = [Stage(design) for _ in range(p)]

    def run(stage: Stage, segments: Iterable[Segment]) -> None:
        for segment in segments:
            for operator in segment.operators * segment.repeat:
                match operator:
                    case Compute():
                        stage.compute(picoseconds(roofline.seconds(operator)), operator.category)
                    case Start() if operator.kind in TO_OTHER_END:
                        send(stage, 0, p - 1, operator.size)  # as far as back
                    case Start():
                        split = chunker.split_collective(operator.kind, placement[operator.group], operator.size)
                        stage.start(split, operator.group, operator.waits)
                        if operator.waits == Waits.NOW:
                            stage.wait(Waits.NOW, GROUP_CATEGORY[operator.group])
                    case Wait():
                        stage.wait(operator.waits, operator.category)

    def send(stage: Stage, origin: int, target: int, size: float = program.send_bytes) -> None:
        group = placement["pipeline"]
        stage.start(chunker.split_message(group, chunker.hops(group, origin, target), size), "pipeline", Waits.NOW)
        stage.wait(Waits.NOW, Category.PIPELINE)

    order = SCHEDULES[program.schedule].order(p, m, v).tolist()
    path = SCHEDULES[program.schedule].path(p, v).tolist()
    ready = {(0, 0, mb): 0 for mb in range(m)} | {(1, p * v - 1, mb): 0 for mb in range(m)}
    position = [0] * p
    while any(position[s] < len(order[s]) for s in range(p)):
        before = sum(position)
        for s, stage in enumerate(stages):
            while position[s] < len(order[s]):
                code = order[s][position[s]]
                direction, coded, mb = code & 1, (code >> 1) & ((1 << CHUNK_SHIFT) - 1), code >> (CHUNK_SHIFT + 1)
                chunk, alone = coded & CHUNK_MASK, coded & ALONE > 0
                if coded >= WEIGHTS:
                    part = program.parts[program.part_of[chunk * p + s]]
                    run(stage, part.last_weights if mb == m - 1 else part.weights)
                    position[s] += 1
                    if position[s] == len(order[s]):
                        run(stage, program.final[s])
                    continue
                k = path.index(chunk * p + s)
                if (direction, k, mb) not in ready:
                    break
                stage.bubble += max(0, ready[direction, k, mb] - stage.now)
                stage.advance(ready[direction, k, mb])
                part = program.parts[program.part_of[path[k]]]
                forward = (part.alone_forward if alone else ()) or part.forward
                backward = (part.alone_backward if alone else ()) or part.backward
                forward, backward = forward if mb else part.first_pass, part.last_backward if mb == m - 1 else backward
                run(stage, backward if direction else forward)
                following = k - 1 if direction else k + 1
                if 0 <= following < p * v:
                    if path[following] % p != s:
                        send(stage, s, path[following] % p)
                    ready[direction, following, mb] = stage.now
                position[s] += 1
                if position[s] == len(order[s]):
                    run(stage, program.final[s])
        assert sum(position) > before, "deadlock"
    last = max(range(p), key=lambda s: (stages[s].now, -s))
    return Played(stages[last].now, stages[last].spent, stages[last].bubble, last)
