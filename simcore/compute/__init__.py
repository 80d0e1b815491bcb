"""How long an operator takes: one file per model of an NPU."""

from functools import lru_cache

from simcore.compute.base import OperatorTimes
from simcore.compute.measured import MeasuredTimes, OutsideTableError, ProductTable
from simcore.compute.remembered import RememberedTimes
from simcore.compute.roofline import Roofline, is_bound_by_arithmetic
from simcore.compute.systolic import SystolicTimes
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.same import Same
from simcore.design.software import AS_DESCRIBED, Rates


def times_of(design: Design) -> OperatorTimes:
    """The model of operator times of a design: of its NPU, at its precision, launched by its software."""
    software = design.running_software
    launches = software.launch_seconds, software.routed_launch_seconds
    npu, precision = design.cluster.running_npu, design.workload.precision
    return operator_times(npu, precision, launches, software.rates_on(npu))


def operator_times(
    npu: Npu, precision: str, launches: tuple[float, float], rates: Rates = AS_DESCRIBED
) -> OperatorTimes:
    """The model of operator times that the NPU asks for, at a precision; the same one while the NPU is in use.

    `launches` are the least time from one operator to the next, which the software takes to launch it, and that where
    only routing tells how much there is to do [s]; `rates` are those of its kernels.
    """
    return _times(Same(npu), precision, launches, rates)


@lru_cache(maxsize=32)
def _times(same: Same[Npu], precision: str, launches: tuple[float, float], rates: Rates) -> OperatorTimes:
    npu = same.value
    model, roofline = npu.compute, Roofline(npu, precision, *launches, *rates, settled=True)
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
    "is_bound_by_arithmetic",
    "operator_times",
    "times_of",
]
