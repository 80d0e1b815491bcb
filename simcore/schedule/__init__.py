"""Pipeline schedules: one file each."""

from simcore.schedule.base import PipelineSchedule, Steady
from simcore.schedule.gpipe import GPipe
from simcore.schedule.one_forward_one_backward import OneForwardOneBackward
from simcore.schedule.zero_bubble import ZeroBubble

SCHEDULES: dict[str, PipelineSchedule] = {
    "gpipe": GPipe(),
    "1f1b": OneForwardOneBackward(),
    "zero_bubble": ZeroBubble(),
}

__all__ = ["SCHEDULES", "PipelineSchedule", "Steady"]
