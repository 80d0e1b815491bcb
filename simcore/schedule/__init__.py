"""Pipeline schedules: one file each."""

from simcore.schedule.base import PipelineSchedule, Steady
from simcore.schedule.forward_only import ForwardOnly
from simcore.schedule.gpipe import GPipe
from simcore.schedule.one_forward_one_backward import OneForwardOneBackward
from simcore.schedule.zero_bubble import ZeroBubble

SCHEDULES: dict[str, PipelineSchedule] = {
    "gpipe": GPipe(),
    "1f1b": OneForwardOneBackward(),
    "zero_bubble": ZeroBubble(),
}

"""Schedules of training, by the names a design may give."""

ORDERS: dict[str, PipelineSchedule] = {**SCHEDULES, "forward": ForwardOnly()}
"""Schedules by the names a Program may have."""

__all__ = ["ORDERS", "SCHEDULES", "PipelineSchedule", "Steady"]
