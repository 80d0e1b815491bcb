"""Fills a template: gives each live hole a value and records where each part of the result stands in the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.space.draw import Draw, PlacedDraw
from dse.space.expression import Expression, make_lookup
from dse.space.hole import (
    Choice,
    ExpressionHole,
    PowersOfTwo,
    Product,
    Range,
    SolvedSplit,
    Split,
    compositions,
    magnitude,
)
from dse.space.npus import ProductOfNpus, following_product, npus_of, sizes_of
from simcore.document.problem import Path, Refusal, format_path
from simcore.document.quantity import SI, write_quantity

_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types of what stands in a template as it does in a document: most of it."""
_DRAWN = (Choice, Range, PowersOfTwo)
Keep = Callable[[Path], bool]
"""Whether the hole at a path of the document is left for later."""


@dataclass
class FilledDocument:
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
    keep: Keep | None = None
    """What was held back."""
    cluster: Any = None
    """The cluster of the document, as soon as it is filled."""

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
    hole: ExpressionHole


def fill_template(template: Any, draw: Draw, keep: Keep | None = None) -> FilledDocument:
    """Fill every live hole of a template; what `keep` holds back stays a hole of the document, as do expressions then.

    Splits that are to be solved are equal shares, and listed: `dse.space.split.solve` solves them, as `Space.fill`
    does.

    Raises `ValueError` where an expression names what the document lacks, or a budget is too small to split.
    """
    filled = FilledDocument(None, keep=keep)
    late: list[_Late] = []
    filled.document = _fill(template, (), (), "", draw, filled, late)
    for entry in late if filled.solved else ():
        if any("bandwidth" in path for path in entry.hole.expression.paths):
            refusal = Refusal("an expression without solved bandwidths", f"'{entry.hole.text}'")
            raise FillError.of(refusal, entry.path)
    if keep is not None:
        return filled
    while late:
        waiting = [entry for entry in late if not _settle(entry, filled)]
        if len(waiting) == len(late):
            refusal = Refusal("expressions that end", f"a cycle in '{late[0].hole.text}'")
            raise FillError.of(refusal, late[0].path)
        late = waiting
    return filled


class FillError(Refusal):
    """A hole that cannot be filled: `path` is its place."""

    path: Path = ()

    @classmethod
    def of(cls, refusal: Refusal, path: Path) -> FillError:
        """The refusal of the hole at `path`."""
        error = cls(*refusal.args)
        error.path = path
        return error


class _NotYetError(Exception):
    """An expression needs one that has no value yet."""


def _settle(entry: _Late, filled: FilledDocument) -> bool:
    """Give an expression its value; False where it needs another one first."""
    try:
        value = _resolve_expression(entry.hole.expression, filled.document)
    except _NotYetError:
        return False
    except Refusal as refusal:
        raise FillError.of(refusal, entry.path) from None
    _put(filled.document, entry.path, value)
    filled.params[format_path(entry.path)] = value
    return True


def _resolve_expression(expression: Expression, document: Any) -> Any:
    look = make_lookup(document)
    exact = True

    def number(path: Path) -> Any:
        nonlocal exact
        value = look(path)
        if isinstance(value, ExpressionHole):
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


def _fill(
    template: Any, path: Path, source: Path, name: str, draw: Draw, filled: FilledDocument, late: list[_Late]
) -> Any:
    if isinstance(template, dict):
        return _fill_mapping(template, path, source, name, draw, filled, late)
    if isinstance(template, list):
        return [
            inner
            if type(inner) in _PLAIN
            else _fill(inner, (*path, i), (*source, i), f"{name}[{i}]", draw, filled, late)
            for i, inner in enumerate(template)
        ]
    if filled.keep is not None and isinstance(template, _DRAWN) and filled.keep(path):
        return template
    if isinstance(template, _DRAWN):
        _place(draw, template, (path,))
    if isinstance(template, Choice):
        index = template.fill(draw, name)
        chosen = template.alternatives[index]
        filled.choices[name] = template.count
        filled.origins[path] = (*source, "choice", index)
        filled.params[format_path(path)] = template.labels[index]
        return _fill(chosen, path, (*source, "choice", index), f"{name}={index}", draw, filled, late)
    if isinstance(template, (Range, PowersOfTwo)):
        value = template.fill(draw, name)
        filled.params[format_path(path)] = value
        return value
    if isinstance(template, ExpressionHole):
        late.append(_Late(path, template))
        return template  # until it has its value
    return template


def _fill_mapping(
    template: Mapping[str, Any],
    path: Path,
    source: Path,
    name: str,
    draw: Draw,
    filled: FilledDocument,
    late: list[_Late],
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    items = list(template.items())
    if not path and following_product(template):
        items.sort(key=lambda item: item[0] != "cluster")  # its size is what the degrees multiply to
    for key, inner in items:
        if type(inner) in _PLAIN:
            out[key] = inner
            continue
        below, inside = (*path, key), f"{name}.{key}" if name else str(key)
        if isinstance(inner, ProductOfNpus):
            inner = _product_of_npus(inner, filled, (*source, key))
            inside = inside if draw.smooth else f"{inside}#{inner.total}"  # an index means another one there
        if isinstance(inner, Product):
            _place(draw, inner, tuple((*path, degree) for degree in inner.of))
            for degree, value in inner.fill(draw, inside).items():
                out[degree] = value
                filled.origins[(*path, degree)] = (*source, key)
                filled.params[format_path((*path, degree))] = value
        elif not isinstance(inner, Split):
            out[key] = _fill(inner, below, (*source, key), inside, draw, filled, late)
            if below == ("cluster",):
                filled.cluster = out[key]
    for key, inner in template.items():
        if isinstance(inner, Split):
            below, inside = (*path, key), f"{name}.{key}" if name else str(key)
            split = (*below, "split")
            budget = _fill(inner.budget, split, (*source, key, "split"), f"{inside}.split", draw, filled, late)
            _share(inner, inside, str(budget), out, path, (*source, key), draw, filled)
    return out


def _place(draw: Draw, hole: Any, paths: tuple[Path, ...]) -> None:
    if isinstance(draw, PlacedDraw):
        draw.place(hole, paths)


def _product_of_npus(hole: ProductOfNpus, filled: FilledDocument, source: Path) -> Product:
    try:
        return hole.product_of(npus_of(filled.cluster))
    except Refusal as refusal:
        raise FillError.of(refusal, source) from None


def _share(
    split: Split,
    name: str,
    budget: str,
    cluster: dict[str, Any],
    path: Path,
    source: Path,
    draw: Draw,
    filled: FilledDocument,
) -> None:
    """Give each dimension that has no bandwidth of its own its share of the budget."""
    listed = cluster.get("dimensions")
    open_ones = [i for i, d in enumerate(listed or []) if is_open(d)]
    if not open_ones:
        raise Refusal("'dimensions' without a bandwidth of their own beside the split", "none")
    assert listed is not None
    if split.solve:
        _place(draw, split, ((*path, "bandwidth", "solve"),))
        goal = draw.index(f"{name}.solve", len(split.solve), False) if len(split.solve) > 1 else 0
        if split.units(budget) >= len(open_ones):
            filled.solved.append(split.make_solved(tuple(open_ones), budget, split.solve[goal]))
        if len(split.solve) > 1:
            filled.params[format_path((*path, "bandwidth", "solve"))] = split.solve[goal]
    if not split.solve:
        _place(draw, split, tuple((*path, "dimensions", i, "bandwidth") for i in open_ones))
    solved = filled.solved[-1] if split.solve and filled.solved else None
    shares = split.fill(draw, name, budget, len(open_ones)) if solved is None else solved.start()
    for i, share in zip(open_ones, shares, strict=True):
        listed[i] = {**listed[i], "bandwidth": share}
        at = (*path, "dimensions", i, "bandwidth")
        filled.origins[at] = source
        filled.params[format_path(at)] = share


def has_solved_split(template: Any) -> bool:
    """Whether a split anywhere in a template is to be solved: then bandwidths follow from the rest of a design."""
    if isinstance(template, Split):
        return bool(template.solve)
    if isinstance(template, Choice):
        return any(map(has_solved_split, template.alternatives))
    inside = template.values() if isinstance(template, Mapping) else template if isinstance(template, list) else ()
    return any(map(has_solved_split, inside))


def template_count(template: Any) -> float:
    """Number of ways to fill a template; infinite where a hole is continuous."""
    if (degrees := following_product(template)) is not None:
        parallelism = {key: inner for key, inner in template["parallelism"].items() if key != "degrees"}
        rest = {key: inner for key, inner in template.items() if key != "cluster"} | {"parallelism": parallelism}
        by_npus = npus_count(template.get("cluster"))
        return template_count(rest) * sum(ways * degrees.product_of(npus).count for npus, ways in by_npus.items())
    if isinstance(template, dict):
        splits = [inner for inner in template.values() if isinstance(inner, Split)]
        rest = {key: inner for key, inner in template.items() if not isinstance(inner, Split)}
        if not splits:
            return math.prod(map(template_count, rest.values()))
        shapes = _open_dimensions(rest.pop("dimensions", []))
        ways = sum(count * _split_count(splits[0], parts) for (parts, _), count in shapes.items())
        return ways * math.prod(map(template_count, rest.values()))
    if isinstance(template, list):
        return math.prod(map(template_count, template))
    if isinstance(template, Choice):
        return sum(map(template_count, template.alternatives))
    return template.count if isinstance(template, Range | PowersOfTwo | Product) else 1


def npus_count(cluster: Any) -> dict[int, float]:
    """Number of NPUs -> ways to fill a cluster of so many.

    Raises `ValueError` where the sizes of its network are not plain numbers.
    """
    ways: dict[int, float] = {}
    if isinstance(cluster, Choice):
        for alternative in cluster.alternatives:
            for npus, count in npus_count(alternative).items():
                ways[npus] = ways.get(npus, 0) + count
        return ways
    if not isinstance(cluster, dict):
        raise Refusal("a cluster for 'product: npus'", repr(cluster))
    rest = {key: inner for key, inner in cluster.items() if key not in ("dimensions", "bandwidth", "npus")}
    around = template_count(rest)
    if "fabric" in cluster:
        for npus in sizes_of(cluster.get("npus")):
            ways[npus] = ways.get(npus, 0) + around
        return ways
    split = cluster.get("bandwidth")
    for (parts, npus), count in _open_dimensions(cluster.get("dimensions"), sized=True).items():
        shares = _split_count(split, parts) if isinstance(split, Split) else 1
        ways[npus] = ways.get(npus, 0) + around * count * shares
    return ways


def _open_dimensions(dimensions: Any, sized: bool = False) -> dict[tuple[int, int], float]:
    """(dimensions without a bandwidth, NPUs) -> ways to fill the dimensions so; NPUs count only where `sized`."""
    if isinstance(dimensions, Choice):
        ways: dict[tuple[int, int], float] = {}
        for alternative in dimensions.alternatives:
            for shape, count in _open_dimensions(alternative, sized).items():
                ways[shape] = ways.get(shape, 0) + count
        return ways
    if isinstance(dimensions, list):
        ways = {(0, 1): 1}
        for dimension in dimensions:
            longer: dict[tuple[int, int], float] = {}
            for (parts, npus), count in ways.items():
                for (more, times), inner in _open_dimensions(dimension, sized).items():
                    shape = (parts + more, npus * times)
                    longer[shape] = longer.get(shape, 0) + count * inner
            ways = longer
        return ways
    parts = int(is_open(dimensions))
    if not sized:
        return {(parts, 1): template_count(dimensions)}
    if not isinstance(dimensions, dict):
        raise Refusal("dimensions for 'product: npus'", repr(dimensions))
    around = template_count({key: inner for key, inner in dimensions.items() if key != "size"})
    ways = {}
    for size in sizes_of(dimensions.get("size")):
        ways[(parts, size)] = ways.get((parts, size), 0) + around
    return ways


def is_open(dimension: Any) -> bool:
    """Whether a dimension has no bandwidth of its own, nor NICs that give it one."""
    return isinstance(dimension, dict) and "bandwidth" not in dimension and "nics" not in dimension


def _split_count(split: Split, parts: int) -> float:
    if isinstance(split.budget, Range):
        if split.budget.step is None:
            return math.inf
        low, step = split.budget.low, split.budget.step
        budgets = [write_quantity(low + i * step, "bandwidth") for i in range(split.budget.steps)]
    else:
        budgets = list(split.budget.alternatives if isinstance(split.budget, Choice) else (split.budget,))
    if split.solve:
        return len(split.solve) * sum(split.units(budget) >= parts for budget in budgets)
    return sum(compositions(split.units(budget), parts) for budget in budgets if split.units(budget) >= parts)
