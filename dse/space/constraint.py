"""Constraints: conditions over the design and the result. What is violated is a number the search can learn from.

A name is a metric (`memory.peak`, `cost.total`, `power`) or a path of the design document (`parallelism.tensor`),
quantities as SI numbers. A constraint that needs no simulation (inputs, memory, cost) is checked before it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dse.space.expression import Expression
from dse.space.naming import make_value_lookup, unknown_name_problems
from dse.space.sections import JOB_SECTIONS
from simcore.design.workload import KINDS, workload_tag
from simcore.document.problem import Path, Problem, Refusal, format_path
from simcore.metrics import BEFORE, JOB, METRICS, Scope, is_of

NO_VALUE = 1.0
"""Violation of a condition that cannot be calculated: as that of a plain one that is false."""


@dataclass(frozen=True)
class Constraint:
    """One condition."""

    expression: Expression
    place: Path = ()
    """Where it stands in the document: `constraints[1]`."""
    line: int | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The condition as it was written."""
        return self.expression.text

    @cached_property
    def is_early(self) -> bool:
        """Whether it can be checked before simulation."""
        return all(is_of(name, BEFORE) for name in self.metrics)

    @cached_property
    def of_job(self) -> bool:
        """Whether it looks at nothing but the job, its memory and its NPUs."""
        return self.within(JOB, JOB_SECTIONS)

    def within(self, scopes: Sequence[Scope], sections: Sequence[str]) -> bool:
        """Whether it speaks of nothing but metrics of these scopes and values of these sections of the design."""
        return all(is_of(name, scopes) if name in METRICS else name.split(".")[0] in sections for name in self.names)

    @cached_property
    def names(self) -> frozenset[str]:
        """The metrics and paths it speaks of."""
        return frozenset(format_path(path) for path in self.expression.paths)

    @cached_property
    def reads_design(self) -> bool:
        """Whether it speaks of values of the design, beside metrics."""
        return not self.names.issubset(METRICS)

    @property
    def is_fits(self) -> bool:
        """Whether it is that the memory holds what must be reserved."""
        return self.name.strip() == "fits"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics it speaks of."""
        return tuple(name for path in self.expression.paths if (name := format_path(path)) in METRICS)

    def violation(self, metrics: Mapping[str, float | None], document: Mapping[str, Any]) -> float:
        """By how much it is missed, relative; <= 0 where it holds, `NO_VALUE` where it has no value (`without`)."""
        try:
            return self.measure_violation(metrics, document)
        except Refusal:
            return NO_VALUE

    def explain_no_value(self, metrics: Mapping[str, float | None], document: Mapping[str, Any]) -> str:
        """Why it has no value for a design: it divides by 0, say. Empty where it has one."""
        try:
            self.measure_violation(metrics, document)
        except Refusal as error:
            return f"{format_path(self.place)}: {error}" if self.place else str(error)
        return ""

    def measure_violation(self, metrics: Mapping[str, float | None], document: Mapping[str, Any]) -> float:
        """As `violation`; raises `Refusal` where a name has no value for this design, or it divides by 0."""
        if self.is_fits:
            reserved, capacity = metrics.get("memory.reserved"), metrics["memory.capacity"]
            assert capacity is not None
            missed = -1.0 if reserved is None else reserved / capacity - 1.0
            # Two memories may hold it together while one of them has more to hold than it can: there is no measure.
            return max(missed, 0.1) if metrics.get("fits") == 0.0 else missed
        return self.expression.violation(make_value_lookup(self.name, metrics, document))


def describe_violation(name: str, violation: float) -> str:
    """The violation of a constraint by name, which is relative to the larger side, as a share of its right side.

    Of a plain `a <= b` that is how far a is above b: *38 %*, *a factor of 12*. Of others it is the violation itself: of
    `a >= b` b is the larger side.
    """
    tree = Expression(name).tree
    above = isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Lt | ast.LtE)
    if not above or violation >= 1.0:
        return f"{100 * violation:.2g} %"
    over = violation / (1.0 - violation)
    return f"a factor of {1.0 + over:.2g}" if over >= 1.0 else f"{100 * over:.2g} %"


_OF_MEMORY = {"fits", "memory.peak", "memory.reserved"}


def add_fits(constraints: tuple[Constraint, ...], data: Mapping[str, Any]) -> tuple[Constraint, ...]:
    """The constraints of a space with `fits` before them, unless they say what memory must hold or that nothing must.

    A limit on cost or power does not mean that memory may be exceeded. An empty list means it, and so does a workload
    that does not say what it holds.
    """
    if data.get("constraints") == [] or any(_OF_MEMORY.intersection(each.metrics) for each in constraints):
        return constraints
    listed = next((data[key] for key in ("jobs", "workloads") if isinstance(data.get(key), list)), [data])
    workloads = (each.get("workload") for each in listed if isinstance(each, Mapping))
    fits = (Constraint(Expression("fits")),) if all(KINDS[workload_tag(each)].holds for each in workloads) else ()
    return fits + constraints


def memory_problems(constraints: Sequence[Constraint], document: Mapping[str, Any]) -> Iterator[Problem]:
    """Constraints on memory of a design whose workload does not say what it needs."""
    unknown = [each for each in document.get("jobs", [document]) if not KINDS[workload_tag(each["workload"])].holds]
    for index, constraint in enumerate(constraints if unknown else ()):
        if _OF_MEMORY.intersection(constraint.metrics):
            expected = f"no condition on memory, which a {workload_tag(unknown[0]['workload'])} does not say"
            fix = "leave it out; write 'constraints: []' where there are no others"
            yield Problem(("constraints", index), expected, f"'{constraint.name}'", fix)


def parse_constraints(data: Any, problems: list[Problem]) -> tuple[Constraint, ...]:
    """The constraints; what is wrong is added to `problems`."""
    if not isinstance(data, list):
        problems.append(Problem(("constraints",), "a list of conditions", repr(data), "e.g. [fits]"))
        return ()
    found: list[Constraint] = []
    for index, text in enumerate(data):
        path = ("constraints", index)
        if not isinstance(text, str):
            problems.append(Problem(path, "a condition in text", repr(text), "e.g. 'cost.total <= 40e6'"))
            continue
        try:
            expression = Expression(text).validate()
        except Refusal as refusal:
            problems.append(refusal.at(path))
            continue
        if not expression.paths:
            expected = "a condition that names a metric or a value of the design"
            problems.append(Problem(path, expected, f"'{text}'", "e.g. 'cost.total <= 40e6'"))
        problems += unknown_name_problems(expression.paths, path)
        found.append(Constraint(expression, path))
    return tuple(found)
