"""The dense feed-forward half of a layer."""

from __future__ import annotations

from simcore.workload.layers import Piece, Shapes, computed
from simcore.workload.linear import column, row


def mlp(shapes: Shapes, name: str, width: int) -> tuple[Piece, ...]:
    """A block of `width`: one product in (two where gated), the activation, one out."""
    model, t = shapes.model, shapes.parallelism.tensor
    f = width / t
    return (
        column(
            shapes,
            f"{name}-in",
            (2 if model.gated else 1) * f,
            model.hidden,
            shapes.moves("activation", (3.0 if model.gated else 2.0) * shapes.tokens * f),
        ),
        row(shapes, f"{name}-out", f, model.hidden),
    )


def dense_half(shapes: Shapes) -> tuple[Piece, ...]:
    """Norm, feed-forward block, residual."""
    tokens, h = shapes.tokens, shapes.model.hidden
    return (
        computed(shapes.moves("norm", 2.0 * tokens * h / shapes.shared)),
        *mlp(shapes, "mlp", shapes.model.ffn),
        computed(shapes.moves("dropout-residual", 4.0 * tokens * h / shapes.shared)),
    )
