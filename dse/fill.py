"""Filling a template: a value into every live hole, and where each part of the filled document stands in the file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.draw import Draw
from dse.expression import Expression, lookup_in
from dse.hole import Choice, Expr, PowersOfTwo, Product, Range, SolvedSplit, Split, compositions, magnitude
from simcore.problem import Path, dotted
from simcore.quantity import SI, write


@dataclass
class Filled:
    """A design document without holes, and how it came about."""

    document: Any
    params: dict[str, Any] = field(default_factory=dict)
    """Path -> value of every live hole."""
    origins: dict[Path, Path] = field(default_factory=dict)
    """Where what stands at a path of `document` stands in the file, where that differs."""
    choices: dict[str, int] = field(default_factory=dict)
    """Number of alternatives of every live choice, by the name it draws under."""
    solved: list[SolvedSplit] = field(default_factory=list)
    """Splits whose shares follow from the rest of the document."""

    def source(self, path: Path) -> Path:
        """The place in the file of a path of the document."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.origins:
                return self.origins[path[:end]] + path[end:]
        return path


@dataclass
class _Late:
    """A value that waits for the rest of the document."""

    path: Path
    hole: Expr


def fill_template(template: Any, draw: Draw, solve: bool = True) -> Filled:
    """Fill every live hole of a template; splits that are to be solved stay equal shares where `solve` is false.

    Raises `ValueError` where an expression names what the document lacks, or a budget is too small to split.
    """
    filled = Filled(None)
    late: list[_Late] = []
    filled.document = _fill(template, (), (), "", draw, filled, late)
    for entry in late if filled.solved else ():
        if any("bandwidth" in path for path in Expression(entry.hole.text).paths):
            raise FillError(entry.path, f"expected an expression without solved bandwidths, got '{entry.hole.text}'")
    while late:
        waiting = [entry for entry in late if not _settle(entry, filled)]
        if len(waiting) == len(late):
            raise FillError(late[0].path, f"expected expressions that end, got a cycle in '{late[0].hole.text}'")
        late = waiting
    if solve and filled.solved:
        _solve(filled)
    return filled


def _solve(filled: Filled) -> None:
    """Give solved splits their shares: what a document knows when all else is filled."""
    from dse.solve import solved_shares  # it simulates: only spaces that ask for it pay for that

    for split in filled.solved:
        for i, share in zip(split.dimensions, solved_shares(split, filled.document), strict=True):
            filled.document["cluster"]["dimensions"][i]["bandwidth"] = share
            filled.params[dotted(("cluster", "dimensions", i, "bandwidth"))] = share


class FillError(ValueError):
    """A hole that cannot be filled: `path` is its place."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


class _NotYetError(Exception):
    """An expression needs one that has no value yet."""


def _settle(entry: _Late, filled: Filled) -> bool:
    """Give an expression its value; False where it needs another one first."""
    try:
        value = _resolved(Expression(entry.hole.text), filled.document)
    except _NotYetError:
        return False
    except ValueError as error:
        raise FillError(entry.path, str(error)) from None
    _put(filled.document, entry.path, value)
    filled.params[dotted(entry.path)] = value
    return True


def _resolved(expression: Expression, document: Any) -> Any:
    look = lookup_in(document)
    exact = True

    def number(path: Path) -> Any:
        nonlocal exact
        value = look(path)
        if isinstance(value, Expr):
            raise _NotYetError
        if isinstance(value, str):
            exact = False
            return magnitude(value) if magnitude(value) is not None else value
        return value

    value = expression.value(number)
    return SI(value) if not exact and isinstance(value, int | float) and not isinstance(value, bool) else value


def _put(document: Any, path: Path, value: Any) -> None:
    for part in path[:-1]:
        document = document[part]
    document[path[-1]] = value


def _fill(template: Any, path: Path, source: Path, name: str, draw: Draw, filled: Filled, late: list[_Late]) -> Any:
    if isinstance(template, dict):
        return _fill_mapping(template, path, source, name, draw, filled, late)
    if isinstance(template, list):
        return [
            _fill(inner, (*path, i), (*source, i), f"{name}[{i}]", draw, filled, late)
            for i, inner in enumerate(template)
        ]
    if isinstance(template, Choice):
        index = template.fill(draw, name)
        chosen = template.alternatives[index]
        filled.choices[name] = template.count
        filled.origins[path] = (*source, "choice", index)
        filled.params[dotted(path)] = label(chosen, index)
        return _fill(chosen, path, (*source, "choice", index), f"{name}={index}", draw, filled, late)
    if isinstance(template, Range | PowersOfTwo):
        value = template.fill(draw, name)
        filled.params[dotted(path)] = value
        return value
    if isinstance(template, Expr):
        late.append(_Late(path, template))
        return template  # until it has its value
    return template


def _fill_mapping(
    template: Mapping[str, Any], path: Path, source: Path, name: str, draw: Draw, filled: Filled, late: list[_Late]
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, inner in template.items():
        below, inside = (*path, key), f"{name}.{key}" if name else str(key)
        if isinstance(inner, Product):
            for degree, value in inner.fill(draw, inside).items():
                out[degree] = value
                filled.origins[(*path, degree)] = (*source, key)
                filled.params[dotted((*path, degree))] = value
        elif not isinstance(inner, Split):
            out[key] = _fill(inner, below, (*source, key), inside, draw, filled, late)
    for key, inner in template.items():
        if isinstance(inner, Split):
            below, inside = (*path, key), f"{name}.{key}" if name else str(key)
            split = (*below, "split")
            budget = _fill(inner.budget, split, (*source, key, "split"), f"{inside}.split", draw, filled, late)
            _share(inner, inside, str(budget), out, path, (*source, key), draw, filled)
    return out


def _share(
    split: Split, name: str, budget: str, cluster: dict[str, Any], path: Path, source: Path, draw: Draw, filled: Filled
) -> None:
    """Give each dimension that has no bandwidth of its own its share of the budget."""
    listed = cluster.get("dimensions")
    open_ones = [i for i, d in enumerate(listed or []) if isinstance(d, dict) and "bandwidth" not in d]
    if not open_ones:
        raise ValueError("expected 'dimensions' without a bandwidth of their own beside the split, got none")
    assert listed is not None
    if split.solve:
        goal = draw.index(f"{name}#goal", len(split.solve), False) if len(split.solve) > 1 else 0
        filled.solved.append(SolvedSplit(tuple(open_ones), budget, split.step, split.solve[goal]))
        if len(split.solve) > 1:
            filled.params[dotted((*path, "bandwidth", "solve"))] = split.solve[goal]
    for i, share in zip(open_ones, split.fill(draw, name, budget, len(open_ones)), strict=True):
        listed[i] = {**listed[i], "bandwidth": share}
        at = (*path, "dimensions", i, "bandwidth")
        filled.origins[at] = source
        filled.params[dotted(at)] = share


def label(alternative: Any, index: int) -> Any:
    """What a table shows for an alternative: itself, a topology's notation, or its number."""
    if isinstance(alternative, list) and alternative and all(isinstance(entry, str) for entry in alternative):
        return ", ".join(alternative)
    if isinstance(alternative, list):
        parts = [
            f"{entry['topology']}({entry['size']})"
            for entry in alternative
            if isinstance(entry, dict) and isinstance(entry.get("topology"), str) and isinstance(entry.get("size"), int)
        ]
        if parts and len(parts) == len(alternative):
            return "_".join(parts)
    if isinstance(alternative, dict) and isinstance(alternative.get("name"), str):
        return alternative["name"]
    simple = alternative is None or isinstance(alternative, str | int | float | bool)
    return alternative if simple else f"#{index}"


def template_count(template: Any) -> float:
    """Number of ways to fill a template; infinite where a hole is continuous."""
    if isinstance(template, dict):
        splits = [inner for inner in template.values() if isinstance(inner, Split)]
        rest = {key: inner for key, inner in template.items() if not isinstance(inner, Split)}
        if not splits:
            return math.prod(map(template_count, rest.values()))
        shapes = _open_dimensions(rest.pop("dimensions", []))
        ways = sum(count * _split_count(splits[0], parts) for parts, count in shapes.items())
        return ways * math.prod(map(template_count, rest.values()))
    if isinstance(template, list):
        return math.prod(map(template_count, template))
    if isinstance(template, Choice):
        return sum(map(template_count, template.alternatives))
    return template.count if isinstance(template, Range | PowersOfTwo | Product) else 1


def _open_dimensions(dimensions: Any) -> dict[int, float]:
    """Number of dimensions without a bandwidth -> ways to fill the dimensions with so many."""
    if isinstance(dimensions, Choice):
        ways: dict[int, float] = {}
        for alternative in dimensions.alternatives:
            for parts, count in _open_dimensions(alternative).items():
                ways[parts] = ways.get(parts, 0) + count
        return ways
    if isinstance(dimensions, list):
        ways = {0: 1}
        for dimension in dimensions:
            longer: dict[int, float] = {}
            for parts, count in ways.items():
                for more, times in _open_dimensions(dimension).items():
                    longer[parts + more] = longer.get(parts + more, 0) + count * times
            ways = longer
        return ways
    return {int(isinstance(dimensions, dict) and "bandwidth" not in dimensions): template_count(dimensions)}


def _split_count(split: Split, parts: int) -> float:
    if isinstance(split.budget, Range) and split.budget.step is None:
        return math.inf
    if isinstance(split.budget, Range):
        budgets = [write(split.budget.low + i * split.budget.step, "bandwidth") for i in range(split.budget.steps)]  # type: ignore[operator]
    else:
        budgets = list(split.budget.alternatives if isinstance(split.budget, Choice) else (split.budget,))
    if split.solve:
        return len(split.solve) * sum(split.units(budget) >= parts for budget in budgets)
    return sum(compositions(split.units(budget), parts) for budget in budgets if split.units(budget) >= parts)
