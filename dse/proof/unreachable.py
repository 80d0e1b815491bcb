"""Constraints that the proven bounds show to be unsatisfiable, such as `time_to_train <= 5 d`, `mfu >= 0.9`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from dse.space.constraint import Constraint
from dse.space.expression import path_of
from dse.space.interval import Between, interval, interval_lookup
from dse.space.quantities import describe_quantity
from simcore.document.problem import Problem, format_path
from simcore.metrics import METRICS

SLACK = 1e-9
"""Relative: by so much a bound and a limit may differ before one is said to exclude the other."""
Excluded = tuple[ast.expr, float, ast.expr, float]
"""A side that is at least a number, and above one that is at most another: those numbers beside them."""


def is_infeasible(constraints: Iterable[Constraint], bounds: Mapping[str, float | None]) -> bool:
    """Whether no design with these bounds of its metrics, in their usual directions, meets the constraints."""
    between = interval_lookup(bounds)
    return any(True for constraint in constraints for _ in _find_excluded(constraint, between))


def unreachable_problem(constraint: Constraint, between: Between) -> Problem | None:
    """The problem of a constraint that nothing `between` those ends meets."""
    for least, low, most, high in _find_excluded(constraint, between):
        proven = " and ".join(filter(None, (_describe_side(least, "least", low), _describe_side(most, "most", high))))
        expected = f"a condition that a design can meet: {proven}"
        fix = _explain_share(constraint) or "loosen it, or widen the space"
        found = f"'{constraint.name}'{_describe_unit(constraint)}"
        return Problem(constraint.place, expected, found, fix, line=constraint.line)
    return None


def contradiction_problems(constraints: Iterable[Constraint]) -> Iterator[Problem]:
    """Limits on one expression that exclude each other, whatever the space: the later one of each pair."""
    least: dict[str, tuple[float, Constraint]] = {}
    most: dict[str, tuple[float, Constraint]] = {}
    for constraint in constraints:
        for side, value, at_least in _plain_limits(constraint):
            name, kept = ast.unparse(side), least if at_least else most
            tighter = name not in kept or (value > kept[name][0]) == at_least
            kept.update({name: (value, constraint)} if tighter else {})
            if name in least and name in most and least[name][0] > most[name][0]:
                others = [f" beside '{c.name}'" for _, c in (least[name], most[name]) if c is not constraint]
                expected = f"a limit that leaves something{''.join(others)}"
                yield Problem(constraint.place, expected, f"'{constraint.name}'", "drop one", line=constraint.line)


def _find_excluded(constraint: Constraint, between: Between) -> Iterator[Excluded]:
    for least, most in ordered_sides(constraint):
        (low, _), (_, high) = interval(least, between), interval(most, between)
        if low > high + SLACK * max(abs(low), abs(high)):
            yield least, low, most, high


def _plain_limits(constraint: Constraint) -> Iterator[tuple[ast.expr, float, bool]]:
    """What is held against a number: the expression, the number, and whether it must be at least that, not at most."""
    for low, high in ordered_sides(constraint):
        for side, limit, at_least in ((high, low, True), (low, high, False)):
            value = limit.value if isinstance(limit, ast.Constant) else None
            if isinstance(value, int | float) and not isinstance(side, ast.Constant):
                yield side, value, at_least


def ordered_sides(constraint: Constraint) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of expressions of which the first must not be above the second."""
    for compared in _comparisons(constraint.expression.tree):
        sides = [compared.left, *compared.comparators]
        for op, left, right in zip(compared.ops, sides, sides[1:], strict=False):
            yield from _ordered_pairs(op, left, right)


def _comparisons(node: ast.expr) -> Iterator[ast.Compare]:
    """Comparisons that must all hold: not what stands below a `not`, or is counted with."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _comparisons(value)
    elif isinstance(node, ast.Compare):
        yield node


def _ordered_pairs(op: ast.cmpop, left: ast.expr, right: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Pairs of which the first must not be above the second."""
    if isinstance(op, ast.NotEq):
        return []
    if isinstance(op, ast.Eq):
        return [(left, right), (right, left)]
    return [(left, right) if isinstance(op, ast.Lt | ast.LtE) else (right, left)]


def _describe_unit(constraint: Constraint) -> str:
    """What its plain numbers are in, where they have no unit and its metric has one."""
    units = {METRICS[name].unit for name in constraint.metrics}
    plain = not re.search(r"\d *(?![eE][-+\d])[A-Za-z]", constraint.name)
    return f" in {units.pop()}" if plain and len(units) == 1 and units != {""} else ""


def _explain_share(constraint: Constraint) -> str:
    """A hint that a metric is a share, where its limit looks like percent; empty elsewhere."""
    for side, value, _ in _plain_limits(constraint):
        path = path_of(side)
        name = "" if path is None else format_path(path)
        if name in METRICS and METRICS[name].share and 1 < value <= 100:
            return f"{name} is a share, at most 1: {value:g} % is {value / 100:g}"
    return ""


def _describe_side(side: ast.expr, end: str, value: float) -> str:
    """What is proven of one side of a comparison; empty of a plain number."""
    if isinstance(side, ast.Constant):
        return ""
    path = path_of(side)
    unit = METRICS[format_path(path)].unit if path is not None and format_path(path) in METRICS else ""
    return f"{ast.unparse(side)} is proven to be at {end} {describe_quantity(value, unit)}"
