"""Values of a space that no design can have, as far as draws tell: what is better known before a search than after it.

An NPU without a price, a stack that is not made for it, NICs that its node is not sold with: every design with such a
value is cut, whatever its job. Of what a job breaks only keys are asked for that mean nothing for its workload, since
few drawn jobs are any. Where a space has few designs all are looked at, and names and switches for all that they break.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from dse.space.draw import Odometer, RandomDraw
from dse.space.fill import FilledDocument
from dse.space.order import ORDERABLE
from dse.space.screen import design_problems
from dse.space.space import Space
from simcore.check.load import parse_design
from simcore.cost.orderable import order_of
from simcore.design.design import OF_JOB, Design
from simcore.document.problem import Problem, Refusal, format_path
from simcore.workload.rules import MODULES, NO_EXPERTS, UNUSED

MOST, LEAST = 1000, 64
"""Designs that are drawn at most, and those with a value that are none before it is said."""
FEW = 300
"""Designs of a space that are all looked at."""
VALUES = 64
"""Values of a hole of which each is looked at; of more, as where it is continuous, none is."""
SHOWN = 3
_OF_JOB = (*OF_JOB, "jobs")
_OPENED_BY = {"parallelism.recompute_modules": "parallelism.recompute"}
"""Key -> the key of which one value alone gives it a meaning: where it is wrong, that value is no choice."""


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

    def is_known(self, least: int) -> bool:
        """Whether enough was drawn of it."""
        return self.built or len(self.drawn) >= least


def barred_notices(space: Space) -> Iterator[str]:
    """A sentence for each value with which no drawn design may be built, and the most frequent reason.

    Before these what is wrong with the workload or the cluster of every drawn design alike.
    """
    for problem in broken_by_all(space)[:SHOWN]:
        yield f"no design of the space may be built: {problem}"
    found = _barred(space.plain)
    for value in found[:SHOWN]:
        designs = "no design with it" if _are_few(space.plain) else f"none of {len(value.drawn)} designs drawn with it"
        ((why, _),) = value.why.most_common(1)
        yield f"{value.path} {value.text}: {designs} may be built, such as on {why}"
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
        except Refusal:
            continue  # an expression without a value: the space has no such design
        design, _ = parse_design(filled.document)
        if design is not None:
            yield number, filled, design


def _all_designs(plain: list[Space]) -> Iterator[tuple[int, FilledDocument, Design]]:
    """Every design, numbered, with what was filled."""
    number = count()
    for space in plain:
        odometer, steps = Odometer(), True
        while steps:
            with suppress(Refusal):  # an expression without a value: the space has no such design
                filled = space.fill(odometer, solve=False)
                design, _ = parse_design(filled.document)
                if design is not None:
                    yield next(number), filled, design
            steps = odometer.step()


def _are_few(plain: list[Space]) -> bool:
    """Whether all designs are looked at, as they are few."""
    return sum(space.count() for space in plain) <= FEW


def _least(plain: list[Space]) -> int:
    """Designs with a value that are none before it is said."""
    return 1 if _are_few(plain) else LEAST


def _barred(plain: list[Space]) -> list[_Value]:
    """The values with which no design may be built; those that occur beside one of these alone are left out."""
    found: list[_Value] = []
    drawn = {path: values for path, values in _draw(plain).items() if 1 < len(values) <= VALUES}
    least = _least(plain)
    blamed = [values.values() for path, values in drawn.items() if not _is_blameless(path, values.values())]
    barred = [value for values in blamed for value in values if not value.built and value.is_known(least)]
    for value in sorted(barred, key=lambda value: -len(value.drawn)):
        if not value.drawn <= set[int]().union(*(other.drawn for other in found)):
            found.append(value)
    return found


def _is_blameless(path: str, values: Collection[_Value]) -> bool:
    """Whether a job may be built with no value of a hole: then something else is wrong with it."""
    return path.startswith(_OF_JOB) and not any(value.built for value in values)


def _draw(plain: list[Space]) -> dict[str, dict[str, _Value]]:
    """The values that holes took in designs drawn, by path and text, until enough is known of all."""
    known: dict[str, dict[str, _Value]] = {}
    asks_orders, few = any(map(asks_for_orders, plain)), _are_few(plain)
    for number, filled, design in _all_designs(plain) if few else _designs(plain, MOST):
        bought = unbuildable(design, asks_orders and not filled.solved)  # until then bandwidths are no one's
        broken = design_problems(design)
        unused = {format_path(p.path): p for p in broken if p.rule in (UNUSED, MODULES)}
        unused |= {_OPENED_BY[path]: problem for path, problem in unused.items() if path in _OPENED_BY}
        for path, its in filled.params.items():
            named = few and isinstance(its, bool | str)  # a number is one of many, of which some suit no model
            of_job = next(iter(broken), None) if named else unused.get(path)
            problem = of_job if path.startswith(_OF_JOB) else bought
            value = known.setdefault(path, {}).setdefault(str(its), _Value(path, str(its)))
            value.drawn.add(number)
            value.built |= problem is None
            value.why[f"{design.cluster.npu.name}: {problem}"] += 1
        asked = (values for values in known.values() if len(values) <= VALUES)
        enough = not few and number >= LEAST
        if enough and all(value.is_known(LEAST) for values in asked for value in values.values()):
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
