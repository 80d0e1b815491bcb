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
    """The model of operator times of a design: of its NPU, at its precision."""
    return operator_times(design.cluster.npu, design.workload.precision)


def operator_times(npu: Npu, precision: str) -> OperatorTimes:
    """The model of operator times that the NPU asks for, at a precision; the same one while the NPU is in use."""
    return _times(_This(npu), precision)


@lru_cache(maxsize=16)
def _times(this: _This, precision: str) -> OperatorTimes:
    npu = this.npu
    model = npu.compute
    if model is None:
        return RememberedTimes(Roofline(npu, precision))
    if model.systolic is not None:
        return RememberedTimes(SystolicTimes(npu, model.systolic))
    assert model.table is not None
    return RememberedTimes(
        MeasuredTimes(Roofline(npu, precision), ProductTable(model.table), model.beyond == "roofline")
    )


__all__ = [
    "OperatorTimes",
    "OutsideTableError",
    "ProductTable",
    "Roofline",
    "SystolicTimes",
    "operator_times",
    "times_of",
]
