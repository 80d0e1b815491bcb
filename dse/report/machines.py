"""The machines and stacks that no design of the front has, in words: how near they come, for all that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.aspects import value_at
from dse.report.choice import recommended
from dse.report.measured_rival import rests_on_data_sheet
from dse.report.nearest import READ, describe_changes, shares_worse
from dse.report.runnable import describe_otherwise
from dse.report.summary import Summary
from dse.report.units import clean_text, describe_need, format_percent, format_with_unit
from dse.space.objective import losses
from dse.whatif.answers import Machine
from dse.whatif.machines import machine_of

_SHOWN = 4
_BRIEF = 2
"""Objectives up to which each machine that is named has its values; of more the first one alone."""


def describe_machines(record: StudyRecord, summary: Summary) -> str:
    """Machines and stacks that the front leaves out, and how often each would belong there; empty without any.

    Of a cluster for several workloads, the nearest one on each other machine.
    """
    scenarios = summary.what_if.scenarios
    if record.purchase is not None:
        return _describe_bought(record, summary)
    if scenarios is None:
        return ""
    machines = sorted(scenarios.machines, key=lambda machine: -machine.on_front)
    built = _built(record, summary) if machines or scenarios.stacks else None
    own = None if built is None else built.design
    found = [machine for machine in machines if machine.name != machine_of(own)]
    told = _describe_found(record, "Other machines, by the best designs found on them", found, _precision(own))
    told = _with_built(told, own, scenarios.built)
    stacks = [_on_machine(stack, own) for stack in sorted(scenarios.stacks, key=lambda stack: -stack.on_front)]
    beside = _describe_found(record, "Other stacks, by the best designs found with them", stacks)
    barred = [
        f"{clean_text(name)}{f' (the nearest: {_shortly(why)})' if why else ''}"
        for name, why in scenarios.barred.items()
    ]
    none = f"No design that may be built was found on {', '.join(barred)}." if barred else ""
    unasked = f"Not looked at: {', '.join(map(clean_text, scenarios.unasked))}." if scenarios.unasked else ""
    parts = (told, _describe_missed(record, found), none, unasked, f"{beside}." if beside else "")
    return " ".join(part for part in parts if part)


def _describe_bought(record: StudyRecord, summary: Summary) -> str:
    """The nearest cluster on each machine but the one to build, and that nobody knows how sure that is."""
    built = _built(record, summary)
    if built is None:
        return ""
    trials = record.feasible_trials.select(record.feasible_trials.designed)
    nearest: dict[str, TrialRecord] = {}
    for place in shares_worse(record, trials, built).argsort(kind="stable")[:READ].tolist():
        nearest.setdefault(machine_of(trials[place].design), trials[place])
    nearest.pop(machine_of(built.design), None)
    told = [
        f"{clean_text(name)} (trial {trial.number}, {describe_changes(record, built, trial)})"
        for name, trial in list(nearest.items())[:_SHOWN]
    ]
    unsure = summary.what_if.no_scenarios
    sure = f"How sure the choice is, was not asked: {unsure[0].lower()}{unsure[1:]}" if unsure else ""
    return " ".join(
        part for part in (f"Other machines, by the nearest: {', '.join(told)}." if told else "", sure) if part
    )


def _shortly(why: str) -> str:
    """What is wrong, as a sentence; of what to do about it only that another part of each domain would do."""
    wrong, _, fix = why.partition("; ")
    wrong = describe_need(wrong)
    part = fix.partition(", or ")[2]
    return clean_text(f"{wrong}; try {part}" if "'domain:" in part else wrong)


def _with_built(told: str, own: Mapping[str, Any] | None, built: Mapping[str, float]) -> str:
    """What is `told` of other machines, and how often a design on each of the front's belongs there.

    One of these is to be built: that of the document `own`.
    """
    each = [
        f"{clean_text(name)}{', which is to be built,' if name == machine_of(own) else ''} in {format_percent(share)}"
        for name, share in sorted(built.items(), key=lambda item: -item[1])
    ]
    more = f" and {len(each) - _SHOWN} more" if len(each) > _SHOWN else ""
    beside = f"{', '.join(each[:_SHOWN])}{more}"
    if len(each) > 1:
        where = (
            "of the front's own, " if told else "Machines of the front, by the scenarios in which they belong there: "
        )
        beside = f"{where}{beside}"
    if not told:
        return f"{beside}." if len(each) > 1 else ""
    return f"{told}; {beside}." if beside else f"{told}."


def _built(record: StudyRecord, summary: Summary) -> TrialRecord | None:
    """The design to build."""
    number = recommended(record, summary)
    return None if number is None else record.feasible_trials.numbered(number)


def _precision(document: Mapping[str, Any] | None) -> str:
    """What a design computes in; empty where it has several workloads, or none is known."""
    return clean_text(str(value_at(document or {}, "workload.precision") or ""))


def _on_machine(stack: Machine, own: Mapping[str, Any] | None) -> Machine:
    """A stack, named with the machine where that is not the one to build, which the document `own` has."""
    name = machine_of(stack.design)
    return stack if name == machine_of(own) else replace(stack, name=f"{stack.name} on {name}")


def _describe_found(record: StudyRecord, what: str, found: Sequence[Machine], precision: str = "") -> str:
    """How often the best designs on machines, or with stacks, belong on the front, the most often first.

    Theirs is said where it is another `precision`.
    """
    if not found:
        return ""
    first, *others = found
    often = format_percent(first.on_front)
    told = [f"{_named(first, precision, _values(record, first))} belongs on the front in {often} of the scenarios"]
    brief = len(record.objectives) <= _BRIEF
    told += [
        f"{_named(machine, precision, _values(record, machine) if brief else '')} in {format_percent(machine.on_front)}"
        for machine in others[: _SHOWN - 1]
    ]
    left = others[_SHOWN - 1 :]
    rarely = "more rarely" if left and left[0].on_front < others[_SHOWN - 2].on_front else "as rarely"
    told += [f"{len(left)} {'other' if len(left) == 1 else 'others'} {rarely}"] if left else []
    return f"{what}: {', '.join(told)}"


def _values(record: StudyRecord, machine: Machine) -> str:
    """The objectives of the best design on a machine."""
    return ", ".join(format_with_unit(machine.values[o.name], o.unit, o.name) for o in record.objectives)


def _named(machine: Machine, precision: str, values: str = "") -> str:
    """Its name and values, its precision where that is another one, and what its times do not hold for.

    They rest on its data sheet where no kernels of its kind were measured.
    """
    its, sheet = _precision(machine.design), "data sheet alone" if rests_on_data_sheet(machine.design) else ""
    parts = (values, its if precision and its != precision else "", sheet, describe_otherwise(machine.design))
    told = "; ".join(text for text in parts if text)
    return f"{clean_text(machine.name)} ({told})" if told else clean_text(machine.name)


def _describe_missed(record: StudyRecord, found: Sequence[Machine]) -> str:
    """Machines whose best design should be on the front as it is predicted."""
    missed = [clean_text(machine.name) for machine in found if not _is_behind(record, machine)]
    return f"The search missed {', '.join(missed)}: give it more trials." if missed else ""


def _is_behind(record: StudyRecord, machine: Machine) -> bool:
    """Whether a member of the front is as good as the machine's design as simulated, or is that design."""
    own, front = losses(record.objectives, [machine.values]), record.losses(record.front)
    return bool((front <= own).all(axis=1).any())
