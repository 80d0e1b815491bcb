"""What a catalogue entry is: a transformer's shape, an NPU, a price list. Frozen, validated, SI inside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, model_validator

from simcore import catalog
from simcore.design.compute import ComputeModel
from simcore.document.form import MOST
from simcore.document.problem import Refusal
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
MOST_LAYERS = 100_000
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
            raise Refusal(f"fields of {type(self).__name__}", f"'{unknown[0]}'", f"known: {known}")
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - fields.keys():  # cached properties, and what `simcore.design.once` keeps
            del copied.__dict__[name]
        return copied


class LatentAttention(Frozen):
    """Multi-head latent attention: queries, keys and values are expanded from low-rank latents.

    DeepSeek-V2 (arXiv 2405.04434), section 2.1; keys are named as in the models' published configurations.
    """

    q_lora_rank: Count | None = None
    """Width of the latent of the queries; none: they are projected from the hidden states."""
    kv_lora_rank: Count
    qk_nope_head_dim: Count
    qk_rope_head_dim: Count
    """Part of each head's query and key that carries the position; of the key, all heads share it."""
    v_head_dim: Count


class MixtureOfExperts(Frozen):
    """Feed-forward layers of which every token takes `top_k` of `experts` (Shazeer et al. 2017, arXiv 1701.06538)."""

    experts: Count
    top_k: Count
    feed_forward: Count
    """Width of one expert."""
    shared_feed_forward: Natural = 0
    """Width of the experts that every token takes, all together."""
    dense_layers: Natural = 0
    """The first layers, whose feed-forward block is dense."""
    capacity_factor: Annotated[float, Field(gt=0)] = 1.0
    """Tokens an expert takes, over its even share; what is routed to it beyond that is dropped."""


class Transformer(Frozen):
    """A decoder-only transformer by its shape."""

    name: str = ""
    hidden: Count
    layers: Annotated[Count, Field(le=MOST_LAYERS)]
    heads: Count
    vocabulary: Count
    sequence_length: Count = 2048
    """Longest sequence: the default of `workload.sequence_length`, and the size of learned positions."""
    feed_forward: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    """Width of a head, hidden / heads unless given."""
    gated: Flag = False
    bias: Flag = True
    position: Literal["learned", "rotary"] = "learned"
    latent_attention: LatentAttention | None = None
    mixture_of_experts: MixtureOfExperts | None = None
    source: str = ""

    @property
    def ffn(self) -> int:
        """Width of the feed-forward block, 4 x hidden unless given."""
        return self.feed_forward or 4 * self.hidden

    @property
    def qk_head_dim(self) -> int:
        """Width of a head's query and key."""
        latent = self.latent_attention
        return latent.qk_nope_head_dim + latent.qk_rope_head_dim if latent else self._head_dim

    @property
    def v_head_dim(self) -> int:
        """Width of a head's value and output."""
        return self.latent_attention.v_head_dim if self.latent_attention else self._head_dim

    @property
    def _head_dim(self) -> int:
        return self.head_dim or self.hidden // self.heads

    @property
    def key_heads(self) -> int:
        """Heads of keys and values."""
        return self.heads if self.latent_attention else self.kv_heads or self.heads

    @property
    def query_width(self) -> int:
        """Width of the queries over all heads."""
        return self.heads * self.qk_head_dim

    @property
    def output_width(self) -> int:
        """Width of what attention gives to its last projection, over all heads."""
        return self.heads * self.v_head_dim

    @property
    def kv_width(self) -> int:
        """Width of the keys and the values over all their heads, halved: of one of the two where they are equal."""
        return self.key_heads * (self.qk_head_dim + self.v_head_dim) // 2

    @property
    def dense_layers(self) -> int:
        """Layers, the first ones, whose feed-forward block is dense."""
        return min(self.layers, self.mixture_of_experts.dense_layers) if self.mixture_of_experts else self.layers


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
            raise Refusal(f"'usable' of at most the capacity ({self.capacity:g} B)", f"{self.usable:g} B")
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
            raise Refusal("'multiprocessors' and 'flops_per_clock' with a 'curve'", "one or none of them")
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
_SPECS: dict[str, type[Frozen]] = {"models": Transformer, "npus": Npu, "prices": PriceList, "software": Stack}


@cache
def preset(section: str, name: str) -> Any:
    """The catalogue's entry as a frozen object, the same one at every call.

    Raises `ValueError` where the catalogue has no such name.
    """
    return _SPECS[section].model_validate(catalog.entry(section, name))


def _varied(section: str, value: dict[str, Any]) -> dict[str, Any]:
    """A catalogue entry, `base`, with some of its keys changed."""
    base = value["base"]
    if not isinstance(base, str):
        raise Refusal("the name of an entry of the catalogue as 'base'", repr(base))
    own = {key: entry for key, entry in value.items() if key != "base"}
    return _merged(catalog.entry(section, base), own)


def _merged(entry: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """`entry` with the keys of `own`, mappings in mappings too."""
    both = {
        key: _merged(entry[key], value) if isinstance(value, dict) and isinstance(entry.get(key), dict) else value
        for key, value in own.items()
    }
    return {**entry, **both}


def _named(section: str) -> tuple[Any, ...]:
    def read(value: Any) -> Any:
        if isinstance(value, dict) and "base" in value:
            return _varied(section, value)
        return preset(section, value) if isinstance(value, str) else value

    def written(value: Any) -> Any:
        known = value.name in catalog.section(section) and preset(section, value.name) == value
        return value.name if known else value.model_dump(mode="json", exclude_defaults=True)

    return BeforeValidator(read), PlainSerializer(written)


NamedTransformer = Annotated[Transformer, *_named("models")]
NamedNpu = Annotated[Npu, *_named("npus")]
NamedPrices = Annotated[PriceList, *_named("prices")]
_NPU: TypeAdapter[Npu] = TypeAdapter(NamedNpu)


def npu_from(value: Any) -> Npu:
    """An NPU by its name in the catalogue, as a variation of an entry (`base`), or spelled out.

    Raises pydantic's `ValidationError`.
    """
    return _NPU.validate_python(value)
