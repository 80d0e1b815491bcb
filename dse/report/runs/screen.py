"""Several runs side by side on a terminal of 80 columns."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dse.report.runs.json_form import share_of
from dse.report.runs.together import RunFront, Together
from dse.report.screen import say
from dse.report.sensitivity import format_change
from dse.report.units import (
    MISSING,
    format_number,
    format_percent,
    format_with_unit,
    label,
    scale,
    short_label,
    shorten_text,
)
from dse.space.objective import Objective

_MOST_SETTINGS = 10
_MOST_KEYS = 6
_MOST_VALUES = 3
_LEAST_SIZE = 0.01
"""Reach below which a key is not worth a row."""


def print_runs(together: Together, console: Console) -> None:
    """Print the fronts of several runs, what differs between the runs, and what each key does."""
    _print_fronts(together, console)
    if not together.union:
        say(console, "No run has a feasible design: there is no front to compare.")
    else:
        _print_levels(together, console)
        _print_shared(together, console)
    _print_settings(together, console)
    _print_effects(together, console)


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if index < left else "right", overflow="fold")
    return table


def _print_fronts(together: Together, console: Console) -> None:
    """A column for each run: how much it tried, how good its front is, and its best values."""
    table = _table("", *(run.name for run in together.runs))
    records = [run.record for run in together.runs]
    table.add_row("space", *(Text(shorten_text(record.space, 24)) for record in records))
    if any(record.hypothetical for record in records):
        table.add_row("hypothetical", *("yes" if record.hypothetical else "no" for record in records))
    table.add_row("designs tried", *(format_number(len(record.trials)) for record in records))
    table.add_row("on its front", *(format_number(len(record.front)) for record in records))
    table.add_row("left on the front of all", *(format_number(len(front.surviving)) for front in together.fronts))
    table.add_row("tried by no other", *(format_number(len(front.only_here)) for front in together.fronts))
    shares = [share_of(together, front) for front in together.fronts]
    table.add_row("hypervolume, of all", *(MISSING if s is None else f"{100 * s:.2f} %" for s in shares))
    for objective in together.objectives:
        first = together.fronts[0].best.get(objective.name)
        before = None if first is None else first.values[objective.name]
        cells = [_best(objective, front, before if index else None) for index, front in enumerate(together.fronts)]
        table.add_row(f"best {label(objective.name)}", *cells)
    for objective in together.objectives:
        knees = [record.knee for record in records]
        cells = [
            MISSING if knee is None else format_with_unit(knee.values[objective.name], objective.unit, objective.name)
            for knee in knees
        ]
        table.add_row(f"{label(objective.name)} at the knee", *cells)
    console.print(table)


def _best(objective: Objective, front: RunFront, before: float | None) -> str:
    """The best value of a run, and by how much it differs from that of the first run."""
    trial = front.best.get(objective.name)
    if trial is None:
        return MISSING
    value = trial.values[objective.name]
    text = format_with_unit(value, objective.unit, objective.name)
    if before is None or not before:
        return text
    return f"{text} ({format_change(objective.sign * (value - before) / abs(before), objective.sign)})"


def _print_levels(together: Together, console: Console) -> None:
    """What each run gives within the same limits of the second objective."""
    if len(together.levels) < 2:
        return
    first, second = together.objectives
    limits = scale(second.unit, [limit for limit, _ in together.levels], second.name)
    within = "up to" if second.sign > 0 else "from"
    table = _table(f"best {label(first.name)} at {label(second.name)}", *(run.name for run in together.runs))
    for limit, best in together.levels:
        cells = [MISSING if value is None else format_with_unit(value, first.unit, first.name) for value in best]
        table.add_row(f"{within} {limits.text(limit)}", *cells)
    console.print(Padding(table, (1, 0, 0, 0)))


def _print_shared(together: Together, console: Console) -> None:
    point = ", ".join(
        format_with_unit(value, o.unit, o.name)
        for o, value in zip(together.objectives, together.reference, strict=True)
    )
    console.print()
    say(
        console,
        f"The front of all has {format_number(len(together.union))} designs; hypervolumes are to the reference point "
        f"{point}.",
    )
    say(console, _describe_common(together))
    count, largest = together.changed
    if count:
        noun = "design has" if count == 1 else "designs have"
        say(
            console,
            f"Careful: {format_number(count)} shared {noun} other values in another run, by up to "
            f"{format_percent(largest)}: the runs used other versions, engines or numbers.",
        )


def _describe_common(together: Together) -> str:
    """How many designs the runs have in common."""
    if not together.shared:
        return "No design was tried by more than one run."
    tried = "1 design was" if together.shared == 1 else f"{format_number(together.shared)} designs were"
    several = sum(len(design.on_front) > 1 for design in together.common)
    counts = (
        (len(together.common) - several, "on the front of one run alone"),
        (several, "on the fronts of several runs"),
        (together.shared - len(together.common), "on no front"),
    )
    told = ", ".join(f"{format_number(count)} {where}" for count, where in counts if count)
    return f"{tried} tried by more than one run: {told}."


def _print_settings(together: Together, console: Console) -> None:
    if not together.settings:
        console.print()
        say(console, "The settings of all runs are the same.")
        return
    table = _table("settings that differ", *(run.name for run in together.runs), left=1 + len(together.runs))
    for setting in together.settings[:_MOST_SETTINGS]:
        table.add_row(Text(setting.title), *(Text(setting.text(run.name)) for run in together.runs))
    console.print(Padding(table, (1, 0, 0, 0)))
    if any(setting.of_job for setting in together.settings):
        say(console, "Careful: the runs are of different jobs: a shorter time may only be that of less work.")
    if len(together.settings) > _MOST_SETTINGS:
        say(console, f"{len(together.settings) - _MOST_SETTINGS} more are in --json.")


def _print_effects(together: Together, console: Console) -> None:
    """The keys that matter most, with the best and the worst of their values."""
    shown = [effect for effect in together.effects if effect.size >= _LEAST_SIZE][:_MOST_KEYS]
    if not shown:
        return
    names = [f"best {short_label(objective.name)}" for objective in together.objectives]
    table = _table("key", "value", "designs", "on front", "reach", *names, left=2)
    for column in (table.columns[0], *table.columns[2:]):
        column.no_wrap = True
    for effect in shown:
        common = effect.common
        kept = common if len(common) <= _MOST_VALUES + 1 else (*common[:_MOST_VALUES], common[-1])
        for index, entry in enumerate(kept):
            cells = [format_with_unit(entry.best[o.name], o.unit, o.name) for o in together.objectives]
            name = effect.key if index == 0 else f"  worst of {len(common)}" if index == _MOST_VALUES else ""
            numbers = (format_number(entry.designs), format_number(entry.on_front), format_percent(entry.reach))
            table.add_row(Text(name), Text(shorten_text(entry.value or MISSING, 40)), *numbers, *cells)
    console.print(Padding(table, (1, 0, 0, 0)))
    say(console, "Reach: hypervolume of the tried designs with that value alone, as a share of that of all.")
