"""How the model and the batch are spread over the NPUs."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from simcore.design.layer_range import Degrees, LayerRange, Modules, SolvedStages, Stages
from simcore.design.parameter_server import Gradients, ParameterServer
from simcore.document.field import OF_SOFTWARE, Count, Flag, Frozen
from simcore.document.member import MemberOf
from simcore.document.quantity import Size
from simcore.schedule import SCHEDULES

_Served = Annotated[Gradients, Tag("[key]")]
_Reduced = Annotated[Literal["all_reduce"], Tag("[name]")]
AnyGradients = Annotated[_Served | _Reduced, Discriminator(lambda v: "[name]" if isinstance(v, str) else "[key]")]
"""Where gradients meet as documents write it: at a parameter server, or `all_reduce`."""
Group = Literal["tensor", "context", "expert", "data", "pipeline"]


class Parallelism(Frozen):
    """How the model and the batch are spread over the NPUs."""

    tensor: Count = 1
    """Tensor-parallel degree: NPUs over which each layer is cut."""
    attention_split: Literal["heads", "queries"] = "heads"
    """What of attention the tensor group shares out: whole heads, which `tensor` then divides; or the tokens of queries
    too, where it has more NPUs than divide the heads."""
    pipeline: Count = 1
    """Pipeline-parallel degree: stages, each with a share of the layers."""
    data: Count | None = None
    """What is left of the NPUs unless given."""
    context: Count = 1
    """Context-parallel degree: NPUs over which each sequence is cut."""
    expert: Count = 1
    """Expert-parallel degree: NPUs over which the experts of a layer are spread, on the innermost NPUs of data x
    context."""
    expert_tensor: Count | None = None
    """NPUs over which an expert is cut, a divisor of `tensor`; all of these unless given. With fewer, expert
    parallelism takes NPUs of the tensor group too: expert tensor x expert divides tensor x context x data."""
    dispatch: Literal["node", "rank"] | None = None
    """A token's copies for several experts behind one link cross it once (and are copied there), or each on its own; as
    the software has it unless given."""
    expert_overlap: Flag = False
    """All-to-alls of one microbatch's forward pass travel beside the backward pass of another, and the other way round
    (Megatron-core's `overlap_moe_expert_parallel_comm`)."""
    zero: Annotated[int, Field(strict=True, ge=0, le=3)] = 0
    """ZeRO stage: what data-parallel NPUs shard. 0 nothing, 1 optimizer states, 2 gradients too, 3 parameters too."""
    accumulate: Literal["sharded", "local"] | None = None
    """Gradients are reduced in every microbatch and kept in shards, or kept whole and reduced in the last one; sharded
    from ZeRO-2 on unless there is a pipeline."""
    gather: Literal["twice", "microbatch", "once"] | None = None
    """ZeRO-3's parameters are gathered before forward and again before backward of each microbatch; once a microbatch;
    or once an iteration. Twice unless there is a pipeline."""
    shard_group: Annotated[Count, Field(ge=2)] | None = None
    """Neighbouring NPUs of data x context over which ZeRO shards, and between which groups it reduces; all of them."""
    microbatch: Count = 1
    """Sequences or samples of a microbatch."""
    schedule: Annotated[str, MemberOf(SCHEDULES)] = OF_SOFTWARE
    """Order of forward and backward passes in the pipeline; as the software has it."""
    interleave: Count = 1
    """Model chunks of each pipeline stage (virtual stages); of a schedule that needs a number of them, this number."""
    first_stage_layers: Count | None = None
    """Layers of the first pipeline stage; an even share unless given."""
    last_stage_layers: Count | None = None
    """Layers of the last pipeline stage; an even share unless given."""
    stages: Stages = None
    """Layers of each virtual stage, in the order in which a microbatch passes them; or `{solve: true}`: such that
    memory suffices and the slowest takes least time. An even split unless given."""
    layers: Annotated[tuple[LayerRange, ...], Field(min_length=1)] | None = None
    """Layers that differ, every layer in one of the ranges; what a range leaves out is as the section has it."""
    recompute: Literal["none", "selective", "full", "solve"] = "none"
    """Activations that are computed again in the backward pass: none, those of `recompute_modules`, or all of a
    layer. `solve`: of as few layers as leave 5 % of the memory, in the time that is least."""
    recompute_layers: Count | None = None
    """With `recompute: full`, how many layers of each virtual stage, the first ones; all of them unless given."""
    recompute_modules: Modules | None = None
    """With `recompute: selective`, what of a layer is recomputed (Megatron-core's names); `core_attn` unless given.
    With `recompute: solve` what layers recompute that do; all of a layer unless given."""
    sequence_parallel: Flag = False
    """Norms, dropout and residuals are cut over the tensor group along the sequence (Korthikanti et al. 2022)."""
    flash_attention: Flag = OF_SOFTWARE
    """One fused kernel that keeps no scores and recomputes them in the backward pass; as the software has it."""
    cross_entropy_fusion: Flag = OF_SOFTWARE
    """The loss is computed on 16-bit logits, in place; else on a copy of them in fp32; as the software has it."""
    context_communication: Literal["ring", "all_to_all"] = "ring"
    """Keys and values go round the context group; or all-to-alls give each NPU some heads of the whole sequence."""
    context_overlap: Flag = True
    """Keys and values travel while the attention to those before them is computed (ring)."""
    tensor_overlap: Flag = False
    """Gathers and reduce-scatters of sequence parallelism go step by step beside pieces of their matrix product."""
    data_overlap: Flag = OF_SOFTWARE
    """Gradients are reduced, and ZeRO-3's parameters gathered, beside the computation of other layers; as the software
    has it."""
    gradients: AnyGradients | None = None
    """Where gradients of data-parallel NPUs meet: in an `all_reduce`, unless they do at a parameter server."""
    bucket: Annotated[Size, Field(gt=0)] = 25e6
    """Least bytes of gradients that are reduced together [B]."""

    @property
    def parameter_server(self) -> ParameterServer | None:
        """The servers at which gradients meet; None where they are reduced."""
        return self.gradients.parameter_server if isinstance(self.gradients, Gradients) else None

    @property
    def degrees(self) -> Degrees:
        """Degrees of layers that have none of their own."""
        return Degrees(self.tensor, self.expert)

    def degrees_in(self, its: LayerRange) -> Degrees:
        """Degrees of the layers of a range."""
        return Degrees(its.tensor or self.tensor, its.expert or self.expert)

    @model_validator(mode="before")
    @classmethod
    def _give_chunks(cls, data: Any) -> Any:
        """The model chunks that a schedule must have, where they are not given."""
        if isinstance(data, Mapping) and "interleave" not in data and data.get("schedule") in SCHEDULES:
            chunks = SCHEDULES[data["schedule"]].chunks
            return {**data, "interleave": chunks} if chunks else data
        return data

    @property
    def other_degrees(self) -> tuple[Degrees, ...]:
        """Degrees that some layers have instead of the section's, each once."""
        found = dict.fromkeys(map(self.degrees_in, self.layers or ()))
        return tuple(degrees for degrees in found if degrees != self.degrees)

    @property
    def recomputes_modules(self) -> bool:
        """Whether layers recompute modules of themselves, or may."""
        ways = {self.recompute, *(its.recompute for its in self.layers or ())}
        return not ways.isdisjoint(("selective", "solve"))

    @property
    def recomputed_modules(self) -> frozenset[str]:
        """What `recompute: selective` recomputes of a layer."""
        return frozenset(self.recompute_modules or ("core_attn",))

    def query_npus(self, heads: int) -> int:
        """NPUs of the tensor group that have the same of `heads` heads, and share out the tokens of their queries."""
        return self.tensor // gcd(self.tensor, heads) if self.attention_split == "queries" else 1

    @property
    def head_npus(self) -> int:
        """NPUs of the context group that share out the heads, each with all tokens, while they attend."""
        return self.context if self.context_communication == "all_to_all" else 1

    @property
    def solves_stages(self) -> bool:
        """Whether the layers of its stages are to be solved."""
        return isinstance(self.stages, SolvedStages)

    @property
    def solves(self) -> bool:
        """Whether something of it is to be solved."""
        return self.solves_stages or self.recompute == "solve"

    @property
    def folds(self) -> int:
        """NPUs over which an expert is cut."""
        return self.expert_tensor or self.tensor

    @property
    def folded(self) -> bool:
        """Whether experts are cut over fewer NPUs than the tensor group has, so that they take NPUs of it."""
        return self.expert_tensor not in (None, self.tensor)

    @property
    def moves_tokens(self) -> bool:
        """Whether tokens are sent to experts: not in a tensor group whose NPUs have the same and whole experts."""
        return self.expert > 1 and (self.sequence_parallel or not self.folded)

    @property
    def expert_npus(self) -> int:
        """NPUs that together have all experts of a layer."""
        return self.expert * self.folds

    @property
    def reduces_each(self) -> bool:
        """Whether gradients are reduced in every microbatch, because they are kept in shards."""
        if self.accumulate is not None:
            return self.accumulate == "sharded"
        return self.zero >= 2 and self.pipeline == 1

    @property
    def gathers(self) -> Literal["never", "twice", "microbatch", "once"]:
        """When ZeRO-3 gathers parameters; never in another stage."""
        if self.zero < 3:
            return "never"
        return self.gather or ("twice" if self.pipeline == 1 else "once")
