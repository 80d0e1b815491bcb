"""Software stacks that train: what each does to every design, and which one a device is assumed to run.

FlashAttention (Dao et al. 2022, arXiv 2205.14135) came out in May 2022. Iterations that were published of devices of
an earlier year (V100, A100) ran attention operator by operator unless they say otherwise; those of devices since (H100,
B200) ran Megatron-core with Transformer Engine: fused attention and loss, gradients kept in fp32. The precision of
gradients alone says nothing of attention: fp32 gradients are a switch of either stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simcore.design.npu import Npu

FLASH_ATTENTION = 2022
"""Year from which on a device is assumed to run fused attention."""


@dataclass(frozen=True)
class StackSettings:
    """What a software stack does to every design."""

    parallelism: dict[str, Any] = field(default_factory=dict)
    """Keys of `parallelism`."""
    gradient_precision: str | None = None
    """Of 16-bit (or narrower) training; the design's default unless given."""
    uneven: bool = False
    """Whether the embedding and the loss may count as layers of the first and the last pipeline stage."""


STACKS = {
    "megatron-deepspeed": StackSettings(
        {"data_overlap": False, "flash_attention": False, "cross_entropy_fusion": False}
    ),
    "megatron-core": StackSettings(
        {"data_overlap": False, "flash_attention": True, "cross_entropy_fusion": True},
        gradient_precision="fp32",
        uneven=True,
    ),
}
"""Megatron-DeepSpeed reduces gradients once its pipeline has drained; so does Megatron-core as it was measured."""


def assumed_stack(npu: Npu) -> str:
    """The stack of a device's time: one of `STACKS`; of a device without a year, today's."""
    old = npu.introduced is not None and npu.introduced < FLASH_ATTENTION
    return "megatron-deepspeed" if old else "megatron-core"
