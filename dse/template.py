"""A design document with holes in it, parsed once and filled many times.

`parse` turns the mappings that are holes into `Hole` objects and reports every malformed one with its place. `fill`
puts a value into every live hole and remembers where each part of the filled document stands in the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.draw import Draw
from dse.expression import Expression, lookup_in
from dse.hole import KINDS_OF_HOLE, Choice, Expr, Hole, PowersOfTwo, Product, Range, Split, compositions, magnitude
from simcore.problem import Path, Problem, dotted, nearest
from simcore.quantity import KINDS, SI, parse, write


def parse_template(value: Any, path: Path, problems: list[Problem]) -> Any:
    """`value` with its holes as objects; what is malformed is added to `problems`."""
    if isinstance(value, dict):
        kinds = [name for name in KINDS_OF_HOLE if name in value]
        if kinds:
            return _hole(kinds[0], value, path, problems)
        return {key: parse_template(inner, (*path, key), problems) for key, inner in value.items()}
    if isinstance(value, list):
        return [parse_template(inner, (*path, index), problems) for index, inner in enumerate(value)]
    return value


def _hole(kind: str, value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Any:
    for key in value:
        if key not in KINDS_OF_HOLE[kind]:
            known = KINDS_OF_HOLE[kind]
            fix = nearest(str(key), known) or f"known keys: {', '.join(known)}"
            problems.append(Problem((*path, key), f"a key of a {kind} hole", f"'{key}'", fix))
    try:
        return _BUILD[kind](value, path, problems)
    except ValueError as error:
        expected, _, rest = str(error).removeprefix("expected ").partition(", got ")
        found, _, fix = rest.partition("; ")
        problems.append(Problem((*path, kind), expected, found or repr(value[kind]), fix))
        return None


def _choice(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Choice:
    listed = value["choice"]
    if not isinstance(listed, list) or not listed:
        raise ValueError(f"expected a list of at least one alternative, got {listed!r}; add alternatives")
    return Choice(tuple(parse_template(entry, (*path, "choice", i), problems) for i, entry in enumerate(listed)))


def _number(value: Any, what: str) -> float:
    number = magnitude(value)
    if number is None:
        raise ValueError(f"expected {what}, got {value!r}")
    return number


def _range(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Range:
    ends = value["range"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise ValueError(f"expected two ends [least, most], got {ends!r}")
    low, high = (_number(end, "a number or a quantity at each end") for end in ends)
    if low > high:
        raise ValueError(f"expected the least end first, got {ends!r}; swap them")
    step = None if value.get("step") is None else _number(value["step"], "a step")
    log = value.get("log", False)
    if not isinstance(log, bool):
        raise ValueError(f"expected log: true or false, got {log!r}")
    if step is not None and (step <= 0 or log):
        raise ValueError(f"expected a step above 0 and without log, got step {value['step']!r}, log {log}")
    if log and low <= 0:
        raise ValueError(f"expected ends above 0 for log, got {ends!r}")
    kind = _kind(ends[0]) if isinstance(ends[0], str) else None
    whole = all(isinstance(end, int) for end in ends) and isinstance(value.get("step", 1), int)
    return Range(low, high, 1.0 if whole and step is None and not log else step, log, kind, whole)


def _kind(text: str) -> str:
    for kind in KINDS:
        try:
            parse(text, kind)
        except ValueError:
            continue
        return kind
    raise ValueError(f"expected a quantity, got '{text}'")


def _integer(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"expected {what}, got {value!r}")
    return value


def _powers_of_two(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> PowersOfTwo:
    ends = value["powers_of_two"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise ValueError(f"expected two ends [least, most], got {ends!r}")
    low, high = (_integer(end, "powers of two") for end in ends)
    if low > high or low & (low - 1) or high & (high - 1):
        raise ValueError(f"expected two powers of two, the least first, got {ends!r}")
    return PowersOfTwo(low, high)


def _product(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Product:
    total = _integer(value["product"], "a positive number of NPUs")
    of = value.get("of")
    if not isinstance(of, list) or not of or not all(isinstance(name, str) for name in of) or len(set(of)) < len(of):
        raise ValueError(
            f"expected 'of', the list of degrees that multiply to {total}, got {of!r}; e.g. [tensor, data]"
        )
    limits = value.get("limits", {})
    if not isinstance(limits, dict) or any(name not in of for name in limits):
        raise ValueError(f"expected limits like {{{of[0]}: [1, 8]}} for degrees of this product, got {limits!r}")
    pairs = []
    for name in of:
        pair = limits.get(name, [1, total])
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"expected limits [least, most] for {name}, got {pair!r}")
        pairs.append((_integer(pair[0], "a least degree"), _integer(pair[1], "a most degree")))
    hole = Product(total, tuple(of), tuple(pairs))
    if not hole.count:
        raise ValueError(f"expected limits that some factorisation of {total} meets, got {limits!r}; widen them")
    return hole


def _split(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Split:
    if value.get("solve"):
        raise ValueError("expected shares that are searched, got solve: true; this version does not solve splits yet")
    step = value.get("step")
    if not isinstance(step, str):
        raise ValueError(f"expected 'step', the least share, such as '25 GB/s', got {step!r}; add it")
    size = parse(step, "bandwidth")
    if size <= 0:
        raise ValueError(f"expected a step above 0, got '{step}'")
    budget = parse_template(value["split"], (*path, "split"), problems)
    alternatives = budget.alternatives if isinstance(budget, Choice) else (budget,)
    for alternative in alternatives:
        if isinstance(alternative, str):
            parse(alternative, "bandwidth")
        elif not isinstance(alternative, Range):
            raise ValueError(f"expected a bandwidth such as '500 GB/s' to split, got {alternative!r}")
    return Split(budget, size)


def _expr(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Expr:
    text = value["expr"]
    if not isinstance(text, str):
        raise ValueError(f"expected an expression in text, got {text!r}")
    Expression(text).validate()
    return Expr(text)


_BUILD: Any = {
    "choice": _choice,
    "range": _range,
    "powers_of_two": _powers_of_two,
    "product": _product,
    "split": _split,
    "expr": _expr,
}


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


def fill_template(template: Any, draw: Draw) -> Filled:
    """Fill every live hole of a template.

    Raises `ValueError` where an expression names what the document lacks, or a budget is too small to split.
    """
    filled = Filled(None)
    late: list[_Late] = []
    filled.document = _fill(template, (), (), "", draw, filled, late)
    for entry in late:
        value = _resolved(Expression(entry.hole.text), filled.document)
        _put(filled.document, entry.path, value)
        filled.params[dotted(entry.path)] = value
    return filled


def _resolved(expression: Expression, document: Any) -> Any:
    look = lookup_in(document)
    exact = True

    def number(path: Path) -> Any:
        nonlocal exact
        value = look(path)
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
        return None
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
        dimensions = rest.pop("dimensions", [])
        shapes = dimensions.alternatives if isinstance(dimensions, Choice) else (dimensions,)
        ways = sum(template_count(shape) * _split_count(splits[0], shape) for shape in shapes)
        return ways * math.prod(map(template_count, rest.values()))
    if isinstance(template, list):
        return math.prod(map(template_count, template))
    if isinstance(template, Choice):
        return sum(map(template_count, template.alternatives))
    return template.count if isinstance(template, Range | PowersOfTwo | Product) else 1


def _split_count(split: Split, dimensions: Any) -> float:
    parts = sum(isinstance(dimension, dict) and "bandwidth" not in dimension for dimension in dimensions)
    if isinstance(split.budget, Range) and split.budget.step is None:
        return math.inf
    if isinstance(split.budget, Range):
        budgets = [write(split.budget.low + i * split.budget.step, "bandwidth") for i in range(split.budget.steps)]  # type: ignore[operator]
    else:
        budgets = list(split.budget.alternatives if isinstance(split.budget, Choice) else (split.budget,))
    return sum(compositions(split.units(budget), parts) for budget in budgets if split.units(budget) >= parts)


__all__ = ["Filled", "Hole", "fill_template", "label", "parse_template", "template_count"]
