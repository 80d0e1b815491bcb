"""Bounds of an expression of one design, from bounds of the names in it (`dse.space.intervals`)."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from dse.space.expression import Lookup, make_lookup
from dse.space.hole import magnitude
from dse.space.intervals import intervals
from dse.space.objective import Objective
from simcore.document.problem import Path, format_path
from simcore.metrics import METRICS

Interval = tuple[float, float]
Between = Callable[[Path], Interval]

ANY: Interval = (-math.inf, math.inf)


def interval(node: ast.expr, between: Between) -> Interval:
    """Least and most of an arithmetic expression; infinite where nothing is known."""
    low, high = intervals(node, between)
    return float(low), float(high)


def interval_lookup(proven: Mapping[str, float | None], look: Lookup | None = None) -> Between:
    """Between what names lie: metrics by their proven bounds, and none is below 0; values of a design by `look`."""

    def between(path: Path) -> Interval:
        name = format_path(path)
        if name in METRICS:
            bound = proven.get(name)
            if METRICS[name].better == "less":
                return bound or 0.0, math.inf
            return 0.0, math.inf if bound is None else bound
        found = None if look is None else look(path)
        number = float(found) if isinstance(found, bool) else magnitude(found)
        return ANY if number is None else (number, number)

    return between


def design_bound(objective: Objective, proven: Mapping[str, float | None], document: Mapping[str, Any]) -> float | None:
    """The bound of an objective for one design, from those of its metrics; None where nothing is proven."""
    if objective.expression is None:
        return proven.get(objective.name)
    return bound_of(objective, interval_lookup(proven, make_lookup(document)))


def bound_of(objective: Objective, between: Between) -> float | None:
    """The least of an expression that is minimised, the most of one that is maximised; None where there is none."""
    assert objective.expression is not None
    low, high = interval(objective.expression.tree, between)
    end = low if objective.sign > 0 else high
    return end if math.isfinite(end) else None
