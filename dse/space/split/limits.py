"""Least and most of each dimension where a bandwidth budget is split, as a space writes them: `lower`, `upper`."""

from __future__ import annotations

from dataclasses import dataclass

from simcore.document.problem import Refusal


@dataclass(frozen=True)
class ShareLimit:
    """Least or most of a dimension: a bandwidth [B/s], or a share of the budget."""

    value: float
    share: bool

    def bandwidth_of(self, budget: float) -> float:
        """[B/s]."""
        return self.value * budget if self.share else self.value


ShareLimits = tuple[tuple[int | None, ShareLimit], ...]
"""Limits by dimension of the network; None: of every dimension."""


def limits_of(
    key: str, limits: ShareLimits, dimensions: tuple[int, ...], budget: float, otherwise: float
) -> list[float]:
    """The limit of each dimension [B/s]; raises `ValueError` for one of a dimension that has no share."""
    known = dict(limits)
    for dimension in known:
        if dimension is not None and dimension not in dimensions:
            listed = ", ".join(map(str, dimensions))
            raise Refusal(f"'{key}' for dimensions that share the budget ({listed})", str(dimension))
    every = known.get(None)
    chosen = [known.get(dimension, every) for dimension in dimensions]
    return [otherwise if limit is None else limit.bandwidth_of(budget) for limit in chosen]
