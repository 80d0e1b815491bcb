"""From a design document to an outcome: cheap and certain checks first, simulation only where they pass.

    document ─▶ form ─▶ degrees, memory, cost, constraints on inputs ─▶ simulation ─▶ constraints on results
                              │ broken: cut, its bounds as values

An outcome is a value, infeasible ones too: the search learns from them. Nothing here depends on the run: same
document, same outcome.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Protocol

from dse.evaluate.record import VALID, State, TunedRecord
from dse.space.asked import names_in
from dse.space.constraint import Constraint
from dse.space.interval import design_bound
from dse.space.objective import Objective
from dse.space.screen import ScreenedDesign
from simcore.bounds.design import bound_any_design, bound_by_compute
from simcore.check.load import parse_sound
from simcore.cost.price import price_problems
from simcore.design.design import Design
from simcore.document.named_files import Place, know_places, known_places
from simcore.document.problem import Problem, Refusal
from simcore.engine.registry import engine_named
from simcore.metrics import CLUSTER, METRICS, metrics, metrics_before, with_measured
from simcore.result import Result
from simcore.result.form import is_result
from simcore.simulate import simulate

SMALLEST, LARGEST = 1e-300, 1e300
"""Between these are the values of objectives, beside 0."""


def is_sane(value: float) -> bool:
    """Whether a value is one that arithmetic and pictures can work with."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one design."""

    key: str
    state: State
    values: dict[str, float]
    """Per objective: simulated, or the bound (of phases, whatever the engine) of a design that was cut."""
    violations: dict[str, float]
    """Per constraint, always every one; <= 0 where it holds."""
    design: dict[str, Any]
    metrics: dict[str, Any] | None = None
    cut_by: str | None = None
    error: str | None = None
    workloads: tuple[TunedRecord, ...] = ()
    """What became of each workload, where a cluster is bought for several (`dse.buy`)."""


def write_outcome(outcome: Outcome) -> str:
    """An outcome as text that `read_outcome` reads."""
    return json.dumps(asdict(outcome))


def read_outcome(text: str) -> Outcome:
    """The outcome that `write_outcome` wrote."""
    data = json.loads(text)
    return Outcome(**{**data, "workloads": tuple(TunedRecord(**workload) for workload in data["workloads"])})


class Evaluate(Protocol):
    """What turns the document of a trial into its outcome; pickled, it goes to other processes."""

    @property
    def engine(self) -> str | Callable[[Design], Result]:
        """What simulates."""

    def prepare(self) -> None:
        """Import the engine now. Raises `InputError` where there is none of its name."""

    def __call__(self, document: Mapping[str, Any]) -> Outcome:
        """The outcome of one document of sound form."""

    def failure_outcome(self, document: Mapping[str, Any], text: str) -> Outcome:
        """The outcome of a document whose evaluation did not come back."""


@dataclass(frozen=True)
class Evaluator:
    """Evaluates design documents against the objectives and constraints of a space."""

    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    engine: str | Callable[[Design], Result] = "auto"
    """A built-in engine, `package.module:function`, or the function itself."""
    places: Mapping[str, Place] = field(default_factory=known_places, repr=False, compare=False)
    """Where the process that made it found the files that documents name; other processes take them over."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In another process."""
        self.__dict__.update(state)
        know_places(self.places)

    @cached_property
    def _engine(self) -> str | Callable[[Design], Result]:
        return engine_named(self.engine) if isinstance(self.engine, str) else self.engine

    @cached_property
    def _named(self) -> frozenset[str]:
        """What objectives and constraints speak of."""
        return frozenset(names_in(self.objectives, self.constraints))

    def prepare(self) -> None:
        """Import the engine now. Raises `InputError` where there is none of its name."""
        _ = self._engine

    def __call__(self, document: Mapping[str, Any]) -> Outcome:
        """The outcome of one document of sound form; a crash in the simulator is an outcome too (`failed`)."""
        return self.evaluate_design(parse_sound(document))

    def evaluate_design(self, design: Design) -> Outcome:
        """The outcome of one design of sound form."""
        try:
            return self._evaluate(design)
        except (Exception, SystemExit) as error:  # an engine that ends the process has failed, and ends nothing else
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{frame.name}, line {frame.lineno}"
            said = f"{type(error).__name__}: {error} (in {where})"
            text = said.encode(errors="replace").decode()  # half a letter, as of a file's name, no journal takes
            return Outcome(design.key, "failed", {}, self._unknown_values(), design.document(), error=text)

    def failure_outcome(self, document: Mapping[str, Any], text: str) -> Outcome:
        """The outcome of a document whose evaluation did not come back."""
        design = parse_sound(document)
        return Outcome(design.key, "failed", {}, self._unknown_values(), design.document(), error=text)

    def _unknown_values(self) -> dict[str, float]:
        return {VALID: 0.0, **{constraint.name: 1.0 for constraint in self.constraints}}

    def _evaluate(self, design: Design) -> Outcome:
        known = ScreenedDesign(design, self.constraints)
        document = known.document
        if known.problems:
            return self._invalid_outcome(design, document, known.problems)
        design = known.settled
        early = known.early_violations
        if known.broken_constraints:
            return self._cut_outcome(known)
        result = with_measured(design, simulate(design, self._engine), self._named)
        if not isinstance(self._engine, str) and not is_result(result.document()):
            return self._outcome_without_value(design, document, "the engine gave a result with values of other types")
        found = metrics(result)
        violations = {VALID: 0.0} | {
            c.name: early[c.name] if c.name in early else c.violation(found, document) for c in self.constraints
        }
        state: State = "infeasible" if any(violation > 0 for violation in violations.values()) else "feasible"
        values = {}
        for objective in self.objectives:
            try:
                value = objective.value(found, document)
            except Refusal as error:
                return self._outcome_without_value(design, document, str(error))
            if value is None:
                return self._outcome_without_value(
                    design, document, f"'{objective.name}': this workload has no such metric"
                )
            if not is_sane(value):
                return self._outcome_without_value(
                    design, document, f"'{objective.name}' is {value:g}, no finite number of usual size"
                )
            values[objective.name] = value
        without = [c.explain_no_value(found, document) for c in self.constraints if violations[c.name] > 0]
        said = "; ".join(text for text in without if text) or None
        return Outcome(design.key, state, values, violations, document, result.document(), error=said)

    def _outcome_without_value(self, design: Design, document: dict[str, Any], why: str) -> Outcome:
        """The outcome of a design for which an objective has no value, so that it cannot be on a front."""
        return Outcome(design.key, "failed", {}, self._unknown_values(), document, error=f"objectives: {why}")

    def _cut_outcome(self, known: ScreenedDesign) -> Outcome:
        """A valid design that breaks a constraint known before simulation."""
        values = self._bounds(bound_by_compute(known.settled, self._named & METRICS.keys()), known.document)
        violations = {VALID: 0.0} | {c.name: known.early_violations.get(c.name, 0.0) for c in self.constraints}
        rule, why = known.broken_constraints[0], known.cut_reason or None
        return Outcome(known.key, "cut", values, violations, known.document, cut_by=rule, error=why)

    def _invalid_outcome(self, design: Design, document: dict[str, Any], problems: Sequence[Problem]) -> Outcome:
        """The outcome of an invalid design. Its bounds are those of any design with the same workload and NPUs."""
        proven = bound_any_design(design)
        if not price_problems(design):
            proven |= metrics_before(design, None, CLUSTER)
        violation = sum(problem.violation for problem in problems)
        violations = {VALID: violation} | {c.name: 0.0 for c in self.constraints}
        return Outcome(
            design.key,
            "cut",
            self._bounds(proven, document),
            violations,
            document,
            cut_by=problems[0].rule,
            error=str(problems[0]),
        )

    def _bounds(self, proven: Mapping[str, float | None], document: Mapping[str, Any]) -> dict[str, float]:
        """Bounds of the objectives of one design; 0 where nothing is proven (no metric is negative)."""
        return {objective.name: design_bound(objective, proven, document) or 0.0 for objective in self.objectives}
