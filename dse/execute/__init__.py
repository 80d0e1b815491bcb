"""Where designs are evaluated: one file per executor."""

from __future__ import annotations

from dse.evaluate.evaluate import Evaluate
from dse.execute.base import Executor, Status
from dse.execute.growing import Growing, workers_here
from dse.execute.pool import Pool
from dse.execute.serial import Serial
from dse.execute.where import MOST_JOBS, Where
from simcore.document.problem import InputError, Problem


def make_executor(evaluator: Evaluate, jobs: int = 1, where: Where | None = None) -> Executor:
    """An executor with `jobs` workers on this machine (with one, in this process), or where `where` says.

    One that `grows` begins in this process.

    Raises `InputError` where it cannot be had here, `ClusterError` where its cluster cannot be reached.
    """
    where = where or Where(jobs=jobs)
    if where.executor == "ray":
        from dse.execute.on_ray import ray_pool

        return ray_pool(evaluator, where)
    if (where.jobs or 1) > MOST_JOBS:
        raise InputError([Problem(("jobs",), f"at most {MOST_JOBS:,} workers on one machine", f"{where.jobs:,}")], "")
    if where.jobs is None and where.grows and workers_here() > 1 and where.design_timeout is None:
        return Growing(evaluator, lambda: _pool(evaluator, where, workers_here()))
    if (where.jobs or 1) == 1 and where.design_timeout is None:
        return Serial(evaluator)
    return _pool(evaluator, where, where.jobs or 1)


def _pool(evaluator: Evaluate, where: Where, workers: int) -> Pool:
    from dse.execute.local_workers import LocalWorkers

    return Pool(evaluator, LocalWorkers(evaluator), workers, where.design_timeout, where.start_timeout)


__all__ = ["Executor", "Status", "Where", "make_executor"]
