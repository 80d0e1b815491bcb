"""From least times to bounds of objectives, for one job on many networks; and the networks where a constraint fails.

A metric that is known before simulation lies between two equal ends, any other between its bound and infinity; so an
expression of metrics has a bound by interval arithmetic (`dse.space.intervals`), and a constraint that no value in
these intervals meets excludes a design.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.proof.unreachable import SLACK, ordered_sides
from dse.space.constraint import Constraint
from dse.space.hole import magnitude
from dse.space.intervals import ANY, Ends, intervals
from dse.space.objective import Objective
from simcore.document.problem import Path, format_path
from simcore.metrics import BEFORE, METRICS, Figures, best, is_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Known:
    """What is known of a job on `count` networks before it is simulated."""

    count: int
    figures: Figures
    """Each at its best, `[count]` or one for all."""
    before: Mapping[str, Any]
    """Metrics that are exact, `[count]` or one for all."""
    values: Mapping[str, Any]
    """Values of the designs by path, `[count]` or one for all."""
    electric: bool
    """Whether the price has the electricity of a lifetime in it, which only a simulation knows."""

    def between(self, path: Path) -> Ends:
        """Least and most of a metric, or of a value of the design."""
        name = format_path(path)
        if name not in METRICS:
            found = self.values.get(name)
            return ANY if found is None else (found, found)
        if self.is_exact(name):
            return self.before[name], self.before[name]
        proven = best(name, self.figures, self.before)
        if METRICS[name].better == "less":
            return 0.0 if proven is None else proven, np.inf
        return 0.0, np.inf if proven is None else proven

    def is_exact(self, name: str) -> bool:
        """Whether a metric is known as it is."""
        exact = is_of(name, BEFORE) and not (self.electric and name == "cost.total")
        return exact and self.before.get(name) is not None


def loss_bounds(objectives: Sequence[Objective], known: Known) -> NDArray[np.float64]:
    """The bounds of objectives `[count, objectives]`, to be minimised; minus infinity where nothing is proven."""
    out = np.full((known.count, len(objectives)), -np.inf)
    for column, objective in enumerate(objectives):
        if objective.expression is not None:
            low, high = intervals(objective.expression.tree, known.between)
            out[:, column] = low if objective.sign > 0 else -np.asarray(high)
        elif known.is_exact(objective.name):
            out[:, column] = objective.sign * np.asarray(known.before[objective.name], float)
        elif objective.direction == METRICS[objective.name].direction:
            value = best(objective.name, known.figures, known.before)
            out[:, column] = -np.inf if value is None else objective.sign * np.asarray(value)
    out[np.isnan(out)] = -np.inf  # a metric that the designs do not have
    return out


def excluded_masks(constraints: Sequence[Constraint], known: Known) -> Iterator[tuple[str, Mask]]:
    """Each constraint that fails on some networks whatever a simulation says, and on which `[count]`."""
    for constraint in constraints:
        mask = np.zeros(known.count, bool)
        for least, most in ordered_sides(constraint):
            (low, _), (_, high) = intervals(least, known.between), intervals(most, known.between)
            with np.errstate(invalid="ignore"):
                mask |= np.greater(low, high + SLACK * np.maximum(np.abs(low), np.abs(high)))
        if mask.any():
            yield constraint.name, mask


def names_of_values(objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> tuple[Path, ...]:
    """The values of the design that expressions speak of, as paths."""
    asked = [o.expression for o in objectives if o.expression is not None] + [c.expression for c in constraints]
    paths = dict.fromkeys(path for expression in asked for path in expression.paths)
    return tuple(path for path in paths if format_path(path) not in METRICS)


def number_at(document: Mapping[str, Any], path: Path) -> float | None:
    """The number that a document has at a path, in SI units; None where there is none."""
    value: Any = document
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return float(value) if isinstance(value, bool) else magnitude(value)
