"""One trial of a study as reports see it: values only, nothing live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

State = Literal["feasible", "infeasible", "cut", "failed"]
VALID = "valid"
"""Name of the constraint that a design is one at all: degrees divide, stages have layers, …"""


@dataclass(frozen=True, slots=True)
class TunedRecord:
    """One workload on one cluster with the best software that was found for it there (`dse.buy`).

    `params` are the holes of that software; the other fields are as in `TrialRecord`.
    """

    name: str
    state: State
    values: Mapping[str, float]
    params: Mapping[str, Any]
    violations: Mapping[str, float]
    design: Mapping[str, Any] | None
    metrics: Mapping[str, Any] | None
    cut_by: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class TrialRecord:
    """One distinct design that was proposed.

        proposed ──▶ cut          a rule on inputs forbids it: never simulated, `values` are bounds by phases
            │
            └──▶ simulated ──▶ feasible
                     │    └──▶ infeasible   breaks a constraint on results; keeps its simulated values
                     └───────▶ failed       the evaluation raised; `error` says what

    `violations` maps each constraint to how much it is missed (<= 0: met). `metrics` is the result of the simulation
    (`simcore.Result.document()`), `design` the complete design document (None where it could not be built). Of a
    cluster that is bought for several workloads they are those of the first one; `workloads` has them all.
    """

    number: int
    state: State
    values: Mapping[str, float]
    params: Mapping[str, Any]
    violations: Mapping[str, float]
    design: Mapping[str, Any] | None = None
    metrics: Mapping[str, Any] | None = None
    cut_by: str | None = None
    error: str | None = None
    workloads: tuple[TunedRecord, ...] = ()
    sections: tuple[str, ...] = ()
    """The sections of the design that all workloads share."""

    def __repr__(self) -> str:
        values = "".join(f", {name} {value:.4g}" for name, value in self.values.items())
        return f"<Trial {self.number}: {self.state}{values}>"

    @property
    def missed(self) -> dict[str, float]:
        """The constraints that it breaks, each with how much."""
        return {name: violation for name, violation in self.violations.items() if violation > 0}

    @property
    def parts(self) -> tuple[tuple[str, TrialRecord], ...]:
        """The designs of this trial: itself, or one for each workload, each with the workload's name."""
        if not self.workloads:
            return (("", self),)
        return tuple(
            (w.name, replace(self, params=w.params, design=w.design, metrics=w.metrics, workloads=()))
            for w in self.workloads
        )

    @property
    def decided_document(self) -> Mapping[str, Any] | None:
        """The trial's design document; for several workloads, the sections that they share."""
        if self.design is None or not self.workloads:
            return self.design
        kept = {section: self.design[section] for section in self.sections if section in self.design}
        if "cluster" in kept:
            kept["cluster"] = {key: value for key, value in kept["cluster"].items() if key != "placement"}
        return kept
