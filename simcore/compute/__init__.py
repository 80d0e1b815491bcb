"""How long an operator takes: one file per model of an NPU."""

from simcore.compute.base import OperatorTimes
from simcore.compute.roofline import Roofline
from simcore.spec import Npu


def operator_times(npu: Npu, precision: str) -> OperatorTimes:
    """The model of operator times that the NPU asks for, at a precision."""
    return Roofline(npu, precision)


__all__ = ["OperatorTimes", "Roofline", "operator_times"]
