"""The software that trains or serves: what a stack does with every design, apart from what a design's own keys say.

A stack decides which kernels are fused, what a launch costs, when gradients are reduced and in which precision, how
tokens reach experts, what 8-bit products cast, what a collective beside computation costs it, and which memory it takes
beside the tensors. Keys of `parallelism` and of `workload` that say the same (`flash_attention`, `gradient_precision`)
override it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field

from simcore.catalog.preset import named, preset
from simcore.collective.routed import Library
from simcore.design.npu import UNNAMED, Npu, Platform, Programmed
from simcore.document.field import Count, Factor, Flag, Frozen, Name, Precision, Share
from simcore.document.member import MemberOf
from simcore.document.quantity import Size, Time
from simcore.schedule import SCHEDULES

Execution = Literal["eager", "compiled", "graph"]
ZeroStage = Annotated[int, Field(ge=0, le=3)]
Dispatch = Literal["node", "rank"]


class Launch(Frozen):
    """Least time from one kernel to the next [s], by how kernels are launched."""

    eager: Annotated[Time, Field(ge=0)]
    """Each by the host, one after the other, as the framework's interpreter comes to it."""
    compiled: Annotated[Time, Field(ge=0)]
    """Each by the host, from compiled code."""
    graph: Annotated[Time, Field(ge=0)]
    """All in one: a recorded graph is replayed. The routed experts of a training are launched by the host even so: how
    many tokens each has only routing tells, and a graph repeats the sizes that it was recorded with."""


class Overlap(Frozen):
    """Extra time of computation while a collective beside it is served, as a share of the time without one."""

    node: Annotated[float, Field(strict=True, ge=0, le=10)] = 0.0
    """Over links inside a node."""
    nodes: Annotated[float, Field(strict=True, ge=0, le=10)] = 0.0
    """Over NICs, between nodes."""


class EightBit(Frozen):
    """How products in 8 bits come by their operands."""

    recipe: Literal["delayed", "current", "block"] = "delayed"
    """Scales are those of earlier iterations; of the tensor itself, which is read once more; or of blocks of it."""
    gather: Flag = True
    """Sharded parameters are in 8 bits where products are; else in 16, beside their 8-bit copies."""


class StackMemory(Frozen):
    """What a software stack takes of an NPU's memory beside the tensors of a design."""

    slack: Factor
    """Reserved over allocated memory, of activations and transients."""
    context: Annotated[Size, Field(ge=0)]
    """Memory of the process, its kernels and libraries [B]."""
    communicator: Annotated[Size, Field(ge=0)]
    """Buffers of each parallel group of more than one NPU [B]."""
    left_out_on: tuple[Platform, ...] = ()
    """Platforms of NPUs whose usable memory leaves both out already."""

    def beside_tensors(self, platform: Platform, groups: int) -> float:
        """What a process with so many parallel groups takes of an NPU of such a platform beside its tensors [B]."""
        return 0.0 if platform in self.left_out_on else self.context + self.communicator * groups


Key = Literal[
    "tensor",
    "pipeline",
    "context",
    "expert",
    "expert_tensor",
    "dispatch",
    "zero",
    "schedule",
    "interleave",
    "data_overlap",
]
"""A key of `parallelism` of which a stack may not have all values."""
HAVE_NODE_DISPATCH: tuple[Platform, ...] = ("cuda", "rocm")
"""Platforms with kernels that send a token once to all of its experts behind a link: DeepEP and Hybrid-EP on the one,
MORI-EP on the other. XLA has a ragged all-to-all, Synapse that of its collectives."""
UNMEASURED_EXPERTS = 0.55
"""Rate of a server's fused experts where no kernels of theirs were measured, over that of products by the NPU's curve
or data sheet: the geometric mean of 1,329 kernels of vLLM 0.24, evenly routed, each precision counting once. On H100
and B200 they come to 0.43 to 0.74 of products by the data sheet and to 0.61 to 0.85 of those by the curve; in fp8 on
H100 to 0.22 (aiconfigurator 095f58a51, moe)."""

Only = dict[Key, Annotated[tuple[bool | int | str, ...], Field(min_length=1)]]
"""By key the values that a stack has."""


class OnlyWith(Frozen):
    """Values that a stack has of keys of `parallelism` where something else is used."""

    pipeline: Only = {}
    """With several stages; the first value is the default of a key that the stack decides."""
    experts: Only = {}
    """With mixtures of experts."""
    spread_experts: Only = {}
    """With experts spread over NPUs (`expert` above 1)."""


class OnNpus(Frozen):
    """What a stack does otherwise on some NPUs, where a design does not say."""

    npus: tuple[str, ...] = ()
    """Their names in the catalogue."""
    execution: Execution = "eager"
    """How kernels are launched."""
    exchange: Library = "deepep"
    """Kernels that move tokens to experts and back."""


class Rates(NamedTuple):
    """Rates of a stack's kernels on an NPU, over those of the kernels that describe the NPU."""

    attention: float = 1.0
    products: float = 1.0


AS_DESCRIBED = Rates()


class Software(Frozen):
    """A software stack that trains, or serves."""

    name: Name = ""
    trains: Flag = True
    """Whether it trains; else it serves alone."""
    like: str = ""
    """The stack of the catalogue that its numbers are of, where no iteration of its own was measured."""
    transformers_alone: Flag = False
    """Whether it has no models but transformers."""
    execution: Execution | None = None
    """How kernels are launched; unless given `eager`, or what `on` says."""
    launch: Launch
    """Least time from one kernel to the next."""
    flash_attention: Flag = True
    """Default of `parallelism.flash_attention`."""
    cross_entropy_fusion: Flag = True
    """Default of `parallelism.cross_entropy_fusion`."""
    attention: Share | dict[str, Share] = 1.0
    """Rate of its fused attention, over that of the kernels which the generation's curve was fitted to; by the name of
    the curve where it differs, 1 on others."""
    products: dict[Platform, Share] = {}
    """Rate of its products and its attention on NPUs of a platform that are known by their data sheets, over what these
    say; 1 on others."""
    experts: dict[str, dict[Precision, Share]] = {}
    """Rate of a server's fused experts, over that of the products which the generation's curve was fitted to; by the
    name of the curve and by precision, `UNMEASURED_EXPERTS` on others."""
    recomputes: Literal["whole", "needed"] = "whole"
    """What runs again in a backward pass: all that a recomputed module did forward, as where an interpreter runs it
    once more; or only what a gradient needs, as where a compiler drops the rest."""
    expert_launch: Annotated[Time, Field(ge=0)] = 0.0
    """Least time from an expert's product to the next one's, where each is a kernel of its own; 0: one kernel has those
    of all experts of an NPU."""
    expert_tile: Count = 1
    """Rows of a tile of the kernel that has the products of all experts: where it has rows of several, it is computed
    for each of them. Experts that drop tokens beyond a capacity are padded to it, and not by tiles."""
    loss_copies: Count = 1
    """Tensors of the logits' size in fp32 that a loss which is not fused holds at once."""
    elementwise: Factor = 1.0
    """Bytes that norms, activations, residuals and rotary embeddings move, over those of one fused kernel each."""
    measured_sequence_parallel: Flag | None = None
    """Whether the iterations that `elementwise` was fitted to had sequence parallelism; unless given it is not known,
    or they had no tensor parallelism."""
    data_overlap: Flag = True
    """Default of `parallelism.data_overlap`."""
    schedule: Annotated[str, MemberOf(SCHEDULES)] = "1f1b"
    """Default of `parallelism.schedule`."""
    gradient_precision: Literal["fp16", "fp32"] = "fp32"
    """Default of `workload.gradient_precision`."""
    keeps_gradients: Flag = False
    """Whether gradients as wide as the weights stay beside wider ones that they are added to, with ZeRO 0 and 1."""
    gradient_fusion: Flag = True
    """Weight gradients are added to fp32 ones inside their product; else by a kernel of their own."""
    collectives: Literal["hierarchical", "flat", "direct"] = "hierarchical"
    """Where a design says nothing of its algorithms: groups over several dimensions are served dimension by dimension,
    or as one flat ring; `direct` is dimension by dimension, by a kernel of the stack's own where a library of
    collectives is known inside a node, in which each NPU reads from all others at once."""
    flat_rate: Share = 1.0
    """Share of the rate of a flat ring, in both directions at once, that flat collectives reach."""
    dispatch: Dispatch = "rank"
    """Default of `parallelism.dispatch`."""
    graph_dispatch: tuple[Dispatch, ...] = ("node", "rank")
    """Ways to move tokens to experts beside which it replays graphs on GPUs; beside others it launches its kernels."""
    graph_zero: tuple[ZeroStage, ...] = (0, 1, 2, 3)
    """ZeRO stages beside which it replays graphs."""
    without_graph: Execution = "eager"
    """How it launches kernels where it would replay a graph and has none."""
    exchange: Library | None = None
    """Kernels that move tokens to experts and back, with `dispatch: node`: unless given `deepep`, or what `on` says."""
    fp8: EightBit = EightBit()
    """Products in 8 bits."""
    overlap: Overlap = Overlap()
    """What a collective costs the computation beside it."""
    memory: StackMemory
    """What the stack takes of the memory beside the tensors."""
    measured_on: tuple[str, ...] = ()
    """Names of the NPUs whose measured iterations its numbers were fitted to."""
    compared_on: tuple[str, ...] = ()
    """Names of the NPUs on which published figures stand beside its predictions, and decided none of its numbers."""
    measured_zero: tuple[ZeroStage, ...] = ()
    """ZeRO stages of these iterations; empty: not known."""
    reduces_apart_on: tuple[Platform, ...] = ()
    """Platforms on which sharded gradients of a layer are reduced before the layer before it begins: layers are the
    turns of a loop, which ends with all that it has begun."""
    made_for: tuple[Platform, ...] = get_args(Platform)
    """Platforms of the NPUs that it is made for."""
    not_on: tuple[str, ...] = ()
    """Names of NPUs of these platforms that it is not made for."""
    not_in: tuple[Precision, ...] = ()
    """Precisions in which it trains nothing."""
    only: Only = {}
    """Values that it has of a key of `parallelism`, where it has not all."""
    only_with: OnlyWith = OnlyWith()
    """Values that it has of such keys with a pipeline, for mixtures of experts, and with experts spread over NPUs."""
    on: OnNpus = OnNpus()
    """What it does otherwise on some NPUs."""
    interval: dict[Literal["dense", "moe", "served dense", "served moe"], tuple[float, float]] | None = None
    """Measured over predicted time in nine of ten jobs on these, predicted without their job, by kind of model."""
    sources: dict[str, str] = {}

    def __hash__(self) -> int:
        return hash((self.name, self.execution, self.launch, self.overlap, self.elementwise))

    @property
    def launch_seconds(self) -> float:
        """Least time from one kernel to the next as this stack launches them [s]."""
        return float(getattr(self.launch, self.execution or "eager"))

    @property
    def routed_launch_seconds(self) -> float:
        """The same where only routing tells how much there is to do [s]."""
        return self.launch.eager if self.execution == "graph" else self.launch_seconds

    def rates_on(self, npu: Npu) -> Rates:
        """How fast its products and its attention are on such an NPU."""
        products = self.products.get(npu.platform, 1.0) if npu.curve is None and not npu.is_ideal else 1.0
        return Rates(self._attention_on(npu), products)

    def _attention_on(self, npu: Npu) -> float:
        """Rate of its fused attention on such an NPU, over that of its curve."""
        if not isinstance(self.attention, dict):
            return self.attention
        return self.attention.get(npu.curve.name, 1.0) if npu.curve is not None else 1.0

    def experts_on(self, npu: Npu, precision: Precision) -> float:
        """Rate of its fused experts on such an NPU, over that of its products there."""
        measured = self.experts.get(npu.curve.name, {}) if npu.curve is not None else {}
        unmeasured = min(1.0, UNMEASURED_EXPERTS / self.rates_on(npu).products)
        return 1.0 if npu.is_ideal else measured.get(precision, unmeasured)

    def is_made_for(self, npu: Programmed) -> bool:
        """Whether it is made for such an NPU."""
        return npu.platform in self.made_for and npu.name not in self.not_on

    def running_on(self, npu: str) -> Software:
        """The stack as it is on such an NPU; of one stack the same object for all of them."""
        return self._elsewhere if npu in self.on.npus else self

    @cached_property
    def launching(self) -> Software:
        """A stack that replays graphs, where it launches its kernels."""
        return self.model_copy(update={"execution": self.without_graph})

    @cached_property
    def _elsewhere(self) -> Software:
        """The stack as it is on the NPUs of `on`."""
        return self.model_copy(
            update={key: getattr(self.on, key) for key in ("execution", "exchange") if getattr(self, key) is None}
        )

    def settle(self, given: Any, platform: Platform) -> dict[str, Any]:
        """The keys of a section, `given`, that say nothing, and what the stack decides of them on such a platform."""
        decided = {key: getattr(self, key) for key in _DEFAULTS}
        if platform not in HAVE_NODE_DISPATCH:
            decided["dispatch"] = "rank"
        if getattr(given, "pipeline", 1) > 1:
            decided |= {key: allowed[0] for key, allowed in self.only_with.pipeline.items() if key in decided}
        if getattr(given, "precision", None) == "fp32":  # no stack sums the gradients of fp32 weights in fewer bits
            decided["gradient_precision"] = "fp32"
        open_keys = [key for key in decided if key in type(given).model_fields and getattr(given, key) is None]
        return {key: decided[key] for key in open_keys}


_DEFAULTS = ("flash_attention", "cross_entropy_fusion", "data_overlap", "schedule", "gradient_precision", "dispatch")
"""Keys of other sections that a stack decides where they are not given."""


NO_TRANSFORMERS = ("layers", "recommender")
"""Kinds of workload whose models are other ones."""
_USUAL = ("megatron-core", "deepspeed", "maxtext")
_USUAL_OF = {
    **dict.fromkeys(NO_TRANSFORMERS, ("pytorch-fsdp", "jax")),
    "inference": ("vllm", "maxtext"),
}
"""By kind of workload what differs: nobody trains these with a library of transformers, or serves with one that trains.
Each NPU has one of them."""


def usual_software(npu: Programmed = UNNAMED, kind: str = "") -> Software:
    """The stack of a design that names none: the first usual one for its kind of workload that is made for its NPUs.

    `kind` is one of `simcore.design.workload.KINDS`; NPUs that are not known are programmed in CUDA.
    """
    usual = (preset(Software, "software", name) for name in _USUAL_OF.get(kind, _USUAL))
    return next(stack for stack in usual if stack.is_made_for(npu))


NamedSoftware = Annotated[Software, *named(Software, "software")]
