"""Constraints: conditions over the design and the result. What is violated is a number the search can learn from.

A name is a metric (`memory.peak`, `cost.total`, `power`) or a path of the design document (`parallelism.tensor`),
quantities as SI numbers. A constraint that needs no simulation (inputs, memory, cost) is checked before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dse.expression import Expression, lookup_in
from dse.hole import magnitude
from simcore.problem import Path, Problem, dotted, nearest
from simcore.result import METRICS

KNOWN_BEFORE = frozenset(
    ("memory.peak", "memory.capacity", "fits", "cost.total", "cost.network", "cost.npu", "cost.memory", "npus", "racks")
)
"""Metrics that are exact without simulation."""
DESIGN_KEYS = ("workload", "parallelism", "cluster", "system")


@dataclass(frozen=True)
class Constraint:
    """One condition."""

    expression: Expression

    @property
    def name(self) -> str:
        """The condition as it was written."""
        return self.expression.text

    @cached_property
    def early(self) -> bool:
        """Whether it can be checked before simulation."""
        return all(name in KNOWN_BEFORE or name not in METRICS for name in self.names)

    @cached_property
    def names(self) -> frozenset[str]:
        """The metrics and paths it speaks of."""
        return frozenset(dotted(path) for path in self.expression.paths)

    def violation(self, metrics: Mapping[str, float | None], document: Mapping[str, Any]) -> float:
        """By how much it is missed, relative; <= 0 where it holds.

        Raises `ValueError` where a name has no value for this design.
        """
        if self.name.strip() == "fits":
            peak, capacity = metrics.get("memory.peak"), metrics["memory.capacity"]
            assert capacity is not None
            missed = -1.0 if peak is None else peak / capacity - 1.0
            # Two memories may hold it together while one of them has more to hold than it can: there is no measure.
            return max(missed, 0.1) if metrics.get("fits") == 0.0 else missed
        look = lookup_in(document)

        def value(path: Path) -> Any:
            name = dotted(path)
            if name in METRICS:
                metric = metrics.get(name)
                if metric is None:
                    raise ValueError(f"'{self.name}': expected a metric of this workload, got '{name}', which it lacks")
                return metric
            found = look(path)
            number = magnitude(found)
            return found if number is None else number

        return self.expression.violation(value)


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
        except ValueError as error:
            expected, _, got = str(error).removeprefix("expected ").partition(", got ")
            problems.append(Problem(path, expected, got))
            continue
        for name in expression.paths:
            if dotted(name) not in METRICS and name[0] not in DESIGN_KEYS:
                fix = nearest(dotted(name), [*METRICS, *DESIGN_KEYS]) or f"metrics: {', '.join(METRICS)}"
                problems.append(Problem(path, "metrics and paths of the design", f"'{dotted(name)}'", fix))
        found.append(Constraint(expression))
    return tuple(found)
