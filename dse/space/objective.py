"""Objectives: a metric or expression, and a direction. Inside, everything is minimised; the sign turns here only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.space.expression import Expression
from dse.space.naming import make_value_lookup
from simcore.document.problem import Refusal, format_path
from simcore.metrics import METRICS

Direction = Literal["minimize", "maximize"]


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


def relative_change(before: float, after: float) -> float | None:
    """The change as a share of the value before; None where that is 0 and it changes."""
    if before == after:
        return 0.0
    return (after - before) / abs(before) if before else None


@cache
def _cached_expression(text: str) -> Expression:
    return Expression(text).validate()


def losses(objectives: Sequence[Objective], values: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Values as a matrix to be minimised, of shape `[len(values), len(objectives)]`."""
    rows = [[objective.sign * row[objective.name] for objective in objectives] for row in values]
    return np.array(rows, dtype=np.float64).reshape(len(values), len(objectives))
