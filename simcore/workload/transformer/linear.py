"""Linear layers split over the tensor group (Shoeybi et al. 2019, arXiv 1909.08053), with what they send.

A column-parallel product gathers the tokens before it (with sequence parallelism). Backward, as in Megatron-LM, it
gathers them again beside the product of its input's gradient, and reduces that beside the product of its weights'
gradient; a row-parallel product does it the other way round.

With `tensor_overlap` what is not beside another product already is cut, as Transformer Engine's user buffers do by
default (`initialize_ub`: "ring_exchange" for qkv_fprop, fc1_fprop, proj_dgrad and fc2_dgrad, "pipeline" for proj_fprop
and fc2_fprop, "bulk" for the rest). Where tokens are gathered for it, a product is as many pieces as the group has
members, each beside one exchange of a ring; where it is reduced, `SCATTERED` pieces, each reduced beside the next (see
`simcore.workload.transformer.overlap`). Products of weight gradients are never cut: that of a row-parallel product runs
on the gradient that the pieces have gathered.
"""

from __future__ import annotations

from math import gcd

from simcore.program import Compute
from simcore.workload.transformer.layers import Piece, Shapes, backwards, computed, input_gradient
from simcore.workload.transformer.overlap import gathering, pipelined

SCATTERED = 4
"""Pieces of a product whose sums are reduced piece by piece (`num_splits` of a pipelined overlap)."""


def column(shapes: Shapes, name: str, n: float, k: float, *after: Compute) -> Piece:
    """[tokens, k] x [k, n], n an NPU's part, then `after`."""
    whole = (shapes.gemm(name, shapes.tokens, n, k), *after)
    cast = () if shapes.norm_casts else shapes.cast(name, shapes.tokens * k / shapes.shared)
    if shapes.splits:
        t = shapes.parallelism.tensor
        forward = (*cast, *gathering("tensor", shapes.exchanged, [(_piece(shapes, name, n, k, t),)] * t), *after)
    else:
        forward = (*cast, *shapes.gather(shapes.gathered_width), *whole)
    return Piece(forward, backwards(whole, shapes, shapes.reduce_beside(), shapes.gather_beside()))


def row(shapes: Shapes, name: str, k: float, n: float, summed: bool = True) -> Piece:
    """[tokens, k] x [k, n], k an NPU's part, `summed` over the tensor group."""
    whole = (shapes.gemm(name, shapes.tokens, n, k),)
    cast = shapes.cast(name, shapes.tokens * k)
    turned = shapes.cast(name + "-gradient", shapes.tokens * n / shapes.shared)
    own = backwards(whole, shapes, cast=False)
    if not shapes.splits:
        return Piece(
            (*cast, *whole, *(shapes.reduce() if summed else ())),
            (*turned, *shapes.gather(shapes.gathered_width), *own),
        )
    t, count = shapes.parallelism.tensor, gcd(SCATTERED, shapes.tokens)
    part = (_piece(shapes, name, n, k, count),)
    forward = pipelined("reduce_scatter", "tensor", shapes.hidden_bytes / count, [part] * count)
    inputs = input_gradient(_piece(shapes, name, n, k, t))._replace(pieces=t)
    return Piece((*cast, *forward), (*turned, *gathering("tensor", shapes.exchanged, [(inputs,)] * t), *own[1:]))


def _piece(shapes: Shapes, name: str, n: float, k: float, count: int) -> Compute:
    """One of `count` pieces of [tokens, k] x [k, n], each with its share of the tokens."""
    return shapes.gemm(name, shapes.tokens // count, n, k)._replace(pieces=count)


def norm(shapes: Shapes) -> Piece:
    """A norm: reads and writes forward; backward reads twice and writes, then reads twice for its own parameters."""
    kept = float(shapes.tokens * shapes.model.hidden)
    return computed(shapes.whole_elementwise("norm", 2.0 * kept, 5.0 * kept))


def norm_after(shapes: Shapes) -> tuple[Piece, ...]:
    """The norm of what a half gives to its residual, where layers have one."""
    return (norm(shapes),) if shapes.model.layer_norms == 4 else ()


def norm_between(shapes: Shapes) -> tuple[Piece, ...]:
    """The norm before the second half of a layer, where the first half's is not for both."""
    return () if shapes.model.layer_norms == 1 else (norm(shapes),)


def residual(shapes: Shapes) -> Piece:
    """The sum with what went by: two numbers read, one written, and GPT's bias and dropout in the same kernel.

    Backward the gradients of the two branches are added; GPT's mask is applied, and the bias' gradient summed.
    """
    kept = float(shapes.tokens * shapes.model.hidden)
    if not shapes.model.bias:
        return computed(shapes.whole_elementwise("residual", 3.0 * kept, 3.0 * kept))
    mask = 1 / shapes.width  # of one byte
    return computed(shapes.whole_elementwise("dropout-residual", (3 + mask) * kept, (5 + mask) * kept))
