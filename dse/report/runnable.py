"""What of a design to build its software stack does otherwise, as far as `dse export` knows the stack."""

from __future__ import annotations

from collections.abc import Iterator

from dse.evaluate.record import TrialRecord
from dse.export import TARGETS, Unsaid, export
from dse.report.units import clean_text
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.document.problem import InputError

_LONGEST = 24
"""Characters of a value that is told; of longer ones the key alone."""


def describe_unrunnable(trial: TrialRecord) -> Iterator[str]:
    """A line where the stack of a design does not run it as it was simulated."""
    design = None if trial.design is None else parse_design(trial.design)[0]
    if design is None or design.jobs is not None:
        return
    for target in TARGETS.values():
        if design.software.name in target.software and (unsaid := _unsaid(design, target.name)):
            said = ", ".join(map(_told, unsaid))
            more = f"dse export RUN {trial.number} --for {target.name} says more"
            yield f"{design.software.name} does not run this as it is: {said}; {more}."


def _unsaid(design: Design, target: str) -> list[Unsaid]:
    """What of its parallelism a program cannot be told; nothing of a design that it has no model for."""
    try:
        found = export(design, target).unsaid
    except InputError:
        return []
    return [one for one in found if one.path.startswith("parallelism.")]


def _told(one: Unsaid) -> str:
    key = one.path.removeprefix("parallelism.")
    short = max(len(one.design), len(one.runs)) <= _LONGEST
    return f"{key} {clean_text(one.design)} ({clean_text(one.runs)} instead)" if short else key
