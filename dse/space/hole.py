"""Holes: what may stand in a space where a design has a value. One class a kind; each fills itself from a `Draw`.

`choice` (alternatives, whole subtrees too), `range`, `powers_of_two`, `product` (degrees that multiply to a number),
`split` (shares that add up to a budget). `expr`, a value that follows from others, draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np

from dse.space.draw import Draw
from dse.space.expression import Expression
from dse.space.split.bandwidth import SplitGoal, Vector, even_split
from dse.space.split.limits import ShareLimits, limits_of
from simcore.document.problem import Refusal
from simcore.document.quantity import KINDS, parse_quantity, write_quantity


@dataclass(frozen=True)
class Choice:
    """One of several alternatives, each a template of its own."""

    KEYS: ClassVar[tuple[str, ...]] = ("choice",)
    alternatives: tuple[Any, ...]

    def fill(self, draw: Draw, name: str) -> int:
        """Index of the alternative."""
        return draw.index(name, len(self.alternatives), self.is_ordered)

    @cached_property
    def is_ordered(self) -> bool:
        """Whether the alternatives are numbers or quantities in order."""
        numbers = [magnitude(value) for value in self.alternatives]
        known = [number for number in numbers if number is not None]
        return len(known) == len(numbers) and known == sorted(known)

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """What a table shows for each alternative (`label`)."""
        return tuple(label(alternative, index) for index, alternative in enumerate(self.alternatives))

    @property
    def count(self) -> int:
        """Number of alternatives."""
        return len(self.alternatives)


def label(alternative: Any, index: int) -> Any:
    """What a table shows for an alternative: itself, a topology's notation, or its number."""
    if isinstance(alternative, list) and alternative and all(isinstance(entry, str) for entry in alternative):
        return ", ".join(alternative)
    if isinstance(alternative, list) and alternative and all(isinstance(entry, int) for entry in alternative):
        return "/".join(map(str, alternative))
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


def magnitude(value: Any) -> float | None:
    """The SI number of a number or a quantity in text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        for kind in KINDS:
            try:
                return parse_quantity(value, kind)
            except ValueError:
                continue
    return None


def alternatives_of(value: Any) -> tuple[Any, ...]:
    """What a value of a template may be: the alternatives of a choice, else itself."""
    return value.alternatives if isinstance(value, Choice) else (value,)


@dataclass(frozen=True)
class Range:
    """A number between two, in steps or continuous; `unit` where the ends are quantities."""

    KEYS: ClassVar[tuple[str, ...]] = ("range", "step", "log")
    low: float
    high: float
    step: float | None
    log: bool
    kind: str | None
    whole: bool

    def fill(self, draw: Draw, name: str) -> Any:
        """The value."""
        if self.step is not None:
            return self._write_value(min(self.low + self.step * draw.index(name, self.steps, True), self.high))
        return self._write_value(draw.real(name, self.low, self.high, self.log))

    @property
    def steps(self) -> int:
        """Number of values in steps."""
        assert self.step is not None
        return int((self.high - self.low) / self.step + 1e-9) + 1

    @property
    def count(self) -> float:
        """Number of values; infinite where it is continuous."""
        return self.steps if self.step is not None else math.inf

    def _write_value(self, value: float) -> Any:
        if self.kind is not None:
            return write_quantity(value, self.kind)
        return round(value) if self.whole else value


@dataclass(frozen=True)
class PowersOfTwo:
    """A power of two between two."""

    KEYS: ClassVar[tuple[str, ...]] = ("powers_of_two",)
    low: int
    high: int

    @property
    def count(self) -> int:
        """Number of values."""
        return self.high.bit_length() - self.low.bit_length() + 1

    def fill(self, draw: Draw, name: str) -> int:
        """The value."""
        return self.low << draw.index(name, self.count, True)


@dataclass(frozen=True)
class Product:
    """Degrees that multiply to `total`: every factorisation within `limits` (least and most per degree)."""

    KEYS: ClassVar[tuple[str, ...]] = ("product", "of", "limits")
    total: int
    of: tuple[str, ...]
    limits: tuple[tuple[int, int], ...]

    @cached_property
    def factorisations(self) -> tuple[tuple[int, ...], ...]:
        """All of them, in order."""
        return tuple(_factorisations(self.total, self.limits))

    @cached_property
    def _logs(self) -> Any:
        return np.log(np.array(self.factorisations, float))

    @property
    def count(self) -> int:
        """Number of factorisations."""
        return len(self.factorisations)

    def fill(self, draw: Draw, name: str) -> dict[str, int]:
        """The degrees by name."""
        if draw.smooth:
            weights = np.array([draw.real(f"{name}.{key}", 0.0, 1.0, False) for key in self.of])
            aim = math.log(self.total) * weights / (weights.sum() or 1.0)
            chosen = int(np.argmin(((self._logs - aim) ** 2).sum(axis=1)))
        else:
            chosen = draw.index(name, self.count, False)
        return dict(zip(self.of, self.factorisations[chosen], strict=True))


def _factorisations(total: int, limits: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, ...]]:
    low, high = limits[0]
    if len(limits) == 1:
        if low <= total <= high:
            yield (total,)
        return
    for factor in divisors(total):
        if low <= factor <= high:
            for rest in _factorisations(total // factor, limits[1:]):
                yield (factor, *rest)


def divisors(number: int) -> list[int]:
    """The divisors of a number, in order."""
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


@dataclass(frozen=True)
class Split:
    """Shares of a budget in whole steps, at least one step each."""

    KEYS: ClassVar[tuple[str, ...]] = ("split", "step", "solve", "lower", "upper")
    budget: Any
    step: float
    """[B/s]."""
    solve: tuple[SplitGoal, ...] = ()
    """What the shares are solved for (`dse.space.split.solve`) instead of drawn, one of several.

    `step` then is the least share.
    """
    lower: ShareLimits = ()
    upper: ShareLimits = ()
    """Least and most of each dimension, where shares are solved."""

    def fill(self, draw: Draw, name: str, budget: str, parts: int) -> list[str]:
        """The shares of `parts` parts, drawn.

        Raises `ValueError` where the budget is less than a step for each part.
        """
        units = self.units(budget)
        if units < parts:
            raise Refusal(f"a budget of at least {parts} steps of {write_quantity(self.step, 'bandwidth')}", budget)
        if parts == 1:
            return [write_quantity(units * self.step, "bandwidth")]
        if draw.smooth:
            weights = [draw.real(f"{name}#{parts}.{i}", 0.0, 1.0, False) for i in range(parts)]
            shares = apportion(units, weights)
        else:
            shares = composition(units, parts, draw.index(f"{name}#{units}/{parts}", compositions(units, parts), False))
        return [write_quantity(share * self.step, "bandwidth") for share in shares]

    def make_solved(self, dimensions: tuple[int, ...], budget: str, goal: SplitGoal) -> SolvedSplit:
        """The shares of some dimensions that are to be solved.

        Raises `ValueError` where no shares meet the limits.
        """
        total = parse_quantity(budget, "bandwidth")
        lower = [max(self.step, least) for least in limits_of("lower", self.lower, dimensions, total, 0.0)]
        upper = limits_of("upper", self.upper, dimensions, total, total)
        for dimension, least, most in zip(dimensions, lower, upper, strict=True):
            if least > most:
                what = f"an upper limit of dimension {dimension} of at least {write_quantity(least, 'bandwidth')}"
                raise Refusal(what, write_quantity(most, "bandwidth"))
        for said, limit, wrong in (("lower", lower, sum(lower) > total), ("upper", upper, sum(upper) < total)):
            if wrong and not math.isclose(sum(limit), total, rel_tol=1e-9):
                found = f"{budget} for limits of {write_quantity(sum(limit), 'bandwidth')}"
                word = "least the sum of the lower" if said == "lower" else "most the sum of the upper"
                raise Refusal(f"a budget of at {word} limits", found)
        return SolvedSplit(dimensions, budget, self.step, goal, tuple(lower), tuple(upper))

    def units(self, budget: str) -> int:
        """Whole steps in a budget."""
        return int(parse_quantity(budget, "bandwidth") / self.step + 1e-9)


def splits_bandwidth(cluster: Any) -> bool:
    """Whether the template of a cluster, or of one of several, shares a budget of bandwidth."""
    if isinstance(cluster, Choice):
        return any(map(splits_bandwidth, cluster.alternatives))
    return isinstance(cluster, Mapping) and isinstance(cluster.get("bandwidth"), Split)


def is_share(name: str) -> bool:
    """Whether a split draws its shares under a name."""
    return "/" in name.rpartition("#")[2]


def split_size(name: str) -> tuple[int, int]:
    """Units and parts of a split, from the name that it draws under."""
    units, _, parts = name.rpartition("#")[2].partition("/")
    return int(units), int(parts)


@dataclass(frozen=True)
class SolvedSplit:
    """A split whose shares follow from the rest of a document (`dse.space.split.solve`)."""

    dimensions: tuple[int, ...]
    budget: str
    least: float
    """Least share [B/s]."""
    goal: SplitGoal
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    """Least and most of each dimension [B/s]; empty: `least`, and no most."""

    @property
    def limits(self) -> tuple[Vector, Vector]:
        """Least and most of each dimension [B/s], `[dims]`."""
        count = len(self.dimensions)
        lower = np.array(self.lower or (self.least,) * count)
        return np.maximum(lower, self.least), np.array(self.upper or (math.inf,) * count)

    def start(self) -> list[str]:
        """Shares as equal as the limits let them be, until the rest of the document is known."""
        lower, upper = self.limits
        shares = even_split(parse_quantity(self.budget, "bandwidth"), lower, upper)
        return [write_quantity(float(share), "bandwidth") for share in shares]


def compositions(units: int, parts: int) -> int:
    """Number of ways to write `units` as an ordered sum of `parts` positive integers: C(units - 1, parts - 1)."""
    return math.comb(units - 1, parts - 1)


def composition(units: int, parts: int, index: int) -> list[int]:
    """The index-th composition of `units` into `parts` positive integers, in lexicographic order."""
    shares = []
    for left in range(parts - 1, 0, -1):
        share = 1
        while index >= (below := compositions(units - share, left)):
            index -= below
            share += 1
        shares.append(share)
        units -= share
    return [*shares, units]


def composition_index(shares: Sequence[int]) -> int:
    """The index of a composition: `composition` the other way round."""
    units, index = sum(shares), 0
    for left, share in zip(range(len(shares) - 1, 0, -1), shares, strict=False):
        index += sum(compositions(units - less, left) for less in range(1, share))
        units -= share
    return index


def apportion(units: int, weights: list[float]) -> list[int]:
    """`units` in proportion to `weights`, at least 1 each, by largest remainder (ties: first)."""
    free = units - len(weights)
    if not sum(weights):
        weights = [1.0] * len(weights)
    total = sum(weights)
    exact = [free * weight / total for weight in weights]
    shares = [int(share) for share in exact]
    order = sorted(range(len(weights)), key=lambda i: (shares[i] - exact[i], i))
    for i in order[: free - sum(shares)]:
        shares[i] += 1
    return [share + 1 for share in shares]


@dataclass(frozen=True)
class ExpressionHole:
    """A value that follows from others."""

    KEYS: ClassVar[tuple[str, ...]] = ("expr",)
    text: str

    @cached_property
    def expression(self) -> Expression:
        """The text, parsed once for all designs."""
        return Expression(self.text)


Hole = Choice | Range | PowersOfTwo | Product | Split | ExpressionHole
KINDS_OF_HOLE: dict[str, tuple[str, ...]] = {kind.KEYS[0]: kind.KEYS for kind in get_args(Hole)}
