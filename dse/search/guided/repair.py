"""Repairs a changed design that breaks a rule by changing further holes.

A problem of a design names its place. The holes that stand there go first, to the nearest value; then those that share
the longest part of their path with the place, or with what was changed: of a design without a pipeline the number of
its virtual stages, of another size of a dimension the algorithm on it. No rule is known here: a change is kept where
it lessens the violation, and what was changed on purpose stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np

from dse.search.guided.genome import Gene, Genes, Products, values_near, with_value
from dse.space.fill import FilledDocument
from dse.space.screen import ScreenedDesign
from simcore.document.problem import Path

MOST = 4
"""Designs that are looked at to repair one."""


@dataclass(frozen=True)
class Look:
    """A filled document with its genes, and what is known of its design without its time."""

    genes: Genes
    filled: FilledDocument
    screened: ScreenedDesign

    @cached_property
    def places(self) -> list[Path]:
        """Where the rules that it breaks say that it does."""
        return [problem.path for problem in self.screened.problems]

    @property
    def violation(self) -> float:
        """How far it is from breaking none."""
        return sum(problem.violation for problem in self.screened.problems)


def repair_look(
    look: Look, kept: frozenset[str], again: Callable[[Genes], Look], products: Products, draw: np.random.Generator
) -> Look:
    """A design that breaks no rule, or rules by less, the genes of `kept` as they are; the same where none is found."""
    left = MOST
    while look.places and left:
        before = look
        for name, value in _changes(look, kept, products, draw):
            other = again(with_value(look.genes, name, value))
            left -= 1
            if other.violation < look.violation:
                look = other
                break
            if not left:
                break
        if look is before:
            break
    return look


def _changes(
    look: Look, kept: frozenset[str], products: Products, draw: np.random.Generator
) -> Iterator[tuple[str, float]]:
    """Genes to change and their new values: those named by the problems, then those near; of each the nearest first."""
    names = [name for name in look.genes if name not in kept]
    names = [names[i] for i in draw.permutation(len(names))]
    changed = [path for name in kept if name in look.genes for path in look.genes[name].paths]
    near = {name: _nearness(look.genes[name], look.places, changed) for name in names}
    values = {name: values_near(name, look.genes[name], products, draw) for name in names}
    for rank in sorted({*near.values()}, reverse=True):
        alike = [name for name in names if near[name] == rank]
        for round_ in zip_longest(*(values[name] for name in alike)):
            yield from ((name, value) for name, value in zip(alike, round_, strict=True) if value is not None)


def _nearness(gene: Gene, places: list[Path], changed: list[Path]) -> tuple[bool, int]:
    """Whether a gene stands where a problem is, and how much of its path it shares with one, or with a change."""
    named = any(path[: len(place)] == place or place[: len(path)] == path for place in places for path in gene.paths)
    shared = [_shared_length(path, other) for path in gene.paths for other in (*places, *changed)]
    return named, max(shared, default=0)


def _shared_length(one: Path, other: Path) -> int:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length
