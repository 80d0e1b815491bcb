"""Interval arithmetic: bounds of an expression from bounds of the names in it.

Moore (1966), chapter 3. Ends are floats as `Expression` computes them: rounding is monotone, so an end holds for what
the same expression gives for any values inside.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from dse.space.expression import Lookup, make_lookup, path_of
from dse.space.hole import magnitude
from dse.space.objective import Objective
from simcore.document.problem import Path, format_path
from simcore.metrics import METRICS

Interval = tuple[float, float]
Between = Callable[[Path], Interval]

ANY: Interval = (-math.inf, math.inf)


def interval(node: ast.expr, between: Between) -> Interval:
    """Least and most of an arithmetic expression; infinite where nothing is known."""
    path = path_of(node)
    if path is not None:
        return between(path)
    match node:
        case ast.Constant(value=value) if isinstance(value, int | float):
            return float(value), float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            low, high = interval(operand, between)
            return -high, -low
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return interval(operand, between)
        case ast.BinOp(left=left, op=op, right=right):
            return _combine_intervals(op, interval(left, between), interval(right, between))
        case ast.Call(func=ast.Name(id=name), args=args):
            ends = [interval(arg, between) for arg in args]
            chosen: Any = min if name == "min" else max
            return chosen(low for low, _ in ends), chosen(high for _, high in ends)
        case _:
            return ANY


def _combine_intervals(op: ast.operator, one: Interval, other: Interval) -> Interval:
    if isinstance(op, ast.Add):
        return one[0] + other[0], one[1] + other[1]
    if isinstance(op, ast.Sub):
        return one[0] - other[1], one[1] - other[0]
    if isinstance(op, ast.Mult):
        corners = [_product(a, b) for a in one for b in other]
        return min(corners), max(corners)
    if isinstance(op, ast.Div) and other[0] > 0:
        corners = [_quotient(a, b) for a in one for b in other]
        return min(corners), max(corners)
    if isinstance(op, ast.Div) and other[0] >= 0 and one[0] >= 0:
        return _quotient(one[0], other[1]), math.inf
    return ANY


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _quotient(a: float, b: float) -> float:
    """The quotient a / b, b not below 0; one infinite end over another says nothing."""
    if math.isinf(a):
        return a if math.isfinite(b) else math.copysign(0.0, a)
    return 0.0 if b == 0 else a / b


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
