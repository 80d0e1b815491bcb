"""Expressions of a document: `parallelism.tensor * 2`, `memory.peak <= memory.capacity`, `fits`.

+ - * / // % on numbers and quantities (`2 MW`: `dse.space.quantities`), comparisons, `and`, `min(…)`, `max(…)`, dotted
paths with `[index]`. Parsed with Python's own grammar into a tree of allowed nodes only: no calls but min and max, no
attributes of objects, nothing is executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dse.space.quantities import parse_expression, unit_conflicts
from simcore.document.problem import Path, Refusal, format_path, suggest_nearest

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: dict[str, Callable[..., Any]] = {"min": min, "max": max}
MAX_LENGTH = 1000

Lookup = Callable[[Path], Any]


@dataclass(frozen=True)
class Expression:
    """A parsed expression; `text` is what was written."""

    text: str

    @cached_property
    def tree(self) -> ast.expr:
        """The parsed expression, of allowed nodes only; raises `ValueError` where it cannot be read."""
        if len(self.text) > MAX_LENGTH:
            raise Refusal(f"an expression of at most {MAX_LENGTH} characters", str(len(self.text)))
        try:
            tree = parse_expression(self.text)
            conflicts = list(unit_conflicts(tree, _name_of))
        except Refusal:
            raise
        except (SyntaxError, RecursionError, ValueError):
            raise Refusal("an expression such as 'memory.peak <= memory.capacity'", f"'{self.text}'") from None
        for node in ast.walk(tree):
            _check_allowed(node, self.text)
        if conflicts:
            raise conflicts[0]
        return tree

    def validate(self) -> Expression:
        """The expression itself; raises `Refusal` where it cannot be read."""
        assert self.tree is not None
        return self

    @property
    def is_condition(self) -> bool:
        """Whether it, or a part of it, is true or false rather than a number."""
        parts = list(ast.walk(self.tree))
        return any(isinstance(part, ast.Compare | ast.BoolOp | ast.Not) for part in parts)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Every path the expression names."""
        found: dict[Path, None] = {}
        _collect(self.tree, found)
        return tuple(found)

    def value(self, lookup: Lookup) -> Any:
        """The value; raises `ValueError` for a path without a value, or a division by zero."""
        return self._evaluate(_value, lookup)

    def violation(self, lookup: Lookup) -> float:
        """How much the condition is missed, relative to its larger side; <= 0 where it holds.

        `a <= b` gives (a - b) / max(|a|, |b|); `and` the worst of its parts; a plain truth value 1 where it is false.
        """
        return float(self._evaluate(_violation, lookup))

    def _evaluate(self, function: Callable[[ast.expr, Lookup], Any], lookup: Lookup) -> Any:
        try:
            return function(self.tree, lookup)
        except ZeroDivisionError as error:
            raise Refusal("a divisor other than 0", str(error), where=f"'{self.text}'") from None
        except TypeError as error:
            raise Refusal("numbers", str(error), where=f"'{self.text}'") from None
        except OverflowError:
            raise Refusal("numbers that a float can hold", "larger ones", where=f"'{self.text}'") from None
        except RecursionError:
            raise Refusal("an expression that nests less", "a deep one", where=f"'{self.text[:40]}…'") from None


def make_lookup(document: Mapping[str, Any]) -> Lookup:
    """Looks paths up in a nested mapping."""

    def look(path: Path) -> Any:
        value: Any = document
        for depth, part in enumerate(path):
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                known = [format_path((*path[:depth], key)) for key in value] if isinstance(value, Mapping) else []
                hint = suggest_nearest(format_path(path[: depth + 1]), known)
                raise Refusal("a path of the document", f"'{format_path(path)}'", hint) from None
        return value

    return look


def _check_allowed(node: ast.AST, text: str) -> None:
    ok = isinstance(
        node,
        ast.BinOp
        | ast.UnaryOp
        | ast.USub
        | ast.UAdd
        | ast.Not
        | ast.BoolOp
        | ast.And
        | ast.Compare
        | ast.Name
        | ast.Attribute
        | ast.Subscript
        | ast.Load
        | ast.Constant
        | ast.Call,
    )
    ok = ok or type(node) in _BINARY or type(node) in _COMPARE
    if isinstance(node, ast.Call):
        ok = isinstance(node.func, ast.Name) and node.func.id in _CALLS and not node.keywords and len(node.args) > 1
    if isinstance(node, ast.Constant):
        ok = isinstance(node.value, int | float | str | bool)
    if isinstance(node, ast.Attribute | ast.Subscript):
        ok = path_of(node) is not None
    if not ok:
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        raise Refusal("+ - * / // % min max, comparisons and paths", f"'{what}' in '{text}'")


def path_of(node: ast.AST) -> Path | None:
    """The dotted path that a node of an expression is; None for any other node."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=inner, attr=name):
            outer = path_of(inner)
            return None if outer is None else (*outer, name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=int(index))):
            outer = path_of(inner)
            return None if outer is None else (*outer, index)
        case _:
            return None


def _name_of(node: ast.AST) -> str | None:
    path = path_of(node)
    return None if path is None else format_path(path)


def _collect(node: ast.AST, found: dict[Path, None]) -> None:
    path = path_of(node)
    if path is not None:
        found[path] = None
        return
    children = node.args if isinstance(node, ast.Call) else list(ast.iter_child_nodes(node))
    for child in children:
        _collect(child, found)


def _value(node: ast.expr, lookup: Lookup) -> Any:
    path = path_of(node)
    if path is not None:
        return lookup(path)
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, lookup)
        case ast.UnaryOp(op=op, operand=operand):
            value = _check_number(_value(operand, lookup))
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _check_number(_value(left, lookup)), _check_number(_value(right, lookup))
            try:
                return _BINARY[type(op)](one, other)
            except ZeroDivisionError:
                raise ZeroDivisionError(_describe_zero(right, lookup)) from None
        case ast.BoolOp(values=values):
            return all(_value(value, lookup) for value in values)
        case ast.Compare():
            return _violation(node, lookup) <= 0
        case ast.Call(func=ast.Name(id=name), args=args):
            return _CALLS[name](*(_value(arg, lookup) for arg in args))
        case _:
            raise AssertionError(f"unchecked node {node!r}")


def _describe_zero(divisor: ast.expr, lookup: Lookup) -> str:
    """A divisor that is 0, and what it is made of: `0 for 'a - 1' (a is 1)`."""
    found: dict[Path, None] = {}
    _collect(divisor, found)
    own = path_of(divisor)
    known = {path: lookup(path) for path in found if path != own}
    told = {path: f"{value:g}" if isinstance(value, int | float) else str(value) for path, value in known.items()}
    made = ", ".join(f"{format_path(path)} is {text}" for path, text in told.items())
    return f"0 for '{ast.unparse(divisor)}'" + (f" ({made})" if made else "")


def _check_number(value: Any) -> Any:
    """A number itself; anything else has no arithmetic here, whatever Python thinks of multiplied text."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r}")
    return value


def _violation(node: ast.expr, lookup: Lookup) -> float:
    if isinstance(node, ast.BoolOp):
        return max(_violation(value, lookup) for value in node.values)
    if not isinstance(node, ast.Compare):
        return 0.0 if _value(node, lookup) else 1.0
    worst = float("-inf")
    left = _value(node.left, lookup)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = _value(comparator, lookup)
        worst = max(worst, _missed_by(op, left, right))
        left = right
    return worst


def _missed_by(op: ast.cmpop, left: Any, right: Any) -> float:
    texts = [isinstance(side, str) for side in (left, right)]
    if any(texts) and not all(texts):
        raise TypeError(f"{left!r} beside {right!r}")
    holds = _COMPARE[type(op)](left, right)
    numbers = all(isinstance(side, int | float) for side in (left, right))
    if not numbers or isinstance(op, ast.Eq | ast.NotEq):
        return 0.0 if holds else 1.0
    scale = max(abs(left), abs(right)) or 1.0
    over = (left - right) / scale if isinstance(op, ast.Lt | ast.LtE) else (right - left) / scale
    return float(over) if holds or over > 0 else 1e-12
