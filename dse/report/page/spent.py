"""Where time, memory and money of each design of the front go: a bar for each, with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dse.evaluate.record import TrialRecord
from dse.report.intervals import time_interval
from dse.report.page.base import (
    Bar,
    Column,
    Section,
    bars,
    escape_html,
    front_rows,
    legend,
    paragraphs,
    shown_note,
    table,
)
from dse.report.reasons import breakdown, cost_parts, memory_parts
from dse.report.summary import Summary
from dse.report.units import MISSING, Scale, format_percent, format_with_unit, scale
from dse.report.values import read_result
from simcore.result import Result

_TIMES = {
    "compute": "compute",
    "tensor communication": "tensor",
    "data communication": "data",
    "pipeline communication": "pipeline",
    "expert communication": "expert",
    "context communication": "context",
    "bubble": "bubble",
    "optimizer": "optimizer",
    "other": "other",
}
_SLACK = "allocator, context, communicators"
_MEMORY = {
    "weights": "compute",
    "gradients": "tensor",
    "optimizer": "optimizer",
    "activations": "context",
    "keys and values": "expert",
    "working space": "bubble",
    _SLACK: "other",
}
_COSTS = {
    "NPUs": "compute",
    "network": "tensor",
    "memory": "context",
    "storage": "data",
    "racks and management": "pipeline",
    "electricity": "expert",
}
"""Part -> class of its colour."""


@dataclass(frozen=True, slots=True)
class _Spent:
    """What one kind of bar shows: its unit, the parts of a design, and more cells beside the whole."""

    unit: str
    colours: Mapping[str, str]
    parts: Callable[[Result], Mapping[str, float]]
    more: Mapping[str, Callable[[Summary, TrialRecord, Result, Scale], str]]
    digits: bool = False
    """Whether each part has a column of its own, beside the bar."""
    short: str = ""
    """The section in the contents."""


def time_section(summary: Summary) -> Section | None:
    """The iteration of each design, with the interval of its time."""
    spent = _Spent("s", _TIMES, breakdown, {"nine of ten lie in": _time_interval}, short="Time")
    note = "Exposed communication is the time an NPU waits for it. The interval is where nine of ten iterations lie."
    return _section("time", "Where the time goes", note, summary, spent)


def memory_section(summary: Summary) -> Section | None:
    """What must be reserved on each NPU of the fullest stage."""
    spent = _Spent("B", _MEMORY, _memory, {"of the NPU's": _share_reserved})
    note = "The fullest pipeline stage, per NPU: what its tensors take, and what must be free for them."
    return _section("memory", "Memory", note, summary, spent)


def cost_section(summary: Summary, prices: str) -> Section | None:
    """The price of each design's cluster by part; `prices` is what stands below it."""
    spent = _Spent(
        "$", _COSTS, lambda result: cost_parts(result.cost), {"per NPU": _per_npu}, digits=True, short="Cost"
    )
    section = _section("cost", "What it costs, by part", "", summary, spent)
    if section is None:
        return Section("cost", "Prices and their sources", prices, "Prices") if prices else None
    return replace(section, body=section.body + prices)


def _section(name: str, title: str, note: str, summary: Summary, spent: _Spent) -> Section | None:
    shown = [
        (row, trial, result, parts)
        for trial, row in front_rows(summary)
        if trial.metrics is not None and sum((parts := spent.parts(result := read_result(trial.metrics))).values()) > 0
    ]
    if not shown:
        return None
    used = [part for part in spent.colours if any(parts.get(part, 0.0) > 0 for *_, parts in shown)]
    totals = [sum(parts.values()) for *_, parts in shown]
    unit, longest = scale(spent.unit, totals), max(totals)
    own = used if spent.digits else []
    columns = [Column("design"), Column("parts"), Column("whole", True, unit.unit)]
    columns += [Column(part, True, unit.unit) for part in own] + [Column(more, True) for more in spent.more]
    rows = [
        [
            row,
            bars(_bars(parts, used, spent, longest)),
            unit.number(total),
            *(unit.number(parts.get(part, 0.0)) for part in own),
            *(escape_html(read(summary, trial, result, unit)) for read in spent.more.values()),
        ]
        for (row, trial, result, parts), total in zip(shown, totals, strict=True)
    ]
    body = legend({spent.colours[part]: part for part in used}) + table(title, columns, rows)
    return Section(name, title, paragraphs([f"{note} {shown_note(summary)}".strip()]) + body, spent.short)


def _bars(parts: Mapping[str, float], used: Iterable[str], spent: _Spent, longest: float) -> Sequence[Bar]:
    total = sum(parts.values())
    values = {part: parts.get(part, 0.0) for part in used}
    texts = {p: f"{p} {format_with_unit(v, spent.unit)}, {format_percent(v / total)}" for p, v in values.items()}
    return [Bar(spent.colours[part], value / longest, texts[part]) for part, value in values.items()]


def _time_interval(summary: Summary, trial: TrialRecord, result: Result, unit: Scale) -> str:
    del result
    ends = time_interval(summary, trial)
    return MISSING if ends is None else f"{unit.number(ends[0])} to {unit.number(ends[1])}"


def _memory(result: Result) -> dict[str, float]:
    """The parts of what is reserved."""
    parts = {} if result.memory_bytes is None else memory_parts(result.memory_bytes)
    return {_SLACK if name == "reserved beside" else name: size for name, size in parts.items()}


def _share_reserved(summary: Summary, trial: TrialRecord, result: Result, unit: Scale) -> str:
    del summary, trial
    memory, whole = result.memory_bytes, result.memory_capacity_bytes
    if memory is None or whole <= 0:
        return MISSING
    return f"{format_percent(max(memory.reserved, memory.peak) / whole)} of {unit.number(whole)}"


def _per_npu(summary: Summary, trial: TrialRecord, result: Result, unit: Scale) -> str:
    del summary, trial, unit
    return format_with_unit(result.cost.total / result.npus, "$")
