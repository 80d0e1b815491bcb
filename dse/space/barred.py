"""Values of a space that no design can have, as far as draws tell: what is better known before a search than after it.

An NPU without a price, a stack that is not made for it, NICs that its node is not sold with: every design with such a
value is cut, whatever its job. Of what a job breaks only keys are asked for that mean nothing for its kind of workload,
since few drawn jobs are any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dse.space.draw import RandomDraw
from dse.space.fill import FilledDocument
from dse.space.order import ORDERABLE
from dse.space.screen import design_problems
from dse.space.space import Space
from simcore.check.load import parse_design
from simcore.cost.orderable import order_of
from simcore.design.design import OF_JOB, Design
from simcore.document.problem import Problem, format_path
from simcore.workload.rules import NO_EXPERTS, UNUSED

MOST, LEAST = 1000, 64
"""Designs that are drawn at most, and those with a value that are none before it is said."""
VALUES = 64
"""Values of a hole of which each is looked at; of more, as where it is continuous, none is."""
SHOWN = 3
_OF_JOB = (*OF_JOB, "jobs")


@dataclass
class _Value:
    """What is known of a value."""

    path: str
    text: str
    drawn: set[int] = field(default_factory=set)
    """The numbers of the designs with it."""
    why: Counter[str] = field(default_factory=Counter)
    """What they broke first, and on which NPUs, with how many."""
    built: bool = False

    @property
    def is_known(self) -> bool:
        """Whether enough was drawn of it."""
        return self.built or len(self.drawn) >= LEAST


def barred_notices(space: Space) -> Iterator[str]:
    """A sentence for each value with which no drawn design may be built, and the most frequent reason.

    Before these what is wrong with the workload or the cluster of every drawn design alike.
    """
    for problem in broken_by_all(space)[:SHOWN]:
        yield f"no design of the space may be built: {problem}"
    found = _barred(space.plain)
    for value in found[:SHOWN]:
        drawn = f"none of {len(value.drawn)} designs drawn with it may be built"
        ((why, _),) = value.why.most_common(1)
        yield f"{value.path} {value.text}: {drawn}, such as on {why}"
    if len(found) > SHOWN:
        yield f"and {len(found) - SHOWN} more such values"


def broken_by_all(space: Space) -> list[Problem]:
    """What is wrong with each of many designs drawn, word for word the same, however its job is laid out."""
    common: dict[str, Problem] | None = None
    drawn = 0
    for _, _, design in _designs(space.plain, LEAST):
        drawn += 1
        found = {str(problem): problem for problem in design_problems(design) if _is_of_space(problem)}
        common = found if common is None else {text: found[text] for text in common if text in found}
        if not common:
            break
    return [*(common or {}).values()] if drawn > LEAST // 2 else []


def _is_of_space(problem: Problem) -> bool:
    """Whether a problem is one of the workload, or of the cluster, which no other degrees and settings mend."""
    return problem.path[:1] in (("workload",), ("cluster",)) or problem.rule in (UNUSED, NO_EXPERTS)


def _designs(plain: list[Space], most: int) -> Iterator[tuple[int, FilledDocument, Design]]:
    """Designs drawn at random, each with its number and what was filled."""
    generator = np.random.default_rng(0)
    for number in range(most):
        try:
            filled = plain[number % len(plain)].fill(RandomDraw(generator), solve=False)
        except ValueError:
            continue  # an expression without a value: the space has no such design
        design, _ = parse_design(filled.document)
        if design is not None:
            yield number, filled, design


def _barred(plain: list[Space]) -> list[_Value]:
    """The values with which no design may be built; those that occur beside one of these alone are left out."""
    found: list[_Value] = []
    drawn = [values for values in _draw(plain).values() if 1 < len(values) <= VALUES]
    barred = [value for values in drawn for value in values.values() if not value.built and value.is_known]
    for value in sorted(barred, key=lambda value: -len(value.drawn)):
        if not value.drawn <= set[int]().union(*(other.drawn for other in found)):
            found.append(value)
    return found


def _draw(plain: list[Space]) -> dict[str, dict[str, _Value]]:
    """The values that holes took in designs drawn, by path and text, until enough is known of all."""
    known: dict[str, dict[str, _Value]] = {}
    asks_orders = any(map(asks_for_orders, plain))
    for number, filled, design in _designs(plain, MOST):
        bought = unbuildable(design, asks_orders and not filled.solved)  # until then bandwidths are no one's
        unused = {format_path(p.path): p for p in design_problems(design) if p.rule == UNUSED}
        for path, its in filled.params.items():
            problem = unused.get(path) if path.startswith(_OF_JOB) else bought
            value = known.setdefault(path, {}).setdefault(str(its), _Value(path, str(its)))
            value.drawn.add(number)
            value.built |= problem is None
            value.why[f"{design.cluster.npu.name}: {problem}"] += 1
        asked = (values for values in known.values() if len(values) <= VALUES)
        if number >= LEAST and all(value.is_known for values in asked for value in values.values()):
            break
    return known


def asks_for_orders(space: Space) -> bool:
    """Whether only clusters that can be ordered may be built."""
    return any(ORDERABLE in constraint.metrics for constraint in space.constraints)


def unbuildable(design: Design, asks_orders: bool) -> Problem | None:
    """Why a design may not be built, whatever its job; None where it may."""
    problems = [problem for problem in design_problems(design) if not problem.path or problem.path[0] not in _OF_JOB]
    problems += order_of(design.cluster).problems if asks_orders and not problems else ()
    return problems[0] if problems else None
