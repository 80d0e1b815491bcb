"""What an accelerator is: its peak, memory, power, and how near programs come to its data sheet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter, model_validator

from simcore.catalog.preset import named, part_named
from simcore.design.compute import ComputeModel
from simcore.design.curve import Curve
from simcore.document.field import Count, Factor, Flag, Frozen, Name, Precision, Share
from simcore.document.problem import Refusal
from simcore.document.quantity import Bandwidth, ComputeRate, Money, Power, Size, Time, Work

Platform = Literal["cuda", "rocm", "xla", "synapse"]
"""What programs an NPU: NVIDIA's CUDA, AMD's ROCm, the XLA compiler of TPUs, Intel's Synapse of Gaudis."""


class Programmed(NamedTuple):
    """What of an NPU says which software is made for it."""

    name: str
    """In the catalogue; empty where it is spelled out."""
    platform: Platform = "cuda"


UNNAMED = Programmed("")
"""An NPU of which nothing is said."""


class NpuMemory(Frozen):
    """Memory on the package: capacity [B], bandwidth [B/s], the share of it that operators reach."""

    capacity: Annotated[Size, Field(gt=0)]
    """Memory of one NPU [B]."""
    bandwidth: Annotated[Bandwidth, Field(gt=0)]
    """Bandwidth of one NPU's memory [B/s]."""
    efficiency: Share = 0.8
    """Share of the bandwidth that operators reach, where there is no `curve`."""
    usable: Annotated[Size, Field(gt=0)] | None = None
    """What programs can allocate of the capacity [B]; all of it unless given."""

    @property
    def usable_share(self) -> float:
        """Share of the capacity that programs can allocate."""
        return 1.0 if self.usable is None else self.usable / self.capacity

    @model_validator(mode="after")
    def _check_usable(self) -> NpuMemory:
        if self.usable is not None and self.usable > self.capacity:
            raise Refusal(f"'usable' of at most the capacity ({self.capacity:g} B)", f"{self.usable:g} B")
        return self


def _named_among(precision: str, given: Mapping[Any, float]) -> Any:
    """The name by which a precision is `given`: blocks of 8 bits have what other 8 bits have, unless they are, too."""
    return "fp8" if precision == "fp8_block" and precision not in given else precision


class GemmEfficiency(Frozen):
    """A matrix product of F FLOPs reaches `limit` x F / (F + `half`) of the peak."""

    limit: Share = 0.64
    """Share of the peak that an endless product reaches. Unless given the geometric mean of what was measured in 16
    bits, and lasts: A100 0.83, H100 0.77, B200 0.66, MI300X 0.51, MI325X 0.60, MI355X 0.62, Gaudi 3 0.52."""
    narrow: dict[Precision, Share] = {}
    """Share by precision where it is another; blocks of 8 bits have that of other 8 bits unless given."""
    half: Annotated[Work, Field(ge=0)] = 8e9
    """FLOPs of a product that reaches half of the limit [FLOP]."""

    def limit_in(self, precision: str) -> float:
        """Share of a precision's peak that an endless product reaches."""
        return self.narrow.get(_named_among(precision, self.narrow), self.limit)


class Draws(NamedTuple):
    """What one NPU draws by what it does [W]."""

    tensor: float
    """In operators that arithmetic bounds: matrix products, fused attention."""
    memory: float
    """In operators that the memory's bandwidth bounds."""
    wait: float
    """While it waits for a collective that nothing hides."""
    idle: float
    """With nothing to do: in the bubble of a pipeline."""


class NpuPower(Frozen):
    """Power of one NPU while a job runs, by what it does [W]; see `docs/power.md`."""

    max: Annotated[Power, Field(gt=0)]
    """The most that it may draw: its power limit [W]."""
    idle: Annotated[Power, Field(ge=0)]
    """With a job's program loaded and nothing to do [W]."""
    tensor: Annotated[Power, Field(gt=0)] | None = None
    """In operators that arithmetic bounds [W]; the maximum unless given."""
    memory: Annotated[Power, Field(gt=0)] | None = None
    """In operators that the memory's bandwidth bounds [W]; idle and 0.55 of the rest unless given."""
    wait: Annotated[Power, Field(gt=0)] | None = None
    """While it waits for a collective that nothing hides [W]; idle and 0.15 of the rest unless given."""

    @property
    def draws(self) -> Draws:
        """What it draws by what it does [W]."""
        return Draws(
            self.max if self.tensor is None else self.tensor,
            self._between(_MEMORY) if self.memory is None else self.memory,
            self._between(_WAIT) if self.wait is None else self.wait,
            self.idle,
        )

    def _between(self, share: float) -> float:
        return self.idle + share * (self.max - self.idle)

    @model_validator(mode="after")
    def _check_order(self) -> NpuPower:
        for name, watts in self.draws._asdict().items():
            if not self.idle <= watts <= self.max:
                expected = f"'{name}' of idle to the maximum ({self.idle:g} to {self.max:g} W)"
                raise Refusal(expected, f"{watts:g} W")
        return self


_MEMORY = 0.55
"""Share above idle: assumed, as H100s and H200s draw about 0.4 to 0.7 of their limits in memory-bound kernels."""
_WAIT = 0.15
"""Likewise: assumed, between an H100 that spins in a collective (0.05) and one whose collective moves data (0.3)."""


class Npu(Frozen):
    """An accelerator."""

    name: Name = ""
    platform: Platform = "cuda"
    """What programs it, which says the software that is made for it."""
    peak: dict[Precision, Annotated[ComputeRate, Field(gt=0)]]
    """Dense peak by precision [FLOP/s]."""
    memory: NpuMemory
    """Memory on the package."""
    gemm: GemmEfficiency = GemmEfficiency()
    """How near matrix products come to the peak, where there is no `curve`."""
    overhead: Annotated[Time, Field(ge=0)] = 4e-6
    """Time a kernel takes beyond its roofline [s]; 0 without a `curve`: an ideal NPU, which software does not slow."""
    fuses: Flag = False
    """Whether a compiler of its own fuses norms, activations and residuals, as those of TPUs and Gaudis do; else they
    are the kernels of the software that runs on it, and collectives pass through its memory as NCCL's do."""
    multiprocessors: Count | None = None
    """Streaming multiprocessors."""
    flops_per_clock: Count | None = None
    """Dense 16-bit FLOPs of one multiprocessor in one clock."""
    curve: Annotated[Curve | None, part_named("curves")] = None
    """A calibrated curve (or its name in the catalogue), in place of `gemm`, `memory.efficiency` and `overhead`."""
    exponentials: Factor = 1.0
    """How many times as many exponentials in a clock as the devices of its `curve` have, for softmax."""
    sustained: Share = 1.0
    """Share of the speed of products measured in milliseconds that power limits let runs of minutes sustain."""
    power: NpuPower
    """Power of one NPU."""
    introduced: Annotated[int, Field(strict=True, ge=1990, lt=2100)] | None = None
    """Year of its introduction."""
    price: Annotated[Money, Field(ge=0)] | None = None
    """Price of one NPU [$], in place of that of a price list of NPUs."""
    unsold: str | None = None
    """Why no node of the catalogue is sold with it, where none is."""
    offered: str | None = None
    """Where alone it can be had, in words."""
    compute: ComputeModel | None = None
    """How long its matrix products take, where that is not the roofline."""
    sources: dict[str, str] = {}

    @property
    def programmed(self) -> Programmed:
        """What of it says which software is made for it."""
        return Programmed(self.name, self.platform)

    @property
    def streaming_rate(self) -> float:
        """Bytes that operators move in a second which only move bytes, however long the kernel is [B/s]."""
        systolic = self.compute is not None and self.compute.systolic is not None
        return self.memory.bandwidth * (self.memory.efficiency if self.curve is None or systolic else self.curve.memory)

    @property
    def is_ideal(self) -> bool:
        """Whether kernels take their roofline and no more: the NPU of many papers, which no software slows."""
        return self.curve is None and not self.overhead

    def rate(self, precision: str) -> float:
        """Peak at a precision [FLOP/s]; block-scaled 8 bits have that of other 8 bits unless given."""
        return self.peak[self._peak_named(precision)]

    def computes(self, precision: str) -> bool:
        """Whether it has a peak at a precision."""
        return self._peak_named(precision) in self.peak

    def _peak_named(self, precision: str) -> Any:
        return _named_among(precision, self.peak)

    @model_validator(mode="after")
    def _check_curve(self) -> Npu:
        if self.curve is not None and (self.multiprocessors is None or self.flops_per_clock is None):
            raise Refusal("'multiprocessors' and 'flops_per_clock' with a 'curve'", "one or none of them")
        return self


NamedNpu = Annotated[Npu, *named(Npu, "npus")]
_NPU: TypeAdapter[Npu] = TypeAdapter(NamedNpu)


def parse_npu(value: Any) -> Npu:
    """An NPU by its name in the catalogue, as a variation of an entry (`base`), or spelled out.

    Raises pydantic's `ValidationError`.
    """
    return _NPU.validate_python(value)
