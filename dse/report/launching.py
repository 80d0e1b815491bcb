"""How kernels are launched on the machines that a decision compares, where one stack does it otherwise on some.

A stack's recipes may replay graphs on newer NPUs and launch kernel by kernel on older ones (`on` of
`simcore.design.software`). Then a comparison of machines is one of recipes, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.quick import seconds_as
from dse.report.summary import Summary
from dse.report.units import clean_text, format_percent, format_with_unit
from dse.whatif.machines import npu_of, stack_of
from simcore.check.load import parse_design
from simcore.collective.routed import Library
from simcore.design.design import Design
from simcore.design.software import Execution, OnNpus

WORTH_SAYING = 0.02
"""Share of the iteration time below which nothing is said."""
_WORDS = {"eager": "kernel by kernel", "compiled": "from compiled code", "graph": "as graphs"}


def describe_launching(record: StudyRecord, summary: Summary, trial: TrialRecord) -> Iterator[str]:
    """A line where a stack launches otherwise on a machine that the trial's one is compared with.

    The machines are those of the front, and those that the scenarios compare it with. Said is what the trial would take
    if it were launched as on the other.
    """
    design = None if trial.design is None else parse_design(trial.design)[0]
    seconds = (trial.metrics or {}).get("iteration_time_s")
    if design is None or design.jobs is not None or not design.software.name or not seconds:
        return
    npu, stack = design.cluster.npu.name, design.software
    own = _ways(design, npu)
    other = next((name for name in _compared(record, summary, stack.name) if _ways(design, name) != own), None)
    if other is None:
        return
    there = _ways(design, other)
    alike = design.model_copy(update={"software": stack.model_copy(update=there._asdict())})
    alike_seconds = seconds_as(trial, alike)
    if alike_seconds is None or abs(change := alike_seconds / seconds - 1) < WORTH_SAYING:
        return
    name, npu, other = map(clean_text, (stack.name, npu, other))
    then = format_with_unit(alike_seconds, "s", "iteration_time")
    keys = ", ".join(f"{key}: {value}" for key, value in there._asdict().items() if value != getattr(own, key))
    yield (
        f"Recipes of {name} launch {_WORDS[own.execution]} on {npu} and {_WORDS[there.execution]} on {other}: as on "
        f"{other}, trial {trial.number} would take {then}, {format_percent(abs(change))} "
        f"{'less' if change < 0 else 'more'}; software: {{base: {name}, {keys}}} compares them "
        "alike."
    )


class _Ways(NamedTuple):
    """How a stack launches kernels, and moves tokens to experts."""

    execution: Execution
    exchange: Library


def _ways(design: Design, npu: str) -> _Ways:
    running, usual = design.software_on(npu), OnNpus()
    return _Ways(running.execution or usual.execution, running.exchange or usual.exchange)


def _compared(record: StudyRecord, summary: Summary, stack: str) -> list[str]:
    """The NPUs of the front and of the machines beside it that run the stack, each once."""
    scenarios = summary.what_if.scenarios
    beside = () if scenarios is None else scenarios.machines
    designs = [*(trial.design for trial in record.front), *(machine.design for machine in beside)]
    return [*dict.fromkeys(npu_of(design) for design in designs if stack_of(design) == stack)]
