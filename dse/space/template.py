"""A design document with holes in it: the mappings that are holes become `Hole` objects.

Every malformed hole is reported with its place. `dse.space.fill` fills a template.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dse.space.expression import Expression
from dse.space.hole import KINDS_OF_HOLE, Choice, ExpressionHole, PowersOfTwo, Product, Range, Split
from dse.space.npus import NPUS, ProductOfNpus
from dse.space.split.limits import ShareLimit, ShareLimits
from simcore.document.field import MOST, MOST_NPUS
from simcore.document.form import format_value
from simcore.document.problem import Path, Problem, Refusal, suggest_nearest
from simcore.document.quantity import KINDS, parse_quantity, write_quantity

_DEGREES = ("tensor", "context", "pipeline", "data")
"""Degrees that multiply to the NPUs."""


def parse_template(value: Any, path: Path, problems: list[Problem]) -> Any:
    """`value` with its holes as objects; what is malformed is added to `problems`."""
    if isinstance(value, dict):
        kinds = [name for name in KINDS_OF_HOLE if name in value]
        if kinds:
            return _parse_hole(kinds[0], value, path, problems)
        found = {key: parse_template(inner, (*path, key), problems) for key, inner in value.items()}
        problems += [*_doubled_degrees(found, path), *_degrees_left_out(found, path)]
        return found
    if isinstance(value, list):
        return [parse_template(inner, (*path, index), problems) for index, inner in enumerate(value)]
    return value


def _doubled_degrees(section: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """Degrees that a section gives, and that a product beside them gives once more."""
    for key, hole in section.items():
        for degree in hole.of if isinstance(hole, Product | ProductOfNpus) else ():
            if degree in section:
                where = ".".join(map(str, (*path, key)))
                value = section[degree]
                fix = f"write limits: {{{degree}: [{value}, {value}]}} there" if isinstance(value, int) else "drop one"
                yield Problem((*path, degree), f"it from {where} alone", "one of its own as well", fix)


def _degrees_left_out(section: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """Degrees above 1 beside a product that multiplies to all NPUs without them: no number of NPUs has both."""
    for hole in (hole for hole in section.values() if isinstance(hole, ProductOfNpus)):
        for degree in _DEGREES:
            value = section.get(degree)
            if degree not in hole.of and isinstance(value, int) and value > 1:
                fix = f"add {degree} to its 'of', with limits: {{{degree}: [{value}, {value}]}}"
                yield Problem((*path, degree), "it in the product, which is of all NPUs", "it beside the product", fix)


def _parse_hole(kind: str, value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Any:
    for key in value:
        if key not in KINDS_OF_HOLE[kind]:
            known = KINDS_OF_HOLE[kind]
            fix = suggest_nearest(str(key), known) or f"known keys: {', '.join(known)}"
            problems.append(Problem((*path, key), f"a key of a {kind} hole", f"'{key}'", fix))
    try:
        return _BUILD[kind](value, path, problems)
    except Refusal as refusal:
        problems.append(refusal.at((*path, kind)))
        return None


def _parse_choice(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Choice:
    listed = value["choice"]
    if not isinstance(listed, list) or not listed:
        raise Refusal("a list of at least one alternative", repr(listed), "add alternatives")
    return Choice(tuple(parse_template(entry, (*path, "choice", i), problems) for i, entry in enumerate(listed)))


def _parse_end(value: Any, kind: str | None, what: str) -> float:
    """An end or a step of a range: a finite number, or a quantity of `kind`."""
    if kind is not None:
        if not isinstance(value, str):
            raise Refusal(f"a {kind} with its unit, as the other end has", repr(value))
        try:
            return parse_quantity(value, kind)
        except ValueError:
            raise Refusal(f"ends and step of one kind, here a {kind}", f"'{value}'") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refusal(what, repr(value))
    if not math.isfinite(value):
        raise Refusal("a finite number", repr(value))
    return float(value)


def _parse_range(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Range:
    ends = value["range"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise Refusal("two ends [least, most]", repr(ends))
    kind = next((_kind(end) for end in ends if isinstance(end, str)), None)
    low, high = (_parse_end(end, kind, "a number or a quantity at each end") for end in ends)
    if low > high:
        raise Refusal("the least end first", repr(ends), "swap them")
    step = None if value.get("step") is None else _parse_end(value["step"], kind, "a step that is a number")
    log = value.get("log", False)
    if not isinstance(log, bool):
        raise Refusal("log: true or false", repr(log))
    if step is not None and (step <= 0 or log):
        raise Refusal("a step above 0 and without log", f"step {value['step']!r}, log {log}")
    if log and low <= 0:
        raise Refusal("ends above 0 for log", repr(ends))
    whole = all(isinstance(end, int) for end in ends) and isinstance(value.get("step", 1), int)
    return Range(low, high, 1.0 if whole and step is None and not log else step, log, kind, whole)


def _kind(text: str) -> str:
    for kind in KINDS:
        try:
            parse_quantity(text, kind)
        except ValueError:
            continue
        return kind
    raise Refusal("a number or a quantity at each end", f"'{text}'")


def _parse_integer(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST:
        raise Refusal(f"{what}, a whole number from 1 to {MOST:,}", format_value(value))
    return value


def _parse_powers_of_two(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> PowersOfTwo:
    ends = value["powers_of_two"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise Refusal("two ends [least, most]", repr(ends))
    low, high = (_parse_integer(end, "powers of two") for end in ends)
    if low > high or low & (low - 1) or high & (high - 1):
        raise Refusal("two powers of two, the least first", repr(ends))
    return PowersOfTwo(low, high)


def _parse_product(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Product | ProductOfNpus:
    follows = value["product"] == NPUS
    if follows and path != ("parallelism", "degrees") and path[2:] != ("parallelism", "degrees"):
        raise Refusal("'product: npus' as the whole of parallelism.degrees", "it elsewhere")
    total = MOST_NPUS if follows else _parse_integer(value["product"], "a positive number of NPUs, or npus")
    if total > MOST_NPUS:
        raise Refusal(f"at most {MOST_NPUS:,} NPUs", f"{total:,}")
    of = value.get("of")
    if not isinstance(of, list) or not of or not all(isinstance(name, str) for name in of) or len(set(of)) < len(of):
        raise Refusal(f"'of', the list of degrees that multiply to {total}", repr(of), "e.g. [tensor, data]")
    if path[-2:] == ("parallelism", "degrees") and (others := [name for name in of if name not in _DEGREES]):
        fix = suggest_nearest(others[0], _DEGREES) or "give it a hole of its own beside 'degrees'"
        if others[0] == "expert":
            fix += ": experts are spread over data x context (and tensor), so they multiply nothing"
        raise Refusal(f"degrees that multiply to the NPUs: {', '.join(_DEGREES)}", f"'{others[0]}'", fix)
    limits = value.get("limits", {})
    if not isinstance(limits, dict) or any(name not in of for name in limits):
        raise Refusal(f"limits like {{{of[0]}: [1, 8]}} for degrees of this product", repr(limits))
    pairs = []
    for name in of:
        pair = limits.get(name, [1, total])
        if not isinstance(pair, list) or len(pair) != 2:
            raise Refusal(f"limits [least, most] for {name}", repr(pair))
        pairs.append((_parse_integer(pair[0], "a least degree"), _parse_integer(pair[1], "a most degree")))
    if follows:
        return ProductOfNpus(tuple(of), tuple(pairs))
    hole = Product(total, tuple(of), tuple(pairs))
    if not hole.count:
        raise Refusal(f"limits that some factorisation of {total} meets", repr(limits), "widen them")
    return hole


def _parse_split(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Split:
    solve = value.get("solve", False)
    if not isinstance(solve, bool):
        raise Refusal("solve: true or false", repr(solve))
    step = value.get("step")
    if not isinstance(step, str):
        raise Refusal("'step', the least share, such as '25 GB/s'", repr(step), "add it")
    size = parse_quantity(step, "bandwidth")
    if size <= 0:
        raise Refusal("a step above 0", f"'{step}'")
    budget = parse_template(value["split"], (*path, "split"), problems)
    alternatives = budget.alternatives if isinstance(budget, Choice) else (budget,)
    empty = [each for each in alternatives if isinstance(each, str) and parse_quantity(each, "bandwidth") < size]
    if empty:
        listed = ", ".join(f"'{each}'" for each in empty)
        raise Refusal(f"budgets of at least the step of {step}", listed)
    for alternative in alternatives:
        if isinstance(alternative, str):
            continue
        if not isinstance(alternative, Range) or alternative.kind != "bandwidth":
            found = alternative
            if isinstance(alternative, Range) and alternative.kind is not None:
                found = f"a {alternative.kind} ({write_quantity(alternative.low, alternative.kind)})"
            raise Refusal("a bandwidth such as '500 GB/s' to split", str(found))
    lower, upper = (_parse_limits(key, value.get(key)) for key in ("lower", "upper"))
    if (lower or upper) and not solve:
        raise Refusal("'lower' and 'upper' with solve: true", "them without", "add it, or raise 'step'")
    return Split(budget, size, ("time",) if solve else (), lower, upper)


def _parse_limits(key: str, value: Any) -> ShareLimits:
    """Limits of shares: one for all dimensions, a list in the order of the network's, or a mapping by their number."""
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple((index, _parse_limit(key, entry)) for index, entry in enumerate(value) if entry is not None)
    if not isinstance(value, dict):
        return ((None, _parse_limit(key, value)),)
    for dimension in value:
        if not str(dimension).isdecimal():
            raise Refusal(f"'{key}' by the number of a dimension, such as {{0: '50 GB/s'}}", repr(dimension))
    return tuple((int(dimension), _parse_limit(key, entry)) for dimension, entry in value.items())


def _parse_limit(key: str, value: Any) -> ShareLimit:
    if isinstance(value, str):
        limit = ShareLimit(parse_quantity(value, "bandwidth"), share=False)
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        limit = ShareLimit(float(value), share=True)
    else:
        raise Refusal(f"'{key}' as a bandwidth such as '50 GB/s', or a share from 0 to 1", repr(value))
    if limit.value < 0:
        raise Refusal(f"'{key}' of at least 0", f"'{value}'")
    return limit


def _parse_expr_hole(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> ExpressionHole:
    text = value["expr"]
    if not isinstance(text, str):
        raise Refusal("an expression in text", repr(text))
    Expression(text).validate()
    return ExpressionHole(text)


_BUILD: Any = {
    "choice": _parse_choice,
    "range": _parse_range,
    "powers_of_two": _parse_powers_of_two,
    "product": _parse_product,
    "split": _parse_split,
    "expr": _parse_expr_hole,
}
