"""How long an operator takes: one file per model of an NPU."""

from functools import lru_cache

from simcore.compute.base import OperatorTimes
from simcore.compute.measured import MeasuredTimes, OutsideTableError, ProductTable
from simcore.compute.remembered import RememberedTimes
from simcore.compute.roofline import Roofline
from simcore.compute.systolic import SystolicTimes
from simcore.design.design import Design
from simcore.design.npu import Npu


class _This:
    """An NPU as a key: that very object, as what it holds has no hash."""

    def __init__(self, npu: Npu) -> None:
        self.npu = npu

    def __hash__(self) -> int:
        return id(self.npu)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and self.npu is other.npu


def times_of(design: Design) -> OperatorTimes:
    """The model of operator times of a design: of its NPU, at its precision, launched by its software."""
    software = design.software
    return operator_times(design.cluster.npu, design.workload.precision, software.launch_seconds, software.attention)


def operator_times(npu: Npu, precision: str, launch: float, attention: float = 1.0) -> OperatorTimes:
    """The model of operator times that the NPU asks for, at a precision; the same one while the NPU is in use.

    `launch` is the least time from one operator to the next, which the software takes to launch it [s]; `attention` the
    rate of its fused attention over that of the curve.
    """
    return _times(_This(npu), precision, launch, attention)


@lru_cache(maxsize=16)
def _times(this: _This, precision: str, launch: float, attention: float) -> OperatorTimes:
    npu = this.npu
    model, roofline = npu.compute, Roofline(npu, precision, launch, attention, settled=True)
    if model is None:
        return RememberedTimes(roofline)
    if model.systolic is not None:
        return RememberedTimes(SystolicTimes(npu, model.systolic))
    assert model.table is not None
    return RememberedTimes(MeasuredTimes(roofline, ProductTable(model.table), model.beyond == "roofline"))


__all__ = [
    "OperatorTimes",
    "OutsideTableError",
    "ProductTable",
    "Roofline",
    "SystolicTimes",
    "operator_times",
    "times_of",
]
