"""Interval arithmetic: bounds of an expression from bounds of the names in it, of one design or of many at once.

Moore (1966), chapter 3. Ends are numbers, or vectors with one entry a design, as `Expression` computes them: rounding
is monotone, so an end holds for what the same expression gives for any values inside.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.space.expression import path_of
from simcore.document.problem import Path

Vector = NDArray[np.float64]
Ends: TypeAlias = tuple[Any, Any]
"""Least and most: vectors `[designs]`, or numbers for all."""
Between = Callable[[Path], Ends]

ANY: Ends = (-np.inf, np.inf)


def intervals(node: ast.expr, between: Between) -> Ends:
    """Least and most of an arithmetic expression; infinite where nothing is known."""
    path = path_of(node)
    if path is not None:
        return between(path)
    match node:
        case ast.Constant(value=value) if isinstance(value, int | float):
            return float(value), float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            low, high = intervals(operand, between)
            return -high, -low
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return intervals(operand, between)
        case ast.BinOp(left=left, op=op, right=right):
            with np.errstate(all="ignore"):
                return _combine(op, intervals(left, between), intervals(right, between))
        case ast.Call(func=ast.Name(id=name), args=args):
            ends = [intervals(arg, between) for arg in args]
            chosen: Any = _least if name == "min" else _most
            return chosen([low for low, _ in ends]), chosen([high for _, high in ends])
        case _:
            return ANY


def _combine(op: ast.operator, one: Ends, other: Ends) -> Ends:
    if isinstance(op, ast.Add):
        return one[0] + other[0], one[1] + other[1]
    if isinstance(op, ast.Sub):
        return one[0] - other[1], one[1] - other[0]
    if isinstance(op, ast.Mult):
        corners = [_product(a, b) for a in one for b in other]
        return _least(corners), _most(corners)
    if isinstance(op, ast.Div):
        corners = [_quotient(a, b) for a in one for b in other]
        above, half = other[0] > 0, (other[0] >= 0) & (one[0] >= 0)
        low = np.where(above, _least(corners), np.where(half, _quotient(one[0], other[1]), -np.inf))
        return low, np.where(above, _most(corners), np.inf)
    return ANY


def _product(a: Any, b: Any) -> Any:
    nothing = (np.asarray(a) == 0) | (np.asarray(b) == 0)
    return np.where(nothing, 0.0, np.multiply(a, b))


def _quotient(a: Any, b: Any) -> Any:
    """The quotient a / b, b not below 0; one infinite end over another says nothing."""
    endless = np.where(np.isfinite(b), a, np.copysign(0.0, a))
    return np.where(np.isinf(a), endless, np.where(np.asarray(b) == 0, 0.0, np.divide(a, b)))


def _least(values: list[Any]) -> Any:
    return np.minimum.reduce(np.broadcast_arrays(*values))


def _most(values: list[Any]) -> Any:
    return np.maximum.reduce(np.broadcast_arrays(*values))
