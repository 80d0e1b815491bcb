"""Play a design on every one of its NPUs, and report the NPU that finishes last."""

from __future__ import annotations

import simpy

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.iteration import Timing
from simcore.engine.reference.cluster import GivenGroups, NpuGroups, slowdowns
from simcore.engine.reference.link_level import LinkLevel
from simcore.engine.reference.npu import NpuProcess, PipelineRun
from simcore.engine.reference.phase_level import PhaseLevel
from simcore.engine.reference.transport import Transport
from simcore.program import Category, Program, Start
from simcore.schedule import ORDERS
from simcore.system.placement import Placement, place


def _transport(env: simpy.Environment, cluster: NpuGroups, links: bool) -> Transport:
    return LinkLevel(env, cluster) if links else PhaseLevel(env, cluster)


def time_collective(design: Design, single: Start, links: bool = False) -> Timing:
    """Time of a single collective, of all its groups, at phase level or (`links`) at link level."""
    env = simpy.Environment()
    placement = place(design)[0]
    groups = None if single.group in placement else GivenGroups(design, placement)
    transport = _transport(env, groups or NpuGroups(design, placement), links)
    issued = [
        transport.issue_collective(npu, single.kind, groups.group_of(npu) if groups else single.group, single.size)
        for npu in range(design.cluster.npus)
    ]
    finished: list[simpy.Event] = []
    for event in issued:
        event.callbacks.append(finished.append)
    env.run(env.all_of(issued))
    use = transport.use_of(issued.index(finished[-1]))
    return Timing(int(env.now), {Category.DATA: int(env.now)}, 0, 0, use.busy, use.sent)


def time_program(design: Design, program: Program, placement: Placement, links: bool = False) -> Timing:
    """Time of a training iteration, at phase level or (`links`) at link level.

    Raises `RuntimeError` where the pipeline schedule waits for itself.
    """
    env = simpy.Environment()
    cluster = NpuGroups(design, placement)
    times = times_of(design)
    job = PipelineRun(env, cluster, program, times, _transport(env, cluster, links))
    order = ORDERS[program.schedule].order(program.stages, program.microbatches, program.chunks).tolist()
    npus = [
        NpuProcess(job, number, slowdown, order[cluster.rank(number, "pipeline")])
        for number, slowdown in enumerate(slowdowns(design))
    ]
    for npu in npus:
        env.process(npu.play())
    env.run()
    stuck = [npu.number for npu in npus if npu.finish < 0]
    if stuck:
        raise RuntimeError(f"pipeline schedule {program.schedule} waits for itself: NPUs {stuck} never finished")
    last = min(npus, key=lambda npu: (-npu.finish, npu.stage, npu.number))
    use = job.transport.use_of(last.number)
    return Timing(last.finish, last.spent, last.bubble, last.stage, use.busy, use.sent)
