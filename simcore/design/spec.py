"""What a catalogue entry is: an NPU, a price list, a software stack. Frozen, validated, SI inside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, model_validator

from simcore import catalog
from simcore.design.compute import ComputeModel
from simcore.document.form import MOST
from simcore.document.quantity import (
    Bandwidth,
    BandwidthPrice,
    CapacityPrice,
    ComputeRate,
    Duration,
    EnergyPrice,
    Money,
    Power,
    Size,
    Time,
    Work,
)

Precision = Literal["fp32", "fp16", "bf16", "fp8"]
Tier = Literal["chiplet", "package", "node", "pod"]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
Factor = Annotated[float, Field(strict=True, ge=1)]
MOST_NPUS = 10**9
"""Largest number of NPUs of a cluster, and largest product of degrees."""
Count = Annotated[int, Field(strict=True, gt=0, le=MOST)]
Natural = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Flag = Annotated[bool, Field(strict=True)]

BYTES: dict[str, int] = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
"""Bytes of one number, by precision."""


class Frozen(BaseModel):
    """Base of every part of a document: immutable, no unknown keys, no silent conversion of strings."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values, which are not validated, and nothing of what followed from the old ones.

        Raises `ValueError` for names that are no fields.
        """
        fields = self.__pydantic_fields__
        unknown = [name for name in update or () if name not in fields]
        if unknown:
            known = ", ".join(fields)
            raise ValueError(f"expected fields of {type(self).__name__}, got '{unknown[0]}'; known: {known}")
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - fields.keys():  # cached properties, and what `simcore.design.once` keeps
            del copied.__dict__[name]
        return copied


class NpuMemory(Frozen):
    """Memory on the package: capacity [B], bandwidth [B/s], the share of it that operators reach."""

    capacity: Annotated[Size, Field(gt=0)]
    bandwidth: Annotated[Bandwidth, Field(gt=0)]
    efficiency: Share = 0.8
    usable: Annotated[Size, Field(gt=0)] | None = None
    """What programs can allocate of the capacity [B]; all of it unless given."""

    @property
    def usable_share(self) -> float:
        """Share of the capacity that programs can allocate."""
        return 1.0 if self.usable is None else self.usable / self.capacity

    @model_validator(mode="after")
    def _usable_is_part_of_it(self) -> NpuMemory:
        if self.usable is not None and self.usable > self.capacity:
            raise ValueError(f"expected 'usable' of at most the capacity ({self.capacity:g} B), got {self.usable:g} B")
        return self


class GemmEfficiency(Frozen):
    """A matrix product of F FLOPs reaches `limit` x F / (F + `half`) of the peak."""

    limit: Share = 0.75
    half: Annotated[Work, Field(ge=0)] = 8e9


class MatmulCurve(Frozen):
    """How near tensor cores come to their peak in a matrix product; see `simcore.compute.matmul`."""

    limit: Share
    """Share of the peak that an endless product reaches."""
    depth: Annotated[float, Field(ge=0)]
    """Steps along k that filling and draining the pipeline of a tile costs."""
    load: Annotated[float, Field(ge=0)]
    """Share of the time to load a tile's operands from shared memory that its arithmetic does not hide."""
    wave: Annotated[float, Field(ge=0, le=1)]
    """How much of a last, partly filled wave of tiles costs as if it were full."""


class Curve(Frozen):
    """How a family of accelerators comes near its data sheet, as shares of it: one curve for all of them."""

    name: str = ""
    matmul: MatmulCurve
    flash: Share
    """Share of the peak that fused attention reaches."""
    memory: Share
    """Share of the memory bandwidth that streaming operators reach."""
    kernel: Annotated[Time, Field(ge=0)]
    """Time a kernel takes on the device beyond its roofline [s]."""
    launch: Annotated[Time, Field(ge=0)]
    """Least time from one operator to the next: what the host's software takes to launch it [s]."""
    interval: dict[Literal["node", "nodes"], tuple[float, float]] | None = None
    """Measured over predicted iteration time, within one node and over several: between these two in nine of ten rows
    that the fit had not seen."""
    calibrated_on: str = ""
    """Name of the NPU whose rows the curve was fitted to; the interval is of that one alone
    (`simcore.prediction_interval`)."""
    sources: dict[str, str] = {}


class StackMemory(Frozen):
    """What a software stack takes of an NPU's memory beside the tensors of a design."""

    slack: Factor
    """Reserved over allocated memory, of activations and transients."""
    context: Annotated[Size, Field(ge=0)]
    """Of the process, its kernels and libraries [B]."""
    communicator: Annotated[Size, Field(ge=0)]
    """Buffers of each parallel group of more than one NPU [B]."""


class Stack(Frozen):
    """A software stack that trains."""

    name: str = ""
    memory: StackMemory
    sources: dict[str, str] = {}


class NpuPower(Frozen):
    """Power of one NPU at full use and idle [W]."""

    max: Annotated[Power, Field(gt=0)]
    idle: Annotated[Power, Field(ge=0)]


def _entry_of(section: str) -> BeforeValidator:
    """Reads the name of an entry of the catalogue as that entry."""
    return BeforeValidator(lambda value: catalog.entry(section, value) if isinstance(value, str) else value)


def _default_stack() -> Stack:
    stack: Stack = preset("software", "megatron-core")
    return stack


class Npu(Frozen):
    """An accelerator."""

    name: str = ""
    peak: dict[Precision, Annotated[ComputeRate, Field(gt=0)]]
    memory: NpuMemory
    gemm: GemmEfficiency = GemmEfficiency()
    overhead: Annotated[Time, Field(ge=0)] = 4e-6
    """Time a kernel takes beyond its roofline [s]."""
    multiprocessors: Count | None = None
    """Streaming multiprocessors."""
    flops_per_clock: Count | None = None
    """Dense 16-bit FLOPs of one multiprocessor in one clock."""
    curve: Annotated[Curve | None, _entry_of("curves")] = None
    """A calibrated curve (or its name in the catalogue), in place of `gemm`, `memory.efficiency` and `overhead`."""
    software: Annotated[Stack, _entry_of("software")] = Field(default_factory=_default_stack)
    """The software that its jobs are assumed to run (or its name in the catalogue)."""
    power: NpuPower
    introduced: Annotated[int, Field(strict=True, ge=1990, lt=2100)] | None = None
    """Year of its introduction."""
    price: Annotated[Money, Field(ge=0)] | None = None
    """Price of one NPU [$], where the price list has none."""
    compute: ComputeModel | None = None
    """How long its matrix products take, where that is not the roofline."""
    sources: dict[str, str] = {}

    @model_validator(mode="after")
    def _curve_needs_multiprocessors(self) -> Npu:
        if self.curve is not None and (self.multiprocessors is None or self.flops_per_clock is None):
            raise ValueError("expected 'multiprocessors' and 'flops_per_clock' with a 'curve', got one or none of them")
        return self


class TierPrices(Frozen):
    """Prices of the network elements of one tier [$ per B/s]; None where the tier has no such element."""

    link: Annotated[BandwidthPrice, Field(ge=0)] | None = None
    switch: Annotated[BandwidthPrice, Field(ge=0)] | None = None
    nic: Annotated[BandwidthPrice, Field(ge=0)] | None = None


class PriceList(Frozen):
    """What things cost."""

    name: str = ""
    network: dict[Tier, TierPrices]
    npu: dict[str, Annotated[Money, Field(ge=0)]] = {}
    free_npus: Flag = False
    """NPUs are not counted (the network alone)."""
    memory: Annotated[CapacityPrice, Field(ge=0)] = 8e-9
    electricity: Annotated[EnergyPrice, Field(ge=0)] = 0.1 / 3.6e6
    electricity_in_total: Flag = False
    """Whether `cost.total` counts the electricity of the whole lifetime, at the power of this design."""
    npus_per_rack: Count = 32
    pue: Factor = 1.2
    lifetime: Annotated[Duration, Field(gt=0)] = 4 * 365 * 86400.0
    sources: dict[str, str] = {}


Spec = TypeVar("Spec", bound=Frozen)
_SPECS: dict[str, type[Frozen]] = {"npus": Npu, "prices": PriceList, "software": Stack}


def preset(section: str, name: str) -> Any:
    """The entry of an NPU, a price list or a software stack; see `entry_of`."""
    return entry_of(_SPECS[section], section, name)


@cache
def entry_of(spec: type[Frozen], section: str, name: str) -> Any:
    """The catalogue's entry as a frozen object, the same one at every call.

    Raises `ValueError` where the catalogue has no such name.
    """
    return spec.model_validate(catalog.entry(section, name))


def name_of(value: Any, section: str) -> str | None:
    """The name of a value that the catalogue has, or None."""
    spec: type[Frozen] = type(value)
    known = value.name in catalog.section(section) and entry_of(spec, section, value.name) == value
    return str(value.name) if known else None


def _varied(section: str, value: dict[str, Any]) -> dict[str, Any]:
    """A catalogue entry, `base`, with some of its keys changed."""
    base = value["base"]
    if not isinstance(base, str):
        raise ValueError(f"expected the name of an entry of the catalogue as 'base', got {base!r}")
    own = {key: entry for key, entry in value.items() if key != "base"}
    return _merged(catalog.entry(section, base), own)


def _merged(entry: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """`entry` with the keys of `own`, mappings in mappings too."""
    both = {
        key: _merged(entry[key], value) if isinstance(value, dict) and isinstance(entry.get(key), dict) else value
        for key, value in own.items()
    }
    return {**entry, **both}


def named(spec: type[Frozen], section: str) -> tuple[Any, ...]:
    """What makes a field of `spec` take the name of an entry of a section, or a variation of one, in its place."""

    def read(value: Any) -> Any:
        if isinstance(value, dict) and "base" in value:
            return _varied(section, value)
        return entry_of(spec, section, value) if isinstance(value, str) else value

    def written(value: Any) -> Any:
        return name_of(value, section) or value.model_dump(mode="json", exclude_defaults=True)

    return BeforeValidator(read), PlainSerializer(written)


NamedNpu = Annotated[Npu, *named(Npu, "npus")]
NamedPrices = Annotated[PriceList, *named(PriceList, "prices")]
_NPU: TypeAdapter[Npu] = TypeAdapter(NamedNpu)


def npu_from(value: Any) -> Npu:
    """An NPU by its name in the catalogue, as a variation of an entry (`base`), or spelled out.

    Raises pydantic's `ValidationError`.
    """
    return _NPU.validate_python(value)
