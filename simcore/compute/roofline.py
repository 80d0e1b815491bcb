"""The roofline: how long an operator takes on an NPU (Williams et al. 2009), by one of two descriptions of the NPU.

With a calibrated curve an operator takes the longest of its arithmetic (`simcore.compute.matmul`), of its bytes
at the share of the memory bandwidth that operators reach, both with the device's own time for a kernel, and of what
the host takes to launch it (of which the pieces of a product share one). Without one, a product of F FLOPs and Q bytes
takes
max(F / (e(F) x peak), Q / (r x bandwidth)) + overhead, with e(F) = limit x F / (F + half): small products do not fill
the machine. An operator of kind `memory` only moves its bytes. All terms fall with the peak and with the bandwidth, so
a faster NPU is never slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simcore.compute.base import OperatorTimes
from simcore.compute.matmul import MatmulMachine, machine_of, product_seconds
from simcore.design.curve import Curve
from simcore.design.npu import Npu
from simcore.program import Compute


@dataclass(frozen=True)
class Roofline(OperatorTimes):
    """Operator times on one NPU at one precision."""

    npu: Npu
    precision: str

    def seconds(self, operator: Compute) -> float:
        """Duration of an operator [s]."""
        npu = self.npu
        if npu.curve is not None:
            return self._curve_seconds(operator, npu.curve)
        moving = operator.bytes / self._memory_rate
        if operator.kind == "memory" or operator.flops == 0:
            return moving + npu.overhead
        computing = (operator.flops + npu.gemm.half) / (npu.gemm.limit * self._peak(operator.kind))
        return max(computing, moving) + npu.overhead

    @cached_property
    def _machines(self) -> dict[float, MatmulMachine]:
        """The machine at each peak of the NPU."""
        return {peak: machine_of(self.npu, peak) for peak in self.npu.peak.values()}

    @cached_property
    def _memory_rate(self) -> float:
        """Memory bandwidth that operators reach [B/s]."""
        npu = self.npu
        return npu.memory.bandwidth * (npu.memory.efficiency if npu.curve is None else npu.curve.memory)

    def _peak(self, kind: str) -> float:
        """Attention stays in bf16 where linear layers compute in 8 bits."""
        precision = "bf16" if self.precision == "fp8" and kind in ("flash", "core") else self.precision
        peak: float = self.npu.peak[precision]  # type: ignore[index]  # checked at the door
        return peak

    def _curve_seconds(self, operator: Compute, curve: Curve) -> float:
        if operator.flops and operator.shape is not None:
            longest = product_seconds(self._machines[self._peak(operator.kind)], operator.shape, operator.bytes)
        else:
            longest = operator.bytes / self._memory_rate
            if operator.flops:
                limit = curve.flash if operator.kind == "flash" else curve.matmul.limit
                longest = max(longest, operator.flops / (limit * self._peak(operator.kind)))
        return max(longest + curve.kernel, curve.launch / operator.pieces)

    def least(self, flops: float) -> float:
        """See `OperatorTimes.least`."""
        npu = self.npu
        limit = npu.gemm.limit if npu.curve is None else max(npu.curve.matmul.limit, npu.curve.flash)
        return flops / (limit * self._peak("gemm"))
