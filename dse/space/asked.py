"""What a space asks of a design: the names in its objectives and constraints."""

from __future__ import annotations

from collections.abc import Iterable

from dse.space.constraint import Constraint
from dse.space.objective import Objective


def names_in(objectives: Iterable[Objective], constraints: Iterable[Constraint]) -> list[str]:
    """The names that objectives speak of, then the metrics that constraints do, each as often as it is said."""
    return [*(n for o in objectives for n in o.names), *(n for c in constraints for n in c.metrics)]
