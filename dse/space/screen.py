"""What is known of a design without simulating it: whether it is one, its memory and cost, constraints on those.

Cheap and exact. The evaluator cuts what fails here; a sampler that screens its own candidates never proposes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dse.space.constraint import Constraint
from dse.space.order import ORDERABLE
from dse.space.stack import misfits
from simcore.check.check import check
from simcore.cost.orderable import order_of
from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.layout.settle import settle
from simcore.memory.plan import memory_needed
from simcore.metrics import BEFORE, METRICS, is_of, metrics_before


def design_problems(design: Design) -> list[Problem]:
    """Why a search does not build a design: it is no valid one, or nobody trains it so; empty where it may be built."""
    return [*check(design), *misfits(design)]


class ExactMetrics(Mapping[str, float | None]):
    """The metrics of a valid design that are exact before simulation, each calculated when it is first asked for."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._found: dict[str, float | None] = {}

    def __getitem__(self, name: str) -> float | None:
        if name not in self._found:
            metric = METRICS[name]
            if metric.before is None or metric.scope not in BEFORE:
                raise KeyError(name)
            memory = memory_needed(self._design) if metric.scope == "job" else None  # no other looks at it
            self._found[name] = metric.before(self._design, memory)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and is_of(name, BEFORE)

    def __iter__(self) -> Iterator[str]:
        return (name for name in METRICS if is_of(name, BEFORE))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True)
class ScreenedDesign:
    """A design, what is wrong with it, and what is exact before simulation."""

    design: Design
    constraints: Sequence[Constraint]

    @cached_property
    def settled(self) -> Design:
        """The design with numbers in place of stages and recomputation that are to be solved, where it is valid."""
        return settle(self.design) if self.design.parallelism.solves and not self.problems else self.design

    @property
    def key(self) -> str:
        """Identity of the design: solved or given, the same numbers are one design."""
        return self.settled.key

    @cached_property
    def document(self) -> dict[str, Any]:
        """The complete design document."""
        return self.settled.document()

    @cached_property
    def problems(self) -> list[Problem]:
        """Why it is no valid design; empty where it is one."""
        return design_problems(self.design)

    @cached_property
    def metrics(self) -> ExactMetrics:
        """The metrics that are exact before simulation, of a valid design."""
        return ExactMetrics(self.settled)

    @cached_property
    def early_violations(self) -> dict[str, float]:
        """Violation of each constraint that needs no simulation, of a valid design; <= 0 where it holds."""
        return {
            c.name: c.violation(self.metrics, self.document if c.reads_design else {})
            for c in self.constraints
            if is_known_before(c, self.design)
        }

    @cached_property
    def no_value_reason(self) -> str:
        """Why early constraints have no value for it, and so count as broken; empty where all have one."""
        said = [
            c.explain_no_value(self.metrics, self.document)
            for c in self.constraints
            if c.name in self.broken_constraints
        ]
        return "; ".join(text for text in said if text)

    @cached_property
    def cut_reason(self) -> str:
        """Why early constraints are broken, where that says more than their names."""
        found = [self.no_value_reason]
        if any(c.name in self.broken_constraints and ORDERABLE in c.metrics for c in self.constraints):
            found += order_of(self.design.cluster).notes[:1]
        return "; ".join(text for text in found if text)

    @cached_property
    def broken_constraints(self) -> list[str]:
        """Names of the early constraints that it breaks."""
        return [name for name, violation in self.early_violations.items() if violation > 0]

    @cached_property
    def violation(self) -> float:
        """The distance to a design that may be simulated: 0 if this one may, above 1 if it is invalid."""
        if self.problems:
            return 1.0 + sum(problem.violation for problem in self.problems)
        missed = sum(violation for violation in self.early_violations.values() if violation > 0)
        return missed / (1.0 + missed)


def is_known_before(constraint: Constraint, design: Design) -> bool:
    """Whether the constraint can be checked before simulation; a total cost that includes electricity cannot."""
    return constraint.is_early and not (design.cost.electricity_in_total and "cost.total" in constraint.metrics)


def exact_metrics(design: Design) -> dict[str, float | None]:
    """The metrics that are exact before simulation."""
    return metrics_before(design, memory_needed(design))
