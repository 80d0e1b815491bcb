"""The steps around the front as text: what each design loses when one parameter moves to its neighbouring value.

A loss is a share of the value before, by objective; what is gained is below 0. `dse.whatif.steps` says what a step is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.report.summary import Summary
from dse.report.units import MISSING, clean_text, format_number, format_percent, label, shorten_text
from dse.report.values import cell
from dse.space.objective import Objective
from dse.whatif.answers import DOES_NOT_FIT, ParameterStep

MINUS = "\N{MINUS SIGN}"
NO_CHANGE = 1e-6
"""A smaller share is none: the last picoseconds of a schedule."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step as text."""

    moves: tuple[str, ...]
    """What was moved, each as `chunks 64 → 16`."""
    others: int
    """Other parameters that the step brought along."""
    losses: tuple[str, ...]
    """For each objective; one text that says why where the design is not feasible."""
    step: ParameterStep


def is_dominating(step: ParameterStep) -> bool:
    """Whether the design after the step dominates that before it."""
    known = [loss for loss in step.loss.values() if loss is not None]
    return step.is_feasible and bool(known) and max(known) <= 0 and min(known) < -NO_CHANGE


def step_rows(objectives: Sequence[Objective], steps: Sequence[ParameterStep]) -> list[StepRow]:
    """The steps of one design as text, in the order of the space."""
    return [
        StepRow(
            tuple(_describe_move(path, *step.changes[path]) for path in step.moved),
            len(step.changes) - len(step.moved),
            _format_losses(objectives, step),
            step,
        )
        for step in steps
    ]


def _describe_move(path: str, before: Any, after: Any) -> str:
    return f"{short_path(path)} {format_value(before)} → {format_value(after)}"


def short_path(path: str) -> str:
    """A path as people call it: without its section, `dimensions[1].bandwidth` as `dimension 1 bandwidth`."""
    rest = clean_text(path.partition(".")[2] or path)
    if rest.startswith("dimensions[") and "]." in rest:
        index, _, key = rest.removeprefix("dimensions[").partition("].")
        return f"dimension {index} {key}" if index.isdigit() else rest
    return rest.removesuffix(".split").replace("_", " ")


def format_value(value: Any) -> str:
    """A value of a key, in at most 48 characters."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return MISSING if value is None else shorten_text(cell(value), 48)


def _format_losses(objectives: Sequence[Objective], step: ParameterStep) -> tuple[str, ...]:
    if not step.is_feasible:
        return (shorten_text(step.why if step.why == DOES_NOT_FIT else f"infeasible: {step.why}", 80),)
    return tuple(format_change(step.loss.get(objective.name), objective.sign) for objective in objectives)


def format_change(loss: float | None, sign: float) -> str:
    """A change of an objective in percent, in its own direction: `+2.3 %`; `=` where there is none."""
    if loss is None:
        return MISSING
    if abs(loss) < NO_CHANGE:
        return "="
    return f"{'+' if loss * sign > 0 else MINUS}{format_percent(abs(loss))}"


def sensitivity_note(summary: Summary) -> str:
    """A sentence on the designs that the tables leave out, and why; empty if none are left out."""
    asked = summary.what_if
    if asked.note:
        return f"Not asked: {asked.note[0].lower()}{asked.note[1:]}"
    if not asked.left_out:
        return ""
    some = f"{format_number(len(asked.steps))} of {format_number(len(asked.steps) + asked.left_out)}"
    return (
        f"For {some} designs of the front, within {format_number(asked.simulations)} simulations; "
        "dse report RUN --simulations N asks about more."
    )


def describe_improvement(summary: Summary, objectives: Sequence[Objective]) -> str:
    """A sentence on steps that lead to a better design than the front has; empty where there is none."""
    better = [step for steps in summary.what_if.steps.values() for step in steps if is_dominating(step)]
    if not better:
        return ""
    best = min(better, key=lambda step: (min(loss for loss in step.loss.values() if loss is not None), step.trial))
    (row,) = step_rows(objectives, [best])
    pairs = zip(objectives, row.losses, strict=True)
    told = ", ".join(f"{label(objective.name)} {loss}" for objective, loss in pairs if loss != "=")
    count = len({step.trial for step in better})
    designs = "1 design" if count == 1 else f"{format_number(count)} designs"
    return f"One step improves {designs} of the front, e.g. trial {best.trial} with {', '.join(row.moves)}: {told}."


def steps_document(summary: Summary, trial: int) -> list[dict[str, Any]] | None:
    """The steps of a member for `pareto.json`; None where it was not asked."""
    steps = summary.what_if.steps.get(trial)
    if steps is None:
        return None
    return [
        {
            "moved": list(step.moved),
            "before": {path: pair[0] for path, pair in step.changes.items()},
            "after": {path: pair[1] for path, pair in step.changes.items()},
            "state": step.state,
            "why": step.why or None,
            "loss": dict(step.loss),
        }
        for step in steps
    ]
