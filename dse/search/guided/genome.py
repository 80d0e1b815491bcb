"""A filled space as genes, and the designs one small move away from it.

A gene is what a live hole drew, by the name it draws under; filling the same genes again gives the same design. Moves
change one hole by one step: a number to its neighbour, a name to any other, a prime factor from one degree to another,
a unit of bandwidth from one dimension to another. Linked moves change two or three holes of one half of a design (its
job, or its network) at once. Where a move opens a branch of the space, the holes of that branch take what the design
had at the same paths, as near as they can, and are drawn anew where it had nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from dse.evaluate.recall import indices_of
from dse.space.draw import PlacedDraw, random_below
from dse.space.hole import (
    Choice,
    Product,
    Split,
    apportion,
    composition,
    composition_index,
    compositions,
    divisors,
    is_share,
    split_size,
)
from dse.space.npus import ProductOfNpus
from dse.space.sections import JOB_SECTIONS
from simcore.document.problem import Path, format_path

MOST_ALTERNATIVES = 16
"""Most unordered alternatives of a hole that are drawn for its moves."""
JOBS_SHARE, TRIPLES_SHARE = 2 / 3, 1 / 3
"""Shares of linked moves: those in the job of a design, and those of three holes."""


@dataclass(frozen=True, slots=True)
class Gene:
    """What one hole drew: an index of `[0, high]` (`step` of an ordered hole, `name` of another), or a real number."""

    kind: Literal["step", "name", "real"]
    value: float
    low: float
    high: float
    log: bool = False
    paths: tuple[Path, ...] = ()
    """Where its values stand in the document."""

    @property
    def is_of_job(self) -> bool:
        """Whether it belongs to the job of a design, not to its network."""
        return bool(self.paths) and self.paths[0][0] in JOB_SECTIONS


Genes = dict[str, Gene]


def job_of(genes: Genes) -> Genes:
    """The genes of a design's job."""
    return {name: gene for name, gene in genes.items() if gene.is_of_job}


def network_of(genes: Genes) -> Genes:
    """The genes of all else."""
    return {name: gene for name, gene in genes.items() if not gene.is_of_job}


def values_of_genes(genes: Genes) -> dict[str, float]:
    """What each gene drew, by name."""
    return {name: gene.value for name, gene in genes.items()}


@dataclass
class GeneDraw(PlacedDraw):
    """Fills a space from `given` values of genes, near `like` or at random where they say nothing.

    `like` are parameters of a design, path -> value; `genes` are those used.
    """

    generator: np.random.Generator
    given: Mapping[str, float] = field(default_factory=dict)
    like: Mapping[str, Any] = field(default_factory=dict)
    genes: Genes = field(default_factory=dict)
    smooth: ClassVar[bool] = False
    _hole: Any = None
    _paths: tuple[Path, ...] = ()

    def place(self, hole: Any, paths: tuple[Path, ...]) -> None:
        """See `PlacedDraw.place`."""
        self._hole, self._paths = hole, paths

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        if count == 1:
            return 0
        known = self.given.get(name)
        value = self._draw_near(name, count) if known is None else min(int(known), count - 1)
        self.genes[name] = Gene("step" if ordered else "name", value, 0, count - 1, paths=self._paths)
        return value

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        known = self.given.get(name)
        if known is not None:
            value = min(max(known, low), high)
        else:
            share = float(self.generator.random())
            value = math.exp(math.log(low) + share * math.log(high / low)) if log else low + share * (high - low)
            value = min(max(value, low), high)
        self.genes[name] = Gene("real", value, low, high, log, self._paths)
        return value

    def _draw_near(self, name: str, count: int) -> int:
        """An index near `like`, else a random one; of a split given for another budget, the same shares of this one."""
        hole = name.partition("#")[0]
        for other, index in self.given.items() if is_share(name) else ():
            if other.startswith(f"{hole}#") and split_size(other)[1] == split_size(name)[1]:
                shares = composition(*split_size(other), int(index))
                return composition_index(apportion(split_size(name)[0], [float(share) for share in shares]))
        before = [self.like.get(format_path(path)) for path in self._paths]
        if None in before or not before or (isinstance(self._hole, Split) and not self._hole.solve):
            return random_below(self.generator, count)
        near = _nearest(self._hole, before) if isinstance(self._hole, Product) else indices_of(self._hole, before)
        return near[int(self.generator.integers(len(near)))] if near else random_below(self.generator, count)


def _nearest(hole: Product, degrees: Sequence[Any]) -> list[int]:
    """The factorisations nearest to other degrees, by the squares of their ratios' logarithms."""
    ratios = np.log(np.array(hole.factorisations, float) / np.array(degrees, float))
    far = np.round((ratios**2).sum(axis=1), 9)
    return [int(index) for index in np.flatnonzero(far == far.min())]


Products = Mapping[str, Product | ProductOfNpus]


def composite_holes(template: Any, name: str = "") -> dict[str, Product | ProductOfNpus]:
    """The `product` holes of a template, by the names they draw under (see `dse.space.fill`)."""
    found: dict[str, Product | ProductOfNpus] = {}
    if isinstance(template, dict):
        for key, inner in template.items():
            inside = f"{name}.{key}" if name else str(key)
            if isinstance(inner, Product | ProductOfNpus):
                found[inside] = inner
            elif not isinstance(inner, Split):
                found |= composite_holes(inner, inside)
    elif isinstance(template, list):
        for i, inner in enumerate(template):
            found |= composite_holes(inner, f"{name}[{i}]")
    elif isinstance(template, Choice):
        for i, inner in enumerate(template.alternatives):
            found |= composite_holes(inner, f"{name}={i}")
    return found


def moves(genes: Genes, products: Products, generator: np.random.Generator) -> list[tuple[str, float]]:
    """The hole that each small move changes, and its new value."""
    return [(name, value) for name, gene in genes.items() for value in _values(name, gene, products, generator)]


def far_moves(genes: Genes, products: Products) -> list[tuple[str, float]]:
    """The hole that each larger move changes, and its new value: steps of a few values, from any to any."""
    return [
        (name, float(value))
        for name, gene in genes.items()
        if gene.kind == "step" and gene.high < MOST_ALTERNATIVES and not _is_composite(name, products)
        for value in range(int(gene.high) + 1)
        if abs(value - gene.value) > 1
    ]


def move_genes(genes: Genes, products: Products, generator: np.random.Generator) -> Genes:
    """The genes of one of the designs one small move away; the same where there is none."""
    found = moves(genes, products, generator)
    return with_value(genes, *found[int(generator.integers(len(found)))]) if found else genes


def link_genes(genes: Genes, products: Products, generator: np.random.Generator) -> Genes:
    """The genes of a design two or three small moves away, all of them in its job or all in its network."""
    of_job, rest = list(job_of(genes)), list(network_of(genes))
    first, second = (of_job, rest) if generator.random() < JOBS_SHARE else (rest, of_job)
    names = first if len(first) > 1 else second if len(second) > 1 else list(genes)
    chosen = generator.permutation(len(names))[: 2 + int(generator.random() < TRIPLES_SHARE)]
    for name in (names[i] for i in chosen):
        values = list(_values(name, genes[name], products, generator))
        if values:
            genes = with_value(genes, name, values[int(generator.integers(len(values)))])
    return genes


def values_near(name: str, gene: Gene, products: Products, generator: np.random.Generator) -> list[float]:
    """Other values of a gene, the nearest first; of degrees and shares those one small move away."""
    if gene.kind == "real" or _is_composite(name, products) or gene.high >= MOST_ALTERNATIVES:
        return list(_values(name, gene, products, generator))
    others = [float(value) for value in range(int(gene.high) + 1) if value != gene.value]
    return sorted(others, key=lambda value: abs(value - gene.value)) if gene.kind == "step" else others


def _is_composite(name: str, products: Products) -> bool:
    """Whether a gene stands for several values at once: degrees, or shares."""
    return "#" in name or _product(name, products) is not None


def with_value(genes: Genes, name: str, value: float) -> Genes:
    """The genes with one of them changed."""
    return {**genes, name: replace(genes[name], value=value)}


def _values(name: str, gene: Gene, products: Products, generator: np.random.Generator) -> Iterator[float]:
    """Values of a gene one small move away."""
    if gene.kind == "real":
        yield from _nudge_gene(gene, generator)
    elif (product := _product(name, products)) is not None:
        yield from factor_moves(product, int(gene.value))
    elif "#" in name:
        yield from share_moves(*split_size(name), int(gene.value))
    elif gene.kind == "step":
        reach = {1, max(1, round(gene.high / 8)), max(1, round(gene.high / 64))}
        yield from sorted({v for d in reach for v in (gene.value - d, gene.value + d) if 0 <= v <= gene.high})
    elif gene.high < MOST_ALTERNATIVES:
        yield from (value for value in range(int(gene.high) + 1) if value != gene.value)
    else:
        yield from (random_below(generator, int(gene.high) + 1) for _ in range(MOST_ALTERNATIVES))


def _product(name: str, products: Products) -> Product | None:
    """The `product` hole that draws under `name`; with the number of NPUs in it where it multiplies to that."""
    hole, _, total = name.partition("#")
    found = products.get(hole)
    return found.product_of(int(total)) if isinstance(found, ProductOfNpus) else found


def _nudge_gene(gene: Gene, generator: np.random.Generator) -> Iterator[float]:
    low, high, value = (math.log(x) if gene.log else x for x in (gene.low, gene.high, gene.value))
    for reach in (0.2, 0.05, 0.01):
        for side in (-1, 1):
            moved = value + side * reach * (high - low) * (0.5 + generator.random())
            moved = min(max(moved, low), high)
            yield min(max(math.exp(moved), gene.low), gene.high) if gene.log else moved


@lru_cache(maxsize=4096)
def factor_moves(hole: Product, index: int) -> tuple[int, ...]:
    """Factorisations with one factor moved from one degree to another, or two degrees swapped."""
    degrees, places = hole.factorisations[index], {f: i for i, f in enumerate(hole.factorisations)}
    found = []
    for i, give in enumerate(degrees):
        for j in range(len(degrees)):
            if i == j:
                continue
            for factor in _prime_factors(give):
                moved = list(degrees)
                moved[i], moved[j] = give // factor, degrees[j] * factor
                found.append(tuple(moved))
            if i < j:
                moved = list(degrees)
                moved[i], moved[j] = degrees[j], give
                found.append(tuple(moved))
    return tuple(places[other] for other in dict.fromkeys(found) if other in places and other != degrees)


def _prime_factors(number: int) -> list[int]:
    return [d for d in divisors(number)[1:] if all(d % p for p in divisors(d)[1:-1])]


@lru_cache(maxsize=4096)
def share_moves(units: int, parts: int, index: int) -> tuple[int, ...]:
    """Splits with some units moved from one part to another: one, or half of what it can give."""
    shares = composition(units, parts, index)
    found = []
    for i, give in enumerate(shares):
        for amount in sorted({1, (give - 1) // 2} - {0}):
            for j in range(parts):
                if i != j and give > amount:
                    moved = list(shares)
                    moved[i], moved[j] = give - amount, shares[j] + amount
                    found.append(composition_index(moved))
    return tuple(other for other in dict.fromkeys(found) if other < compositions(units, parts))


def cross_genes(one: Genes, other: Genes, generator: np.random.Generator) -> Genes:
    """A mixture of two parents: the job of one on the network of the other, or each hole from either."""
    if generator.random() < 0.5:
        return job_of(one) | network_of(other)
    names = list(dict.fromkeys([*one, *other]))
    coins = generator.random(len(names)) < 0.5
    return {
        name: (one if name in one and (coin or name not in other) else other)[name]
        for name, coin in zip(names, coins, strict=True)
    }
