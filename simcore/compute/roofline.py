"""The roofline: how long an operator takes on an NPU (Williams et al. 2009), by one of two descriptions of the NPU.

With the curve of its generation a matrix product takes what `simcore.compute.matmul` says, fused attention what
`simcore.compute.attention` says, and any other operator its bytes at the share of the memory bandwidth that streaming
kernels reach and the device's own time for a kernel. Without a curve, a product of F FLOPs and Q bytes takes
max(F / (e(F) x peak), Q / (r x bandwidth)) + overhead, with e(F) = limit x F / (F + half): small products do not fill
the machine; fused attention has `ATTENTION` of that limit. Where few queries attend to a cache, its keys are spread
over the machine, and it takes its kernels (`DECODE_KERNELS`) in place of what small products miss. An operator of kind
`memory` only moves its bytes. Either way none takes less than the software needs from one launch to the next (the
pieces of a product share one): the host launches whatever the device is. An ideal NPU, without a curve and without
overhead, has neither launches nor a slower attention. All terms fall with the peak and with the bandwidth, so a faster
NPU is never slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simcore.compute.attention import AttentionMachine, attention_machine, attention_seconds, decodes_keys
from simcore.compute.base import OperatorTimes
from simcore.compute.matmul import MatmulMachine, apart_seconds, machine_of, product_seconds
from simcore.design.curve import Curve
from simcore.design.npu import Npu
from simcore.document.field import BYTES, NARROW
from simcore.program import Compute

ATTENTION = 0.55
"""Rate of fused attention over that of products, where no kernel of a device was measured. On A100, H100 and B200 both
passes come to 0.51 to 0.63 of a product of 8,192 in each of its dimensions, with heads of 128 and sequences of 4,096 to
8,192; to 0.38 to 0.71 with heads of 64 and 128 and 2,048 to 32,768 (`curves.yaml`)."""
DECODE_KERNELS = 22e-6
"""What attention of few queries takes at the least [s]: its keys are cut into parts, which a second kernel joins; one
kernel takes 9.6, 13 and 10.8 us on A100, H100 and B200 (likewise, twice their geometric mean)."""


def precision_of(kind: str, precision: str) -> str:
    """The precision of a kind of operator: attention stays in bf16 where linear layers compute in fewer bits."""
    return "bf16" if precision in NARROW and kind in ("flash", "core") else precision


def is_bound_by_arithmetic(npu: Npu, precision: str, operator: Compute) -> bool:
    """Whether an operator's FLOPs at the sustained peak take longer than its bytes at the memory's bandwidth."""
    if operator.kind == "memory" or not operator.flops:
        return False
    peak = npu.sustained * npu.rate(precision_of(operator.kind, precision))
    return operator.flops * npu.memory.bandwidth >= operator.bytes * peak


def _apart(operator: Compute) -> float:
    """Time in which the host launches the kernels of a batch of products, one for each [s]; else 0."""
    return operator.apart * operator.shape[0] if operator.apart and operator.shape else 0.0


@dataclass(frozen=True)
class Roofline(OperatorTimes):
    """Operator times on one NPU at one precision."""

    npu: Npu
    precision: str
    launch: float = 0.0
    """Least time from one operator to the next, which the software takes to launch it [s]."""
    routed_launch: float = 0.0
    """The same where only routing tells how much there is to do."""
    attention: float = 1.0
    """Rate of the software's fused attention over that of the curve."""
    products: float = 1.0
    """Rate of the software's products and attention over what the data sheet says, where there is no curve."""
    settled: bool = False
    """Whether clocks have settled, as in runs of minutes: then `Npu.sustained` says how far they fell, for short
    products and long ones alike, and not a product's own length, as in benchmarks of milliseconds."""

    def seconds(self, operator: Compute) -> float:
        """Duration of an operator [s]."""
        curve = self.npu.curve
        own = self._data_sheet_seconds(operator) if curve is None else self._curve_seconds(operator, curve)
        launch = self.routed_launch if operator.routed else self.launch
        return own if self.npu.is_ideal else max(own, launch / operator.pieces, _apart(operator))

    def _data_sheet_seconds(self, operator: Compute) -> float:
        npu = self.npu
        moving = operator.bytes / npu.streaming_rate
        if operator.kind == "memory" or operator.flops == 0:
            return moving + npu.overhead
        fused = operator.kind == "flash" and not npu.is_ideal
        decodes = fused and bool(operator.fused) and decodes_keys(*operator.fused[0][1:3])
        missed = 0.0 if decodes else npu.gemm.half
        limit = npu.gemm.limit_in(self._precision(operator.kind))
        computing = (operator.padding * operator.flops + missed) / (
            limit * self._sustained(operator.kind) * self.products
        )
        if fused:
            computing /= ATTENTION * self.attention
        return max(computing, operator.padding * moving) + max(npu.overhead, DECODE_KERNELS if decodes else 0.0)

    def cast_seconds(self, numbers: float, precision: str) -> float:
        """Time of the kernel that casts so many 16-bit numbers to a precision of an NPU with a curve [s]."""
        assert self.npu.curve is not None
        curve = self.npu.curve.cast(precision)
        moved = numbers * (BYTES["bf16"] + BYTES[precision])
        return max(moved / (self.npu.memory.bandwidth * curve.memory) + curve.kernel, self.launch)

    def _precision(self, kind: str) -> str:
        return precision_of(kind, self.precision)

    @cached_property
    def _narrow(self) -> MatmulMachine:
        """The machine of products."""
        return self._matmul(self.precision)

    @cached_property
    def _wide(self) -> MatmulMachine:
        """The machine of products that stay in 16 bits."""
        return self._matmul(self._precision("core"))

    def _matmul(self, precision: str) -> MatmulMachine:
        assert self.npu.curve is not None
        machine = machine_of(self.npu, self.npu.curve.product(precision), self.npu.rate(precision))
        return machine._replace(most=0.0) if self.settled else machine

    @cached_property
    def _attention(self) -> AttentionMachine:
        """The machine of fused attention."""
        assert self.npu.curve is not None
        curve = self.npu.curve
        return attention_machine(self.npu, curve.attention, curve.memory, self.npu.rate(self._precision("flash")))

    def _curve_seconds(self, operator: Compute, curve: Curve) -> float:
        if operator.fused:
            return attention_seconds(self._attention, operator.fused, operator.bytes) / self.attention
        if operator.flops and operator.shape is not None:
            machine = self._wide if operator.kind == "core" else self._narrow
            time_products = apart_seconds if operator.apart else product_seconds
            return operator.padding * time_products(machine, operator.shape, operator.bytes)
        longest = operator.bytes / (self.npu.memory.bandwidth * curve.memory)
        if operator.flops:
            limit = curve.product(self._precision(operator.kind)).limit
            longest = max(longest, operator.flops / (limit * self._sustained(operator.kind)))
        return longest + curve.kernel

    def _sustained(self, kind: str) -> float:
        """Peak that runs sustain [FLOP/s]."""
        return self.npu.sustained * self.npu.rate(self._precision(kind))

    def least(self, flops: float) -> float:
        """See `OperatorTimes.least`."""
        npu = self.npu
        if npu.curve is None:
            most = max(npu.gemm.limit_in(self._precision(kind)) * self._sustained(kind) for kind in ("gemm", "flash"))
            return flops / (most * self.products)
        narrow, wide = npu.curve.product(self.precision).limit, npu.curve.product(self._precision("core")).limit
        attention = max(npu.curve.attention.limit, wide)
        return flops / max(narrow * self._sustained("gemm"), attention * self._sustained("flash"))
