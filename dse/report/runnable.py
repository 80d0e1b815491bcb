"""What of a design to build its software stack does otherwise, as far as that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.export import Unsaid, as_run, export, target_of
from dse.report.aspects import value_at
from dse.report.nearest import describe_changes, describe_losses, nearest
from dse.report.units import clean_text
from dse.whatif.answers import DOES_NOT_FIT, AsRun
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.design.same import Same
from simcore.document.problem import InputError, Refusal, format_path
from simcore.layout.settle import settle
from simcore.memory.expanded import fits
from simcore.memory.plan import memory_needed

_USUAL = "baseline"
"""What libraries do with the dimensions of a network: each chunk takes them in one order."""
_REFUSED = "refused"
"""What is said of a value with which nothing runs."""
_LONGEST = 24
"""Characters of a value that is told; of longer ones the key alone."""


def describe_unrunnable(record: StudyRecord, trial: TrialRecord, instead: AsRun | None = None) -> Iterator[str]:
    """A line where a stack does not run its design as it was simulated, with the nearest design that it does run.

    `instead` is the design as its stack runs it, where that is known.
    """
    found = _unsaid_of(trial.design)
    if found is None or not found.unsaid:
        return
    more = f"dse export RUN {trial.number} --for {found.target} says more"
    runs = f"{_describe_instead(record, trial, instead)}{_nearest(record, trial)}"
    yield f"{found.software} does not run this as it is: {_list_unsaid(found)}{runs}; {more}."


def describe_unscheduled(record: StudyRecord, trial: TrialRecord) -> Iterator[str]:
    """A line where collectives share dimensions as in no known library; a hypothetical study says that of itself."""
    policy = _inter_dimension(trial)
    if policy == _USUAL or record.hypothetical:
        return
    other = nearest(record, trial, lambda other: _inter_dimension(other) == _USUAL)
    without = "" if other is None else f"; trial {other.number} does without ({describe_changes(record, trial, other)})"
    yield f"inter_dimension {clean_text(policy)} is a proposal: no library is known to have it{without}."


def _inter_dimension(trial: TrialRecord) -> str:
    return str(value_at(trial.decided_document or {}, "system.inter_dimension") or _USUAL)


def runs_otherwise(trial: TrialRecord) -> bool:
    """Whether it is known that its stack does something otherwise than the design of a trial."""
    found = _unsaid_of(trial.design)
    return found is not None and bool(found.unsaid)


def fits_as_run(trial: TrialRecord) -> bool:
    """Whether a design fits as its stack runs it, as far as that is known."""
    return not runs_otherwise(trial) or _fits_as_run(Same(trial.design))


@lru_cache(maxsize=1024)
def _fits_as_run(same: Same[Mapping[str, Any] | None]) -> bool:
    design = parse_design(same.value or {})[0]
    target = None if design is None else target_of(design.software.name)
    if design is None or target is None:
        return True
    try:
        its = settle(as_run(design, target))
        memory = memory_needed(its)
    except (Refusal, InputError):  # it is refused, which is said
        return True
    return memory is None or fits(its, memory)


def describe_otherwise(document: Mapping[str, Any] | None) -> str:
    """Clause: which values of a design its stack runs otherwise; empty where none is known."""
    found = _unsaid_of(document)
    if found is None or not found.unsaid:
        return ""
    return f"{found.software} does not run it as it is: {_list_unsaid(found)}"


def _describe_instead(record: StudyRecord, trial: TrialRecord, instead: AsRun | None) -> str:
    if instead is None or instead.trial != trial.number:
        return ""
    if instead.loss is None:
        how = clean_text(instead.broken)
        breaks = how if how == DOES_NOT_FIT else f"breaks '{how}'"
        return f"; as it runs it, it {breaks}"
    return f"; as it runs it, it has {describe_losses(record, instead.loss)}"


def _nearest(record: StudyRecord, trial: TrialRecord) -> str:
    """The nearest design that its stack runs as it is, and how it differs."""

    def runs(other: TrialRecord) -> bool:
        found = _unsaid_of(other.design)
        return found is not None and found.unsaid == []

    other = nearest(record, trial, runs)
    return "" if other is None else f"; trial {other.number} runs so ({describe_changes(record, trial, other)})"


class _Found(NamedTuple):
    """What a stack that `dse export` knows does otherwise than a design."""

    software: str
    target: str
    unsaid: list[Unsaid] | None


def _unsaid_of(document: Mapping[str, Any] | None) -> _Found | None:
    """What its stack does otherwise than a design; None where no export knows the stack."""
    return None if document is None else _known_unsaid(Same(document))


@lru_cache(maxsize=1024)
def _known_unsaid(same: Same[Mapping[str, Any]]) -> _Found | None:
    design = parse_design(same.value)[0]
    if design is None or design.jobs is not None:
        return None
    name = design.software.name
    target = target_of(name)
    return None if target is None else _Found(name, target, _unsaid(design, target))


def _unsaid(design: Design, target: str) -> list[Unsaid] | None:
    """What of its parallelism and precision a program cannot be told; None of a workload that it does not take."""
    try:
        found = export(design, target).unsaid
    except InputError as error:
        refused = [Unsaid(format_path(p.path), p.found, _REFUSED) for p in error.problems]
        return refused if all(one.path.startswith("parallelism.") for one in refused) else None
    return [one for one in found if one.path.startswith("parallelism.") or one.path == "workload.precision"]


def _list_unsaid(found: _Found) -> str:
    return ", ".join(map(_told, found.unsaid or ()))


def _told(one: Unsaid) -> str:
    key = one.path.rpartition(".")[2]
    short = max(len(one.design), len(one.runs)) <= _LONGEST
    instead = _REFUSED if one.runs == _REFUSED else f"{clean_text(one.runs)} instead"
    return f"{key} {clean_text(one.design)} ({instead})" if short else key
