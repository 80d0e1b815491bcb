"""Linear layers split over the tensor group (Shoeybi et al. 2019, arXiv 1909.08053), with what they send.

A column-parallel product gathers the tokens before it (with sequence parallelism). Backward, as in Megatron-LM, it
gathers them again beside the product of its input's gradient, and reduces that beside the product of its weights'
gradient; a row-parallel product does it the other way round. With `tensor_overlap` what is not beside another product
already is cut into as many pieces as the group has members, each beside one exchange of a ring (see
`simcore.workload.transformer.overlap`).
"""

from __future__ import annotations

from simcore.program import Compute
from simcore.workload.transformer.layers import Piece, Shapes, backwards, computed
from simcore.workload.transformer.overlap import gathering, scattering


def column(shapes: Shapes, name: str, n: float, k: float, *after: Compute) -> Piece:
    """[tokens, k] x [k, n], n an NPU's part, then `after`."""
    whole = (shapes.gemm(name, shapes.tokens, n, k), *after)
    if shapes.splits:
        part = (shapes.gemm(name, shapes.tokens // shapes.parallelism.tensor, n, k),)
        forward = (*gathering("tensor", shapes.exchanged, [part] * shapes.parallelism.tensor), *after)
    else:
        forward = (*shapes.gather(), *whole)
    return Piece(forward, backwards(whole, shapes, shapes.reduce_beside(), shapes.gather_beside()))


def row(shapes: Shapes, name: str, k: float, n: float) -> Piece:
    """[tokens, k] x [k, n], k an NPU's part, summed over the tensor group."""
    if shapes.splits:
        part = (shapes.gemm(name, shapes.tokens // shapes.parallelism.tensor, n, k),)
        forward = scattering("tensor", shapes.exchanged, [part] * shapes.parallelism.tensor)
        backward = gathering("tensor", shapes.exchanged, [backwards(part, shapes)] * shapes.parallelism.tensor)
        return Piece(forward, backward)
    whole = (shapes.gemm(name, shapes.tokens, n, k),)
    return Piece((*whole, *shapes.reduce()), (*shapes.gather(), *backwards(whole, shapes)))


def norm(shapes: Shapes) -> Piece:
    """A norm: reads and writes forward; backward reads twice and writes, then reads twice for its own parameters."""
    kept = shapes.tokens * shapes.model.hidden / shapes.shared
    return computed(shapes.moves("norm", 2.0 * kept, 5.0 * kept))


def residual(shapes: Shapes) -> Piece:
    """The sum with what went by: two numbers read, one written, and GPT's bias and dropout in the same kernel.

    Backward the gradients of the two branches are added; GPT's mask is applied, and the bias' gradient summed.
    """
    kept = shapes.tokens * shapes.model.hidden / shapes.shared
    if not shapes.model.bias:
        return computed(shapes.moves("residual", 3.0 * kept, 3.0 * kept))
    mask = 1 / shapes.width  # of one byte
    return computed(shapes.moves("dropout-residual", (3 + mask) * kept, (5 + mask) * kept))
