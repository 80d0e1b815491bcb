"""The reference engine (SimPy): every NPU a process, every dimension of every NPU a resource. Short, plain, slow."""

from simcore.engine.reference.events import estimate_events
from simcore.engine.reference.graph import time_graph
from simcore.engine.reference.jobs import time_jobs
from simcore.engine.reference.reduce import BUDGET, EventBudgetError, check_budget, reduce_design
from simcore.engine.reference.run import time_collective, time_program

__all__ = [
    "BUDGET",
    "EventBudgetError",
    "check_budget",
    "estimate_events",
    "reduce_design",
    "time_collective",
    "time_graph",
    "time_jobs",
    "time_program",
]
