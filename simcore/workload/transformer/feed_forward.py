"""The dense feed-forward half of a layer."""

from __future__ import annotations

from simcore.program import Compute
from simcore.workload.transformer.layers import Piece, Shapes, tagged
from simcore.workload.transformer.linear import column, norm_after, norm_between, residual, row


def mlp(shapes: Shapes, name: str, width: int, summed: bool = True) -> tuple[Piece, ...]:
    """A block of `width`: one product in (two where gated), the activation, one out, `summed` over the tensor group."""
    model, t = shapes.model, shapes.parallelism.tensor
    f = width / t
    return (
        column(
            shapes,
            f"{name}-in",
            (2 if model.gated else 1) * f,
            model.hidden,
            activation(shapes, shapes.tokens * f),
        ),
        row(shapes, f"{name}-out", f, model.hidden, summed),
    )


def dense_half(shapes: Shapes) -> tuple[Piece, ...]:
    """Norm, feed-forward block, residual."""
    block = tagged("mlp", *mlp(shapes, "mlp", shapes.model.ffn))
    after = norm_after(shapes)
    if not after:
        block = (*block[:-1], block[-1]._replace(only_summed=True))
    last = residual(shapes)._replace(only_summed=True)
    return (*tagged("layernorm", *norm_between(shapes)), *block, *after, last)


def activation(shapes: Shapes, count: float) -> Compute:
    """The activation of `count` numbers, with its bias, or with the product of the two halves where gated."""
    return shapes.elementwise(
        "activation", *((3.0 * count, 5.0 * count) if shapes.model.gated else (2.0 * count, 4.0 * count))
    )
