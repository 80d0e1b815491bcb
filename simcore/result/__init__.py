"""What the simulator answers: for a design, and for each job where it runs several."""

from simcore.result.job import JobResult, fairness, worst_slowdown
from simcore.result.notices import NOTICES, notices_in
from simcore.result.result import (
    Activity,
    Cost,
    Crossing,
    DimensionUse,
    Draw,
    ExposedCommunication,
    Memory,
    Result,
    Staleness,
)

__all__ = [
    "NOTICES",
    "Activity",
    "Cost",
    "Crossing",
    "DimensionUse",
    "Draw",
    "ExposedCommunication",
    "JobResult",
    "Memory",
    "Result",
    "Staleness",
    "fairness",
    "notices_in",
    "worst_slowdown",
]
