"""Pipeline schedules: one file each."""

from simcore.family import Family
from simcore.schedule.base import CHUNK_SHIFT, PipelineSchedule, Steady
from simcore.schedule.dualpipe_v import DualPipeV
from simcore.schedule.forward_only import ForwardOnly
from simcore.schedule.gpipe import GPipe
from simcore.schedule.one_forward_one_backward import OneForwardOneBackward
from simcore.schedule.pipedream import PIPEDREAM, PIPEDREAM_2BW
from simcore.schedule.v_shaped import V_HALF, V_MIN, ZB_V
from simcore.schedule.zero_bubble import ZeroBubble

_GROUP = "simcore.schedules"
_TRAINING: dict[str, PipelineSchedule] = {
    "gpipe": GPipe(),
    "1f1b": OneForwardOneBackward(),
    "zero_bubble": ZeroBubble(),
    "zbv": ZB_V,
    "v-half": V_HALF,
    "v-min": V_MIN,
    "dualpipe-v": DualPipeV(),
    "pipedream": PIPEDREAM,
    "pipedream_2bw": PIPEDREAM_2BW,
}

SCHEDULES = Family(_GROUP, PipelineSchedule, _TRAINING)
"""Schedules of training, by the names a design may give."""

ORDERS = Family(_GROUP, PipelineSchedule, {**_TRAINING, "forward": ForwardOnly()})
"""Schedules by the names a Program may have."""

__all__ = ["CHUNK_SHIFT", "ORDERS", "SCHEDULES", "PipelineSchedule", "Steady"]
