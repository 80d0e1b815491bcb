"""Objectives: a metric or expression, and a direction. Inside, everything is minimised; the sign turns here only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.space.expression import Expression
from dse.space.naming import make_value_lookup, unknown_name_problems
from simcore.document.problem import Path, Problem, Refusal, format_path, suggest_nearest
from simcore.metrics import METRICS, exponent_of

Direction = Literal["minimize", "maximize"]
DEFAULT_OBJECTIVES = ("iteration_time", "cost.total")


@dataclass(frozen=True, slots=True)
class Objective:
    """One objective of a study."""

    name: str
    """A metric, or an expression over metrics and values of the design as it was written."""
    direction: Direction
    unit: str

    @property
    def sign(self) -> float:
        """Factor that turns a value into one to be minimised."""
        return 1.0 if self.direction == "minimize" else -1.0

    @property
    def expression(self) -> Expression | None:
        """What is calculated; None for a metric."""
        return None if self.name in METRICS else _cached_expression(self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics, and the paths of the design, that it speaks of."""
        expression = self.expression
        return (self.name,) if expression is None else tuple(format_path(path) for path in expression.paths)

    def loss(self, before: float, after: float) -> float | None:
        """By which share of the value before it becomes worse (below 0: better); see `relative_change`."""
        change = relative_change(before, after)
        return None if change is None else self.sign * change

    def value(self, metrics: Mapping[str, float | None], document: Mapping[str, Any]) -> float | None:
        """Its value for a design; None for a metric that the workload lacks.

        Raises `ValueError` for an expression without a finite value: a name without one, a division by zero.
        """
        expression = self.expression
        if expression is None:
            return metrics[self.name]
        found = expression.value(make_value_lookup(self.name, metrics, document))
        if not isinstance(found, int | float) or not math.isfinite(found):
            raise Refusal("a finite number", repr(found), where=f"'{self.name}'")
        return float(found)


def direction_notices(objectives: Sequence[Objective]) -> Iterator[str]:
    """A sentence for each metric of time, money or speed that is sought in the direction in which it gets worse."""
    for objective in objectives:
        metric = METRICS.get(objective.name)
        if metric is None or objective.direction == metric.direction:
            continue
        if metric.better == "more" or metric.moves:
            yield (
                f"objectives: {objective.name} is {objective.direction}d, though {metric.better} of it is better: "
                f"say '{metric.direction}' unless that is meant."
            )


def speed_notices(objectives: Sequence[Objective], limited: Iterable[str]) -> Iterator[str]:
    """A sentence where all objectives are what a cluster costs, and no metric that is `limited` moves with time."""
    names = {name for objective in objectives for name in objective.names}
    if all(name.startswith("cost.") for name in names) and not any(exponent_of(name, "time") for name in limited):
        yield (
            "objectives: nothing asks for speed, so the cheapest design wins however slow it is: minimize "
            "iteration_time or cost_per_token, too, or limit the time under 'constraints', unless that is meant."
        )


def relative_change(before: float, after: float) -> float | None:
    """The change as a share of the value before; None where that is 0 and it changes."""
    if before == after:
        return 0.0
    return (after - before) / abs(before) if before else None


@cache
def _cached_expression(text: str) -> Expression:
    return Expression(text).validate()


def parse_objectives(data: Any, problems: list[Problem]) -> tuple[Objective, ...]:
    """`objectives` of a space, time and cost unless given; what is wrong is added to `problems`."""
    if data is None:
        return tuple(Objective(name, "minimize", METRICS[name].unit) for name in DEFAULT_OBJECTIVES)
    found: list[Objective] = []
    if not isinstance(data, dict) or not data:
        what = "minimize and maximize, each a list of metrics"
        problems.append(Problem(("objectives",), what, repr(data), "e.g. {minimize: [iteration_time, cost.total]}"))
        return ()
    for direction, names in data.items():
        if names is None and direction in METRICS:  # {minimize: iteration_time, cost.total}
            first = next((f"{its}, " for its in data.values() if isinstance(its, str)), "")
            fix = f"write a list: [{first}{direction}]"
            problems.append(Problem(("objectives", direction), "minimize or maximize", f"'{direction}'", fix))
            continue
        if direction not in ("minimize", "maximize"):
            fix = suggest_nearest(str(direction), ("minimize", "maximize"))
            problems.append(Problem(("objectives", direction), "minimize or maximize", f"'{direction}'", fix))
        listed = names if isinstance(names, list) else [names]
        if not listed:
            problems.append(Problem(("objectives", direction), "at least one metric", "none", "drop it or add one"))
        for index, name in enumerate(listed):
            path = ("objectives", direction, index)
            name = name.strip() if isinstance(name, str) else name
            broken = list(_objective_problems(name, path))
            if broken:
                problems += broken
            elif any(objective.name == name for objective in found):
                problems.append(Problem(path, "each metric once", f"a second '{name}'", "drop one"))
            else:
                found.append(Objective(name, direction, METRICS[name].unit if name in METRICS else ""))
    return tuple(found)


def _objective_problems(name: Any, path: Path) -> Iterator[Problem]:
    """What is wrong with an objective: a metric, or an expression that has a number for every design."""
    if isinstance(name, str) and name in METRICS:
        return
    unknown = Problem(path, "a metric or an expression over metrics", f"'{name}'")
    fix = suggest_nearest(str(name), METRICS, "metrics")
    if not isinstance(name, str) or name.isidentifier():
        yield replace(unknown, fix=fix)
        return
    try:
        expression = Expression(name).validate()
    except Refusal as refusal:
        yield refusal.at(path)
        return
    if expression.is_condition:
        yield Problem(path, "a number to be small or large", f"the condition '{name}'", "put it under 'constraints'")
    elif not expression.paths:
        yield Problem(path, "an expression that names a metric", f"'{name}'", "e.g. 'iteration_time * cost.total'")
    yield from unknown_name_problems(expression.paths, path)


def losses(objectives: Sequence[Objective], values: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Values as a matrix to be minimised, of shape `[len(values), len(objectives)]`."""
    rows = [[objective.sign * row[objective.name] for objective in objectives] for row in values]
    return np.array(rows, dtype=np.float64).reshape(len(values), len(objectives))
