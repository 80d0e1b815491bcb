"""The roofline with an efficiency curve: how long an operator takes on an NPU (Williams et al. 2009).

A matrix product of F FLOPs and Q bytes takes max(F / (e(F) x peak), Q / (r x bandwidth)) + overhead, with
e(F) = limit x F / (F + half): small products do not fill the machine. An operator of kind `memory` only moves its
bytes. Both terms fall with the peak and with the bandwidth, so a faster NPU is never slower.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.compute.base import OperatorTimes
from simcore.program import Compute
from simcore.spec import Npu


@dataclass(frozen=True, slots=True)
class Roofline(OperatorTimes):
    """Operator times on one NPU at one precision."""

    npu: Npu
    precision: str

    def seconds(self, operator: Compute) -> float:
        """Duration of an operator [s]."""
        npu = self.npu
        moving = operator.bytes / (npu.memory.bandwidth * npu.memory.efficiency)
        if operator.kind == "memory" or operator.flops == 0:
            return moving + npu.overhead
        peak = self._peak(operator.kind)
        computing = (operator.flops + npu.gemm.half) / (npu.gemm.limit * peak)
        return max(computing, moving) + npu.overhead

    def _peak(self, kind: str) -> float:
        """Attention stays in bf16 where linear layers compute in 8 bits."""
        precision = "bf16" if self.precision == "fp8" and kind in ("flash", "core") else self.precision
        peak: float = self.npu.peak[precision]  # type: ignore[index]  # checked at the door
        return peak

    def least(self, flops: float) -> float:
        """Proven lower bound: the time of `flops` at the peak [s]."""
        peak: float = self.npu.peak[self.precision]  # type: ignore[index]  # checked at the door
        return flops / peak
