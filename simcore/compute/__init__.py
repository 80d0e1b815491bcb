"""How long an operator takes: one file per model of an NPU."""

from simcore.compute.base import OperatorTimes
from simcore.compute.measured import MeasuredTimes, OutsideTableError, Table
from simcore.compute.roofline import Roofline
from simcore.compute.systolic import SystolicTimes
from simcore.spec import Npu


def operator_times(npu: Npu, precision: str) -> OperatorTimes:
    """The model of operator times that the NPU asks for, at a precision."""
    model = npu.compute
    if model is None:
        return Roofline(npu, precision)
    if model.systolic is not None:
        return SystolicTimes(npu, model.systolic)
    assert model.table is not None
    return MeasuredTimes(Roofline(npu, precision), Table(model.table), model.beyond == "roofline")


__all__ = ["OperatorTimes", "OutsideTableError", "Roofline", "SystolicTimes", "Table", "operator_times"]
