"""How the model and the batch are spread over the NPUs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simcore.document.field import OF_SOFTWARE, Count, Flag, Frozen
from simcore.document.member import MemberOf
from simcore.document.quantity import Size
from simcore.schedule import SCHEDULES

Group = Literal["tensor", "context", "expert", "data", "pipeline"]


class Parallelism(Frozen):
    """How the model and the batch are spread over the NPUs."""

    tensor: Count = 1
    pipeline: Count = 1
    data: Count | None = None
    """What is left of the NPUs unless given."""
    context: Count = 1
    expert: Count = 1
    zero: Annotated[int, Field(strict=True, ge=0, le=3)] = 0
    accumulate: Literal["sharded", "local"] | None = None
    """Gradients are reduced in every microbatch and kept in shards, or kept whole and reduced in the last one; sharded
    from ZeRO-2 on unless there is a pipeline."""
    gather: Literal["twice", "microbatch", "once"] | None = None
    """ZeRO-3's parameters are gathered before forward and again before backward of each microbatch; once a microbatch;
    or once an iteration. Twice unless there is a pipeline."""
    shard_group: Annotated[Count, Field(ge=2)] | None = None
    """Neighbouring NPUs of data x context over which ZeRO shards, and between which groups it reduces; all of them."""
    microbatch: Count = 1
    schedule: Annotated[str, MemberOf(SCHEDULES)] = "1f1b"
    interleave: Count = 1
    first_stage_layers: Count | None = None
    """Layers of the first pipeline stage, and of the last one; an even share unless given."""
    last_stage_layers: Count | None = None
    recompute: Literal["none", "selective", "full"] = "none"
    recompute_layers: Count | None = None
    """With `recompute: full`, how many layers of each virtual stage, the first ones; all of them unless given."""
    sequence_parallel: Flag = False
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
    bucket: Annotated[Size, Field(gt=0)] = 25e6
    """Least bytes of gradients that are reduced together [B]."""

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
