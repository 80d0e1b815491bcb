"""An explained design on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dse.explain.changes import Tried
from dse.explain.difference import PartDifference
from dse.explain.explained import Compared, Explained, Side
from dse.explain.parts import TimePart
from dse.explain.subsets import Pair
from dse.report.describe import headline
from dse.report.orders import describe_order
from dse.report.power import describe_power
from dse.report.reasons import memory_parts
from dse.report.screen import Unbroken, format_interval, name_part
from dse.report.sensitivity import NO_CHANGE, format_change
from dse.report.units import clean_text, format_percent, format_with_unit
from dse.whatif.answers import DOES_NOT_FIT
from simcore.result import Result

_MOST_STEPS = 8
_MATERIAL = 0.001
"""Share of the time below which a step is not listed."""
_MOST_CHANGES = 12
_MOST_PAIRS = 5


def print_explained(name: str, explained: Explained, console: Console) -> None:
    """Print a design: where its time, memory and money go, and which single steps help most."""
    _print_side(name, explained.side, console)
    _print_parts(explained.parts, console)
    _print_holdings(explained.side, console)
    _print_steps(explained, console)


def print_compared(names: tuple[str, str], compared: Compared, console: Console) -> None:
    """Print two designs: what differs, the difference by part, and which changes lead from the one to the other."""
    _print_side(f"A {names[0]}", compared.side, console)
    _print_side(f"B {names[1]}", compared.against, console)
    if not compared.changes:
        _say(console, "\nThe two are the same design.")
        return
    _print_differences(compared, console)
    _print_reasons(compared, console)
    _print_singles(compared, console)
    _print_pairs(compared, console)


def _print_side(name: str, side: Side, console: Console) -> None:
    result = side.result
    _say(console, clean_text(name), "bold")
    _say(console, headline(side.document))
    parts = [f"Iteration {format_with_unit(result.iteration_time_s, 's')}{_interval(result)}"]
    if result.throughput_tokens_per_s:
        parts.append(format_with_unit(result.throughput_tokens_per_s, f"{result.throughput_counts}/s"))
    parts += [f"MFU {100 * result.mfu:.1f} %"] if result.mfu else []
    parts += [format_with_unit(result.cost.total, "$"), describe_power(result)]
    parts += ["does not fit"] if result.fits is False else []
    _say(console, f"{', '.join(parts)}.")
    if told := describe_order(result):
        _say(console, told)


def _interval(result: Result) -> str:
    ends = result.iteration_time_interval_s
    return "" if ends is None else f" {format_interval(ends, 's')}"


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Unbroken(text, style))


def _table(*columns: str, widest: int = 0) -> Table:
    """A table whose columns are numbers, but for the first and the `widest`, which is text of several lines."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        text = index in (0, widest)
        table.add_column(column, justify="left" if text else "right", no_wrap=index != widest)
    return table


def _print_parts(parts: Sequence[TimePart], console: Console) -> None:
    table = _table("where the time goes", "", "", "", widest=3)
    for part in parts:
        table.add_row(
            name_part(part.name), format_with_unit(part.seconds, "s"), format_percent(part.share), Unbroken(part.why)
        )
    console.print(Padding(table, (1, 0, 0, 0)))


def _print_holdings(side: Side, console: Console) -> None:
    """Memory and cost, a sentence each."""
    result, memory = side.result, side.result.memory_bytes
    console.print()
    if memory is not None:
        names = ("activations", "optimizer", "weights", "gradients", "keys and values")
        held = memory_parts(memory)
        parts = ", ".join(f"{name} {format_with_unit(held[name], 'B')}" for name in names if held[name])
        share = format_percent(memory.reserved / result.memory_capacity_bytes)
        whole = format_with_unit(result.memory_capacity_bytes, "B")
        _say(console, f"Memory: {share} of {whole} an NPU is reserved at the peak: {parts}.")
    cost, total = result.cost, result.cost.total
    shares = [f"{format_with_unit(dollars, '$')} for dimension {i}" for i, dollars in enumerate(side.network_cost)]
    said = [f"NPUs {format_with_unit(cost.npu, '$')}", f"network {format_with_unit(cost.network, '$')}"]
    more = {"memory": cost.memory, "storage": cost.storage, "racks and management": cost.other}
    said += [f"{part} {format_with_unit(price, '$')}" for part, price in more.items() if price]
    text = f"Cost {format_with_unit(total, '$')}: {', '.join(said)}"
    _say(console, f"{text} ({', '.join(shares)})." if len(shares) > 1 else f"{text}.")


def _print_steps(explained: Explained, console: Console) -> None:
    base = explained.side.result
    possible = [tried for tried in explained.steps if not tried.why]
    material = [tried for tried in possible if abs(_time(tried) / base.iteration_time_s - 1) >= _MATERIAL]
    console.print()
    if material:
        table = _table("one step from here, best first", "time", "cost", "memory")
        for tried in material[:_MOST_STEPS]:
            table.add_row(Text(tried.text), *_changes(base, tried))
        console.print(table)
    alike = len(possible) - len(material)
    _say(
        console,
        f"{len(explained.steps)} steps of common keys were tried: {len(possible)} are designs that fit, {alike} of "
        f"these change the time by less than {format_percent(_MATERIAL)}.",
    )
    faster = next((t for t in explained.steps if t.why == DOES_NOT_FIT and _time(t) < base.iteration_time_s), None)
    if faster is not None:
        gain = format_change(_time(faster) / base.iteration_time_s - 1, 1.0)
        _say(console, f"With more memory also {faster.text}: time {gain}; it does not fit.")
    if explained.steps_left_out:
        _say(console, f"{explained.steps_left_out} steps were left out: --simulations N allows more.")


def _time(tried: Tried) -> float:
    return float("inf") if tried.result is None else tried.result.iteration_time_s


def _changes(base: Result, tried: Tried) -> tuple[str, str, str]:
    """Time, cost and memory of a changed design, beside those of the one it comes from."""
    result = tried.result
    assert result is not None
    time = format_change(result.iteration_time_s / base.iteration_time_s - 1, 1.0)
    cost = format_change(result.cost.total / base.cost.total - 1, 1.0) if base.cost.total else "="
    memory = result.memory_bytes
    full = "" if memory is None else f"{format_percent(memory.reserved / result.memory_capacity_bytes)} full"
    return time, cost, full


def _print_differences(compared: Compared, console: Console) -> None:
    one, other = compared.side.result, compared.against.result
    table = _table("difference by part", "A", "B", "B − A", "of A")
    _add_parts(table, compared.time, "iteration", one.iteration_time_s, other.iteration_time_s, "s")
    _add_parts(table, compared.cost, "cost", one.cost.total, other.cost.total, "$")
    if one.memory_bytes is not None and other.memory_bytes is not None:
        _add_parts(table, compared.memory, "memory", one.memory_bytes.reserved, other.memory_bytes.reserved, "B")
    console.print(Padding(table, (1, 0, 0, 0)))
    if one.throughput_tokens_per_s and other.throughput_tokens_per_s and one.npus != other.npus:
        _say(console, f"A has {one.npus:,} NPUs, B {other.npus:,}.")


def _add_parts(
    table: Table, parts: Sequence[PartDifference], total: str, before: float, after: float, unit: str
) -> None:
    """The parts that change, then their total."""
    changed = [part for part in parts if abs(part.change) > NO_CHANGE * abs(before)]
    for part in changed:
        table.add_row(f"  {'NPUs' if part.part == 'npu' else part.part}", *_row(part, unit, before))
    table.add_row(*_bold(total, *_row(PartDifference(total, before, after), unit, before)))


def _row(part: PartDifference, unit: str, whole: float) -> tuple[str, str, str, str]:
    share = format_change(part.change / whole, 1.0) if whole else "="
    change = format_with_unit(abs(part.change), unit)
    sign = "+" if part.change > 0 else "−" if part.change else ""
    return format_with_unit(part.before, unit), format_with_unit(part.after, unit), f"{sign}{change}", share


def _bold(*cells: str) -> list[Text]:
    return [Text(cell, style="bold") for cell in cells]


def _print_reasons(compared: Compared, console: Console) -> None:
    """What is behind the part that changes most, in either design."""
    part = compared.time[0].part if compared.time else ""
    for name, parts in (("A", compared.parts), ("B", compared.against_parts)):
        why = next((known.why for known in parts if known.name == part), "")
        if why:
            _say(console, f"{name}, {part}: {why}.")


def _print_singles(compared: Compared, console: Console) -> None:
    base, singles = compared.side.result, compared.subsets.singles
    table = _table("one change of A towards B", "time", "cost", "memory")
    for tried in singles[:_MOST_CHANGES]:
        text = Text(tried.text)
        if tried.result is None:
            table.add_row(text, "not alone", "", "")
        else:
            time, cost, memory = _changes(base, tried)
            table.add_row(text, time, cost, memory if not tried.why else f"{memory}: too much")
    whole = Tried((), compared.against.result, "")
    table.add_row(*_bold(f"all {len(compared.changes)}: B", *_changes(base, whole)))
    console.print(Padding(table, (1, 0, 0, 0)))
    if len(singles) > _MOST_CHANGES:
        _say(console, f"{len(singles) - _MOST_CHANGES} more are in --json.")


def _print_pairs(compared: Compared, console: Console) -> None:
    """The pairs that help most, and how much more or less than their parts."""
    base, subsets = compared.side.result, compared.subsets
    good = [pair for pair in subsets.pairs if not pair.tried.why]
    if not good:
        return
    table = _table("two changes of A towards B", "time", "cost", "together")
    for pair in good[:_MOST_PAIRS]:
        time, cost, _ = _changes(base, pair.tried)
        table.add_row(Text(pair.tried.name), time, cost, _together(pair, base))
    console.print(Padding(table, (1, 0, 0, 0)))
    tried = "1 pair was" if len(subsets.pairs) == 1 else f"{len(subsets.pairs)} pairs were"
    left = f"; {subsets.left_out} were left out (--simulations N)" if subsets.left_out else ""
    _say(console, f"{tried} tried{left}. Together: beyond the sum of the two alone.")


def _together(pair: Pair, base: Result) -> str:
    if pair.interaction is None:
        return "only so"
    return format_change(pair.interaction / base.iteration_time_s, 1.0)
