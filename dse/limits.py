"""Constraints that a proven bound alone can rule out: `time_to_train <= 60 * 86400`, `mfu >= 0.4`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dse.constraint import Constraint
from simcore.problem import dotted
from simcore.result import METRICS

_ROUNDING = 1e-9
"""Share by which a bound must be beyond a limit."""


def breaks(constraints: Iterable[Constraint], bounds: Mapping[str, float | None]) -> bool:
    """Whether no design with these bounds of its metrics, in their usual directions, meets the constraints."""
    return any(
        _beyond(bounds.get(name), limit, most)
        for constraint in constraints
        for path, limit, most in constraint.expression.limits
        if (name := dotted(path)) in METRICS and most == (METRICS[name].better == "lower")
    )


def _beyond(bound: float | None, limit: float, most: bool) -> bool:
    if bound is None:
        return False
    missed = bound - limit if most else limit - bound
    return missed > _ROUNDING * max(abs(bound), abs(limit))
