"""Play a design on every one of its NPUs, and report the NPU that finishes last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import simpy

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine import unflushed
from simcore.engine.fast.iteration import StageWork, Timing
from simcore.engine.reference.cluster import GivenGroups, NpuGroups, slowdowns
from simcore.engine.reference.fabric import FabricView
from simcore.engine.reference.link_level import LinkLevel
from simcore.engine.reference.npu import NpuProcess, PipelineRun
from simcore.engine.reference.phase_level import PhaseLevel
from simcore.engine.reference.transport import Transport
from simcore.program import Category, Program, Start
from simcore.schedule import ORDERS
from simcore.system.placement import Placement, place


def _transport(env: simpy.Environment, cluster: NpuGroups, links: bool) -> Transport:
    return LinkLevel(env, cluster, FabricView.whole(env, cluster.design)) if links else PhaseLevel(env, cluster)


def groups_of(design: Design, program: Program) -> NpuGroups:
    """The NPUs of a design and the groups that its Program speaks of."""
    placement, single = place(design)[0], program.single
    given = single is not None and single.group not in placement
    return GivenGroups(design, placement) if given else NpuGroups(design, placement)


@dataclass
class CollectiveRun:
    """A single collective of all its groups, once."""

    env: simpy.Environment
    cluster: NpuGroups
    transport: Transport
    single: Start

    def start(self) -> simpy.Event:
        """Let every NPU issue it; the event at which all are done."""
        groups, single = self.cluster, self.single
        given = groups if isinstance(groups, GivenGroups) else None
        self.begin = int(self.env.now)
        self.issued = [
            self.transport.issue_collective(
                npu, single.kind, given.group_of(npu) if given else single.group, single.size
            )
            for npu in range(groups.design.cluster.npus)
        ]
        self.finished: list[simpy.Event] = []
        for event in self.issued:
            event.callbacks.append(self.finished.append)
        return self.env.all_of(self.issued)

    def timing(self) -> Timing:
        """What it came to, once it is done."""
        took = int(self.env.now) - self.begin
        use = self.transport.use_of(self.issued.index(self.finished[-1]))
        return Timing(took, {Category.DATA: took}, 0, 0, use.busy, use.sent)


@dataclass
class ProgramRun:
    """An iteration of a Program, once."""

    env: simpy.Environment
    cluster: NpuGroups
    transport: Transport
    program: Program
    batches: int = 1
    """How many batches follow one another, where the pipeline never empties."""

    def start(self) -> simpy.Event:
        """Let every NPU begin; the event at which all are done."""
        design, program = self.cluster.design, self.program
        job = PipelineRun(self.env, self.cluster, program, times_of(design), self.transport)
        order = self._order()
        self.begin = int(self.env.now)
        self.npus = [
            NpuProcess(job, number, slowdown, order[self.cluster.rank(number, "pipeline")])
            for number, slowdown in enumerate(slowdowns(design))
        ]
        return self.env.all_of([self.env.process(npu.play()) for npu in self.npus])

    def _order(self) -> list[list[int]]:
        """The blocks of each stage."""
        program, schedule = self.program, ORDERS[self.program.schedule]
        if schedule.flushes:
            whole: list[list[int]] = schedule.order(program.stages, program.microbatches, program.chunks).tolist()
            return whole
        played = unflushed.played_microbatches(program, self.batches)
        order = schedule.order(program.stages, played, program.chunks)
        kept = unflushed.kept_blocks(order, program, self.batches).tolist()
        return [blocks[:count] for blocks, count in zip(order.tolist(), kept, strict=True)]

    def timing(self) -> Timing:
        """What it came to, once it is done.

        Raises `RuntimeError` where the pipeline schedule waits for itself.
        """
        stuck = [npu.number for npu in self.npus if npu.finish < 0]
        if stuck:
            schedule = self.program.schedule
            raise RuntimeError(f"pipeline schedule {schedule} waits for itself: NPUs {stuck} never finished")
        served = self.cluster.design.parallelism.parameter_server
        if served is not None and served.asynchronous:
            return self._mean_of_workers()
        last = min(self.npus, key=self._order_of_ends)
        use = self.transport.use_of(last.number)
        work = tuple(StageWork(npu.stage, 1, _by_category(npu.spent)) for npu in self.npus)
        return Timing(last.finish - self.begin, last.spent, last.bubble, last.stage, use.busy, use.sent, work)

    @staticmethod
    def _order_of_ends(npu: NpuProcess) -> tuple[int, int, int]:
        return -npu.finish, npu.stage, npu.number

    def _mean_of_workers(self) -> Timing:
        """The iteration of workers that do not wait for each other: as many of theirs as there are workers.

        Worker w ends one in T_w, so all end W of them in W / sum(1 / T_w), of which each takes the share 1 / T_w: times
        are their mean with these weights. What is said is of the NPU of each worker that finishes last.
        """
        workers: dict[int, NpuProcess] = {}
        for npu in sorted(self.npus, key=self._order_of_ends):
            workers.setdefault(self.cluster.rank(npu.number, "data"), npu)
        lasts = list(workers.values())
        rates = [1 / (npu.finish - self.begin) for npu in lasts]
        whole = sum(rates)

        def mean(values: Sequence[float]) -> float:
            return sum(rate * value for rate, value in zip(rates, values, strict=True)) / whole

        spent = {category: round(mean([npu.spent[category] for npu in lasts])) for category in Category}
        total = round(len(lasts) / whole)
        bubble = total - sum(spent.values())
        uses = [self.transport.use_of(npu.number) for npu in lasts]
        busy = [round(mean(each)) for each in zip(*(use.busy for use in uses), strict=True)]
        sent = [mean(each) for each in zip(*(use.sent for use in uses), strict=True)]
        return Timing(total, spent, bubble, lasts[0].stage, busy, sent)


def time_collective(design: Design, single: Start, links: bool = False) -> Timing:
    """Time of a single collective, of all its groups, at phase level or (`links`) at link level."""
    env = simpy.Environment()
    placement = place(design)[0]
    groups = NpuGroups if single.group in placement else GivenGroups
    cluster = groups(design, placement)
    run = CollectiveRun(env, cluster, _transport(env, cluster, links), single)
    env.run(run.start())
    return run.timing()


def time_program(design: Design, program: Program, placement: Placement, links: bool = False) -> Timing:
    """Time of a training iteration, at phase level or (`links`) at link level.

    Raises `RuntimeError` where the pipeline schedule waits for itself.
    """
    if not ORDERS[program.schedule].flushes:
        return _time_unflushed(design, program, placement, links)
    env = simpy.Environment()
    cluster = NpuGroups(design, placement)
    run = ProgramRun(env, cluster, _transport(env, cluster, links), program)
    run.start()
    env.run()
    return run.timing()


def _time_unflushed(design: Design, program: Program, placement: Placement, links: bool) -> Timing:
    """Time of an iteration of the steady phase; see `simcore.engine.unflushed`."""
    ended: list[list[Timing]] = []

    def ends_after(iterations: int) -> list[int]:
        if not ended or len(ended[0]) < iterations:
            env = simpy.Environment()
            cluster = NpuGroups(design, placement)
            # Two more, as those are asked for next.
            run = ProgramRun(env, cluster, _transport(env, cluster, links), program, iterations + 2)
            run.start()
            env.run()
            ended[:] = [npu.ended for npu in run.npus]
        return [timings[iterations - 1].total for timings in ended]

    number = unflushed.settled_after(ends_after, program)
    windows = [_apart(timings[number - 1], timings[number]) for timings in ended]
    stages = sorted(range(len(windows)), key=lambda npu: windows[npu].stage)
    last = windows[stages[unflushed.slowest([(windows[npu].total, windows[npu].bubble) for npu in stages])]]
    work = tuple(StageWork(window.stage, 1, _by_category(window.spent)) for window in windows)
    return replace(last, work=work)


def _by_category(spent: Mapping[Category, int]) -> tuple[int, ...]:
    return tuple(spent[category] for category in Category)


def _apart(begin: Timing, end: Timing) -> Timing:
    """What lies between two moments of an NPU."""
    spent = {category: time - begin.spent[category] for category, time in end.spent.items()}
    busy = [after - before for before, after in zip(begin.busy, end.busy, strict=True)]
    sent = [after - before for before, after in zip(begin.sent, end.sent, strict=True)]
    return Timing(end.total - begin.total, spent, end.bubble - begin.bubble, end.stage, busy, sent)
