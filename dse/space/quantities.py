"""Quantities with units in expressions: `cost.total <= 30 M$`, `memory.peak <= 70 GiB`, `300e9 / throughput <= 30 d`.

A number with a unit is read as one SI number, and its unit is held against that of what it is added to or compared
with. In an expression with units a number without one fits beside anything, and is a pure number in a product: in `npus
* 20 k$` the price needs its unit. Expressions without any unit are SI numbers throughout, and are not looked at. Tokens
and samples are pure numbers: those of a second (`1e6 tokens/s`), and what one of them takes, are read as plain numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from simcore.document.problem import Refusal, suggest_nearest
from simcore.document.quantity import KINDS, Kind, parse_quantity
from simcore.metrics import METRICS

_UNITS = {unit: kind for kind in reversed(KINDS.values()) for unit in kind.units}
"""Unit -> its kind; the first one where several have it (a time before a duration)."""
_SI = {
    "size": "B",
    "bandwidth": "B/s",
    "time": "s",
    "duration": "s",
    "compute": "FLOP/s",
    "work": "FLOP",
    "frequency": "1/s",
    "length": "m",
    "power": "J/s",
    "energy": "J",
    "money": "$",
    "bandwidth price": "$.s/B",
    "capacity price": "$/B",
    "energy price": "$/J",
    "power price": "$.s/J",
}
_READ_IN = {"s": ("d", "h", "s"), "W": ("MW", "kW", "W"), "J": ("GJ", "MJ", "kJ", "J"), "$": ("M$", "k$", "$")}
"""Unit of a metric -> the units that people read it in, the largest first."""
_QUOTED = r"'[^']*'|\"[^\"]*\""
_NUMBER = r"(?<![\w.])(?>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)"
_WRITTEN = re.compile(
    f"{_QUOTED}|({_NUMBER})\\s*({'|'.join(map(re.escape, sorted(_UNITS, key=len, reverse=True)))})(?![\\w$(]|\\s*\\()"
)
_WORD = r"(?!(?:and|or|not|in|is|if|else)\b)[A-Za-zµμ$][\w$/]*|%(?=\s*(?:$|\)|and\b|or\b))"
_WITH_WORD = re.compile(rf"{_QUOTED}|({_NUMBER})\s*({_WORD})")
_WORDS = {
    "%": (0.01, ""), "second": (1, "s"), "minute": (60, "s"), "hour": (1, "h"), "day": (1, "d"), "week": (7, "d"),
    "month": (30, "d"), "year": (365, "d"),
}  # fmt: skip
"""What is written for a share or a time -> by which factor, and in which unit, it is read."""
_PER = {"s": 1, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
_RATE = re.compile(rf"{_QUOTED}|({_NUMBER})\s*(?:tokens?|samples?)/({'|'.join(_PER)})(?![\w$/])")
_EACH = re.compile(rf"{_QUOTED}|({_NUMBER})\s*([kMG]?J|[kM]?\$)/(Mtokens?|tokens?|samples?)(?![\w$/])")
_STAND_IN = "quantity__"

Dimension = dict[str, int]
"""Unit of measurement -> its power: `{"B": 1, "s": -1}`; empty for a pure number."""


NameOf = Callable[[ast.AST], str | None]


class Quantity(float):
    """A number in SI that was written with a unit."""

    text: str
    unit: str
    kind: Kind

    def __new__(cls, text: str, unit: str) -> Quantity:
        """The quantity of `text`, whose unit is `unit`. Raises `ValueError` where a float cannot hold it."""
        made = super().__new__(cls, parse_quantity(text, _UNITS[unit].name))
        made.text, made.unit, made.kind = text, unit, _UNITS[unit]
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # those of this class, not of float
        return self.text, self.unit

    def __repr__(self) -> str:
        return self.text


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression, its quantities as constants.

    Raises `ValueError` for an unknown unit, and what `ast.parse` raises.
    """
    found: list[Quantity] = []
    text = _EACH.sub(_of_one_token, _RATE.sub(_of_one_second, text))

    def stand_in(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        found.append(Quantity(match[0], match[2]))
        return f" {_STAND_IN}{len(found) - 1} "

    standing = _WRITTEN.sub(stand_in, text.strip()).strip()
    for match in _WITH_WORD.finditer(standing):
        if match[1] is not None:
            hint = _in_known_unit(match[1], match[2]) or _suggest_unit(match[2], standing)
            raise Refusal("a number, or one with a known unit", f"'{match[0]}'", hint)
    tree = ast.parse(standing, mode="eval").body
    return tree if not found else _Put(found).visit(tree)


def _of_one_second(match: re.Match[str]) -> str:
    """So many tokens or samples a second, which are pure numbers, as a metric counts them."""
    return match[0] if match[1] is None else f" {float(match[1]) / _PER[match[2]]!r} "


def _of_one_token(match: re.Match[str]) -> str:
    """What one token takes or costs, or one of a million, as a metric counts it."""
    if match[1] is None:
        return match[0]
    value = float(Quantity(f"{match[1]} {match[2]}", match[2]))
    return f" {value / (1e6 if match[3].startswith('M') else 1)!r} "


def _in_known_unit(number: str, word: str) -> str:
    """What was meant by a share in percent, or a time in a word of English; empty for other units."""
    known = _WORDS.get(word.lower().removesuffix("s"))
    if known is None:
        return ""
    factor, unit = known
    return f"write '{float(number) * factor:.12g}{f' {unit}' if unit else ''}'"


def _suggest_unit(unit: str, text: str) -> str:
    """The unit that was meant in an expression: after a prefix alone that of the first metric in it, such as M$."""
    metrics = (METRICS[name].unit for name in re.findall(r"[a-z_][\w.]*", text) if name in METRICS)
    whole = unit + next(metrics, "")
    if whole in _UNITS:
        return f"did you mean '{whole}'?"
    same = [known for known in _UNITS if known.lower() == unit.lower()]
    alike = [known for known in _UNITS if ("/" in known) == ("/" in unit)]
    hint = f"did you mean '{same[0]}'?" if same else suggest_nearest(unit, alike)
    return hint or "e.g. 30 M$, 2 MW, 20 s, 70 GiB, 100 GB/s, 1e6 tokens/s"


class _Put(ast.NodeTransformer):
    """Puts quantities back where their stand-ins are."""

    def __init__(self, found: list[Quantity]) -> None:
        self._found = found

    def visit_Name(self, node: ast.Name) -> ast.expr:  # the name that `ast` looks for
        """A stand-in is a constant; other names stay."""
        number = node.id.removeprefix(_STAND_IN)
        if number == node.id or not number.isdecimal() or int(number) >= len(self._found):
            return node
        return ast.copy_location(ast.Constant(self._found[int(number)]), node)


def unit_conflicts(tree: ast.expr, name_of: NameOf) -> Iterator[Refusal]:
    """Where units do not go together; `name_of` gives the dotted name that a node is."""
    if not any(isinstance(node, ast.Constant) and isinstance(node.value, Quantity) for node in ast.walk(tree)):
        return
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Call):
            sides = node.args
        known = [(side, found) for side in sides if (found := _dimension(side, name_of)) is not None]
        for side, found in known[1:]:
            if found != known[0][1]:
                yield _describe_conflict(*known[0], side, found)


def _describe_conflict(one: ast.expr, first: Dimension, other: ast.expr, second: Dimension) -> Refusal:
    written = one if isinstance(one, ast.Constant) else other
    wanted = second if written is one else first
    example = next((kind.example for kind in KINDS.values() if unit_dimension(_SI[kind.name]) == wanted), "")
    fix = (
        f"e.g. {example} in place of '{ast.unparse(written)}'" if isinstance(written, ast.Constant) and example else ""
    )
    what = f"'{ast.unparse(one)}' and '{ast.unparse(other)}' in units of one kind"
    return Refusal(what, f"{_format_dimension(first)} and {_format_dimension(second)}", fix)


def _format_dimension(dimension: Dimension) -> str:
    if dimension == {"J": 1, "s": -1}:
        return "W"
    over = ".".join(unit for unit, power in dimension.items() for _ in range(power))
    under = "".join(f"/{unit}" for unit, power in dimension.items() for _ in range(-power))
    return f"{over or '1'}{under}" if dimension else "a pure number"


def unit_dimension(unit: str) -> Dimension:
    """The dimension of an SI unit such as `B/s`, `$.s/B`, `tokens/s/$`; tokens and samples are pure numbers."""
    found: Dimension = {}
    over, *under = unit.replace("W", "J/s").split("/")
    for part, power in [*((part, 1) for part in over.split(".")), *((part, -1) for part in under)]:
        if part in ("B", "s", "J", "$", "FLOP", "m"):
            found[part] = found.get(part, 0) + power
    return {part: power for part, power in found.items() if power}


def _dimension(node: ast.expr, name_of: NameOf) -> Dimension | None:
    """The dimension of a part of an expression; None where it is not known, or fits beside anything."""
    name = name_of(node)
    if name is not None:
        return unit_dimension(METRICS[name].unit) if name in METRICS else None
    match node:
        case ast.Constant(value=Quantity() as value):
            return unit_dimension(_SI[value.kind.name])
        case ast.UnaryOp(operand=operand):
            return _dimension(operand, name_of)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.FloorDiv() as op, right=right):
            return _product(left, right, 1 if isinstance(op, ast.Mult) else -1, name_of)
        case ast.BinOp(left=left, right=right):
            return _dimension(left, name_of) or _dimension(right, name_of)
        case ast.Call(args=args):
            return next((found for arg in args if (found := _dimension(arg, name_of)) is not None), None)
        case _:
            return None


def _product(left: ast.expr, right: ast.expr, sign: int, name_of: NameOf) -> Dimension | None:
    sides = [{} if _is_pure(side) else _dimension(side, name_of) for side in (left, right)]
    one, other = sides
    if one is None or other is None or (_is_pure(left) and _is_pure(right)):
        return None
    powers = {unit: one.get(unit, 0) + sign * other.get(unit, 0) for unit in (*one, *other)}
    return {unit: power for unit, power in powers.items() if power}


def _is_pure(node: ast.expr) -> bool:
    """Whether a part is made of numbers without units alone."""
    return all(isinstance(part, ast.Constant) and not isinstance(part.value, Quantity) for part in _leaves(node))


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from _leaves(left)
            yield from _leaves(right)
        case ast.UnaryOp(operand=operand):
            yield from _leaves(operand)
        case _:
            yield node


def describe_quantity(value: float, unit: str) -> str:
    """An SI number of a metric in the unit in which it reads well, as an expression may have it: `817.2 d`."""
    for larger in _READ_IN.get(unit, ()):
        if abs(value) >= (size := parse_quantity(f"1 {larger}", _UNITS[larger].name)):
            return f"{value / size:.6g} {larger}"
    return f"{value:.6g} {unit}".rstrip()
