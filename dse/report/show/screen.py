"""One design of a study on a terminal's screen of 80 columns."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.assumptions import describe_notices, describe_tokens
from dse.report.describe import headline
from dse.report.jobs import HEADS, describe_jobs, job_rows, name_fullest, name_slowest
from dse.report.orders import describe_order
from dse.report.power import describe_power
from dse.report.reasons import breakdown, cost_parts, memory_parts
from dse.report.screen import format_interval, name_memory, name_part, say
from dse.report.sensitivity import format_change
from dse.report.show.facts import Neighbour, Shown, explain_state, plain_values, workload_parts
from dse.report.units import (
    MISSING,
    clean_text,
    format_number,
    format_percent,
    format_with_unit,
    label,
    shorten_text,
)
from dse.report.values import read_result
from simcore.result import Result

_WORDS = {"robust": "robust pick", "knee": "knee"}
_OF_JOB = ("workload", "batch", "degrees", "ZeRO", "microbatch", "interleave", "recompute", "seq. parallel")
_MOST_LISTED = 10
_NAME = 12
"""Characters of the name of a job above a table."""
_LEAST_SIZE = 2.0**20
"""Bytes below which a part of the memory is not listed."""


def print_shown(record: StudyRecord, shown: Shown, console: Console) -> None:
    """Print one design: what it is, its values, where time, memory and money go, and its place on the front."""
    trial = shown.trial
    say(console, _title(record, shown), "bold")
    for paragraph in _designs(trial):
        say(console, paragraph)
    if why := explain_state(trial):
        say(console, why, "bold")
    if trial.metrics is not None and (told := describe_order(read_result(trial.metrics), bool(record.hypothetical))):
        say(console, told)
    console.print(_values(record, shown))
    if shown.futures:
        console.print(_futures(record, shown))
    for name, part in workload_parts(trial):
        assert part.metrics is not None
        result = read_result(part.metrics)
        if name:
            seconds = format_with_unit(result.iteration_time_s, "s")
            say(console, f"\n{clean_text(name)}: {seconds} an iteration; {headline(part.design, _OF_JOB)}", "bold")
        if result.jobs:
            console.print(_jobs(result))
        console.print(_anatomy(result))
    console.print()
    for sentence in (*_place(record, shown), *describe_tokens(trial), *describe_notices(trial)):
        say(console, sentence)
    for notice in record.notices:
        say(console, f"Note: {clean_text(notice)}")


def _title(record: StudyRecord, shown: Shown) -> str:
    told = ["the design to build"] if shown.built else []
    told += [_WORDS.get(name, f"best {label(name.partition(':')[2])}") for name in shown.names]
    role = f", {' and '.join(told)}" if told else ", on the front" if shown.on_front else f", {shown.trial.state}"
    if shown.trial.state == "feasible" and not shown.on_front:
        role += ", dominated"
    return f"{clean_text(record.space)}: trial {shown.trial.number} of {format_number(len(record.trials))}{role}"


def _designs(trial: TrialRecord) -> list[str]:
    if trial.design is None:
        return ["The design could not be built."]
    text, stack = headline(trial.decided_document), headline(trial.decided_document, ["software"])
    return [f"{text}, {stack}" if "software" in trial.params and stack not in text else text]


def _values(record: StudyRecord, shown: Shown) -> RenderableType:
    """The objectives, each with its interval, and what else an architect asks first."""
    trial = shown.trial
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    bound = "bound " if trial.state == "cut" else ""
    for name, value in plain_values(record, trial).items():
        unit = next(objective.unit for objective in record.objectives if objective.name == name)
        text = f"{bound}{format_with_unit(value, unit, name)}"
        if name in shown.intervals:
            text += f" {format_interval(shown.intervals[name], unit, name)}"
        table.add_row(Text(label(name)), Text(text))
    if trial.metrics is not None and not trial.workloads:
        table.add_row("also", Text(_more(read_result(trial.metrics))))
    return Padding(table, (1, 0, 0, 0))


def _futures(record: StudyRecord, shown: Shown) -> RenderableType:
    """The tuned metric in each future, and what is lost there."""
    assert record.purchase is not None
    tune = record.purchase.tune
    table = _part(f"future ({label(tune.name)})", "", "regret", "at its price")
    for future in shown.futures["futures"]:
        regret = future["regret"]
        lost = [MISSING] * 2 if regret is None else [format_percent(regret[key]) for key in ("own_best", "at_price")]
        table.add_row(Text(clean_text(future["name"])), format_with_unit(future["value"], tune.unit, tune.name), *lost)
    return Padding(table, (1, 0, 0, 0))


def _more(result: Result) -> str:
    parts = []
    if result.throughput_tokens_per_s:
        parts.append(format_with_unit(result.throughput_tokens_per_s, f"{result.throughput_counts}/s"))
    parts += [f"MFU {100 * result.mfu:.1f} %"] if result.mfu else []
    parts += [f"{describe_power(result)}, {format_with_unit(result.energy_j, 'J')} an iteration"]
    return ", ".join([*parts, f"{result.npus:,} NPUs"])


def _anatomy(result: Result) -> RenderableType:
    """Where time, memory and money go, side by side, and what the network carries."""
    left, right = Table.grid(), Table.grid()
    left.add_row(_time(result))
    left.add_row(Padding(_network(result), (1, 0, 0, 0)))
    right.add_row(_memory(result))
    right.add_row(Padding(_cost(result), (1, 0, 0, 0)))
    both = Table.grid(padding=(0, 2))
    both.add_row(left, right)
    return Padding(both, (1, 0, 0, 0))


def _jobs(result: Result) -> RenderableType:
    """What each of several jobs takes alone and beside the others."""
    table, whole = _part(HEADS[0], *HEADS[1:]), Table.grid()
    for name, *cells in job_rows(result.jobs):
        table.add_row(Text(name), *cells)
    whole.add_row(table)
    if said := describe_jobs(result.jobs):
        whole.add_row(" ".join(said))
    return Padding(whole, (1, 0, 0, 0))


def _part(title: str, *heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column(title, no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _time(result: Result) -> Table:
    slowest = name_slowest(result.jobs)
    table = _part(f"time of {shorten_text(slowest, _NAME)}" if slowest else "where the time goes", "", "")
    total = result.iteration_time_s
    for name, seconds in sorted(breakdown(result).items(), key=lambda pair: -pair[1]):
        if seconds:
            table.add_row(name_part(name), format_with_unit(seconds, "s"), format_percent(seconds / total))
    return table


def _memory(result: Result) -> Table:
    memory = result.memory_bytes
    if memory is None:
        return _part("no memory to speak of")
    fullest, fits = name_fullest(result.jobs), "fits" if result.fits else "does not fit"
    table = _part(f"memory of {shorten_text(fullest, _NAME)}" if fullest else f"memory ({fits})", "", "")
    whole = result.memory_capacity_bytes
    for name, size in {**memory_parts(memory), "in all": memory.reserved}.items():
        if size > _LEAST_SIZE:
            share = "" if memory.own is not None else format_percent(size / whole)
            table.add_row(name_memory(name), format_with_unit(size, "B"), share)
    if memory.own is not None:
        there = memory.expanded or 0.0
        for where, size, has in (("own", memory.reserved - there, memory.own), ("expanded", there, whole - memory.own)):
            label = f"{where}, of {format_with_unit(has, 'B')}"
            table.add_row(label, format_with_unit(size, "B"), format_percent(size / has))
        return table
    table.add_row("an NPU has", format_with_unit(whole, "B"), "")
    return table


def _cost(result: Result) -> Table:
    cost = result.cost
    table = _part(f"cost {format_with_unit(cost.total, '$')}", "", "")
    for name, dollars in cost_parts(cost).items():
        if dollars:
            table.add_row(name, format_with_unit(dollars, "$"), format_percent(dollars / cost.total))
    if result.ownership_cost is not None and result.yearly_cost is not None:
        table.add_row("every year", format_with_unit(result.yearly_cost, "$"), "")
        table.add_row("to own (TCO)", format_with_unit(result.ownership_cost, "$"), "")
    return table


def _network(result: Result) -> Table:
    table = _part("network", "busy", "used")
    for use in result.network:
        share = format_percent(use.busy_s / result.iteration_time_s) if result.iteration_time_s else MISSING
        table.add_row(Text(use.dimension), share, format_percent(use.utilization))
    return table


def _place(record: StudyRecord, shown: Shown) -> list[str]:
    """Its place among the others, in sentences."""
    said = [_describe_sureness(shown)]
    if shown.dominated_by is not None:
        why = "; dse report says why that one is not built" if shown.passed_over == shown.dominated_by else ""
        said.append(f"Dominated, for instance by trial {shown.dominated_by}, which is no worse in any objective{why}.")
    said.append(_describe_family(shown))
    said += [_describe_neighbour(record, neighbour) for neighbour in shown.neighbours]
    return [sentence for sentence in said if sentence]


def _describe_sureness(shown: Shown) -> str:
    sure = shown.sureness
    if sure is None:
        return ""
    return (
        f"On the front in {format_percent(sure.on_front)} of the scenarios; regret {format_percent(sure.regret)} on "
        f"average, {format_percent(sure.regret_p90)} in the worst but one of ten."
    )


def _describe_family(shown: Shown) -> str:
    family = shown.family
    if family is None:
        return ""
    others = [number for number in family.trials if number != shown.trial.number]
    if not others:
        return "No other design of the front is nearly the same."
    listed = ", ".join(map(str, others[:_MOST_LISTED])) + (", …" if len(others) > _MOST_LISTED else "")
    noun = "trial" if len(others) == 1 else "trials"
    return f"The model can hardly tell it from {noun} {listed} of the front: take any of them."


def _describe_neighbour(record: StudyRecord, neighbour: Neighbour) -> str:
    changes = [
        f"{label(o.name)} {format_change(None if share is None else share * o.sign, o.sign)}"
        for o in record.objectives
        if (share := neighbour.change[o.name]) != 0.0
    ]
    differs = "; ".join(f"{name} {a} → {b}" for name, (a, b) in list(neighbour.differs.items())[:4])
    more = len(neighbour.differs) - 4
    rest = f"; {more} more" if more > 0 else ""
    return shorten_text(
        f"Next better {label(neighbour.better)}: trial {neighbour.trial}, {', '.join(changes)} ({differs}{rest}).", 400
    )
