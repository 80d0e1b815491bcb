"""Where designs are evaluated: one file per executor."""

from dse.evaluate import Evaluate
from dse.execute.base import Executor
from dse.execute.serial import Serial


def make_executor(evaluator: Evaluate, jobs: int) -> Executor:
    """An executor with `jobs` workers on this machine; with one, in this process."""
    if jobs == 1:
        return Serial(evaluator)
    from dse.execute.processes import Processes

    return Processes(evaluator, jobs)


__all__ = ["Executor", "make_executor"]
