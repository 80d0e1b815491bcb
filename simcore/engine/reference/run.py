"""Play a design on every one of its NPUs, and report the NPU that finishes last."""

from __future__ import annotations

from dataclasses import dataclass

import simpy

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.iteration import Timing
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

    def start(self) -> simpy.Event:
        """Let every NPU begin; the event at which all are done."""
        design, program = self.cluster.design, self.program
        job = PipelineRun(self.env, self.cluster, program, times_of(design), self.transport)
        order = ORDERS[program.schedule].order(program.stages, program.microbatches, program.chunks).tolist()
        self.begin = int(self.env.now)
        self.npus = [
            NpuProcess(job, number, slowdown, order[self.cluster.rank(number, "pipeline")])
            for number, slowdown in enumerate(slowdowns(design))
        ]
        return self.env.all_of([self.env.process(npu.play()) for npu in self.npus])

    def timing(self) -> Timing:
        """What it came to, once it is done.

        Raises `RuntimeError` where the pipeline schedule waits for itself.
        """
        stuck = [npu.number for npu in self.npus if npu.finish < 0]
        if stuck:
            schedule = self.program.schedule
            raise RuntimeError(f"pipeline schedule {schedule} waits for itself: NPUs {stuck} never finished")
        last = min(self.npus, key=lambda npu: (-npu.finish, npu.stage, npu.number))
        use = self.transport.use_of(last.number)
        return Timing(last.finish - self.begin, last.spent, last.bubble, last.stage, use.busy, use.sent)


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
    env = simpy.Environment()
    cluster = NpuGroups(design, placement)
    run = ProgramRun(env, cluster, _transport(env, cluster, links), program)
    run.start()
    env.run()
    return run.timing()
