"""A design as layers with degrees of their own see it.

A stage keeps its NPUs, tensor x context x data of them. Where a tensor group has t' of these instead of t, there are
t / t' times as many of them, so the data-parallel degree is d t / t'; and as a microbatch is that of all NPUs together,
a group has b t' / t sequences of it. Each NPU so has as many tokens in all layers (Megatron-core folds the groups of
experts over those of attention in the same way: Liu et al. 2025, arXiv 2504.14960).
"""

from __future__ import annotations

from collections.abc import Mapping

from simcore.design.design import Design
from simcore.design.layer_range import Degrees
from simcore.design.once import once


@once
def views_of(design: Design) -> Mapping[Degrees, Design]:
    """The design as layers see it whose degrees are not the section's, by degrees.

    Numbers that do not divide are rounded down: whole ones are for the check to ask.
    """
    return {degrees: _view(design, degrees) for degrees in design.parallelism.other_degrees}


def _view(design: Design, degrees: Degrees) -> Design:
    p = design.parallelism
    own = {
        "tensor": degrees.tensor,
        "expert": degrees.expert,
        "expert_tensor": p.expert_tensor if p.folded else None,
        "data": design.data * p.tensor // degrees.tensor,
        "microbatch": design.microbatch * degrees.tensor // p.tensor,
        "layers": None,
    }
    return design.model_copy(update={"parallelism": p.model_copy(update=own)})
