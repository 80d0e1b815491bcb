"""The machines that no design of the front is built of, in words: how near they come, for all that is known of them."""

from __future__ import annotations

from dse.evaluate.pareto import dominated_mask
from dse.evaluate.record import StudyRecord
from dse.report.summary import Summary
from dse.report.units import clean_text, format_percent, format_with_unit
from dse.space.objective import losses
from dse.whatif.answers import Machine

_SHOWN = 4


def describe_machines(record: StudyRecord, summary: Summary) -> str:
    """Which machine the front leaves out, and how often one of it would belong there; empty where there is none."""
    scenarios = summary.what_if.scenarios
    found = sorted(scenarios.machines if scenarios else (), key=lambda machine: -machine.on_front)
    if not found:
        return ""
    first, *others = found
    values = " and ".join(format_with_unit(first.values[o.name], o.unit, o.name) for o in record.objectives)
    told = [
        f"{clean_text(first.name)} ({values}) belongs on the front in {format_percent(first.on_front)} of the scenarios"
    ]
    told += [f"{clean_text(machine.name)} in {format_percent(machine.on_front)}" for machine in others[: _SHOWN - 1]]
    told += [f"{len(others) - _SHOWN + 1} others more rarely"] if len(others) >= _SHOWN else []
    text = f"Other machines, by the best designs found on them: {', '.join(told)}."
    missed = [clean_text(machine.name) for machine in found if not _is_behind(record, machine)]
    return f"{text} The search missed {', '.join(missed)}: give it more trials." if missed else text


def _is_behind(record: StudyRecord, machine: Machine) -> bool:
    """Whether a member of the front dominates the machine's design as simulated."""
    own, front = losses(record.objectives, [machine.values]), record.losses(record.front)
    return bool(dominated_mask(front, own)[0])
