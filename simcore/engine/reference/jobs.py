"""Several jobs side by side on the links of one cluster, each iteration after iteration.

All jobs begin at the same time. A job begins its next iteration when all its NPUs have finished the one before, as a
job alone does whose iterations all take equally long. It goes on until every job has finished those asked for of it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import simpy

from simcore.design.design import Design
from simcore.design.jobs import JobShare
from simcore.engine.fast.iteration import Timing
from simcore.engine.reference.fabric import Fabric, FabricView
from simcore.engine.reference.link_level import LinkLevel
from simcore.engine.reference.run import CollectiveRun, ProgramRun, groups_of
from simcore.memory.plan import program_of


@dataclass
class JobProcess:
    """A job that plays iteration after iteration."""

    env: simpy.Environment
    fabric: Fabric
    share: JobShare
    timings: list[Timing] = field(default_factory=list)
    """Timing of each finished iteration; `busy` and `sent` are of all up to its end."""

    def play(self, finished: Any) -> Generator[simpy.Event, Any, None]:
        """All iterations; calls `finished` at the end of each."""
        while True:
            run = self._next_iteration()
            yield run.start()
            self.timings.append(run.timing())
            finished()

    def _next_iteration(self) -> CollectiveRun | ProgramRun:
        program = program_of(self.share.design)
        groups = groups_of(self.share.design, program)
        links = LinkLevel(self.env, groups, FabricView(self.fabric, self.share.npus, self.share.dimensions))
        if program.single is not None:
            return CollectiveRun(self.env, groups, links, program.single)
        return ProgramRun(self.env, groups, links, program)

    @property
    def played(self) -> list[Timing]:
        """The finished iterations, each with an even share of what the network did for the job."""
        count = len(self.timings)
        last = self.timings[-1]
        busy, sent = [round(time / count) for time in last.busy], [size / count for size in last.sent]
        return [replace(timing, busy=busy, sent=sent) for timing in self.timings]


def time_jobs(design: Design, shares: Sequence[JobShare], iterations: Sequence[int]) -> list[list[Timing]]:
    """So many iterations of each job, `[jobs, iterations]`, played at link level on the cluster of `design`."""
    env = simpy.Environment()
    fabric, stop = Fabric(env, design, of_jobs=True), env.event()
    jobs = [JobProcess(env, fabric, share) for share in shares]

    def finished() -> None:
        if not stop.triggered and all(len(job.timings) >= count for job, count in zip(jobs, iterations, strict=True)):
            stop.succeed()

    for job in jobs:
        env.process(job.play(finished))
    env.run(stop)
    return [job.played[:count] for job, count in zip(jobs, iterations, strict=True)]
