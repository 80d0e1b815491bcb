"""What moving one thing does to one design: each key by a step of its space, each price by 30 %."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.aspects import short_name
from dse.report.describe import compare
from dse.report.plots import style
from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import simulated_trial
from dse.report.robustness import PARTS, PRICES, Prices
from dse.report.sensitivity import MINUS, format_change, format_value, short_path
from dse.report.units import format_percent, format_with_unit, label, shorten_text
from dse.whatif.answers import ParameterStep
from dse.whatif.ask import ask_steps
from simcore.document.problem import InputError, Problem
from simcore.network import TOPOLOGIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

MOST_KEYS = 16
_PANELS = 3
_LEAST = 5e-4
"""A smaller share of a value is not drawn."""
_TOPOLOGY = re.compile(r"([a-z][a-z_]*)\(")
_UNNAMED = re.compile(r"#\d+")
_KIND = ("NPUs", "topology")
"""Aspects by which an alternative without a name is called, the first that differs."""
_BETTER, _WORSE = "#0072B2", "#D55E00"
_LEFT, _ROW, _TOP, _BOTTOM = 2.7, 0.42, 1.3, 0.95
"""Room for the names, height of a row, and what is above and below them, in inches."""


@dataclass(frozen=True)
class Change:
    """One step: to what, and by which share of its value each objective becomes worse (below 0: better)."""

    to: str
    loss: Mapping[str, float | None]
    why: str
    """What it breaks; empty where it may be built."""


@dataclass(frozen=True)
class Moved:
    """A key, or several that move together, or a price; with every step that it can take."""

    name: str
    now: str
    changes: tuple[Change, ...]

    def extent(self) -> float:
        """The largest change of any objective."""
        return max((abs(loss) for c in self.changes for loss in c.loss.values() if loss is not None), default=0.0)


@dataclass(frozen=True)
class Steps:
    """What is drawn of one design."""

    run: str
    trial: int
    note: str
    objectives: tuple[tuple[str, float, str, float], ...]
    """Name, sign (1: to be minimised), unit and value of each."""
    moved: tuple[Moved, ...]
    """The most telling first."""
    of: int
    """Keys that can move at all."""


class Tornado(Plot[Steps]):
    """Bars to both sides."""

    about = "what one step of each key, and of each price, does to one design"
    takes = frozenset({"trial"})
    most = 1

    def collect(self, subjects: Sequence[Subject], options: Options) -> Steps:
        """See `Plot.collect`."""
        (subject,) = subjects
        record = subject.record
        assert record is not None
        word = options.trial[0] if options.trial else None
        trial = simulated_trial(subject, record, word)
        found = [*_group(_steps(subject, trial), trial), *_prices(record, trial)]
        kept = sorted((m for m in found if m.changes), key=lambda moved: -moved.extent())
        told = tuple((o.name, o.sign, o.unit, trial.values[o.name]) for o in record.objectives)
        knee = record.knee is not None and record.knee.number == trial.number
        note = word if word and not word.strip().isdecimal() else "knee" if knee else ""
        return Steps(record.space, trial.number, note, told, tuple(kept[:MOST_KEYS]), len(kept))

    def draw(self, data: Steps) -> Figure:
        """See `Plot.draw`."""
        return _draw(data)


def _steps(subject: Subject, trial: TrialRecord) -> tuple[ParameterStep, ...]:
    record, study = subject.record, subject.study
    assert record is not None
    if study is None:
        fix = "give its folder: dse.optimize(…, folder=…), or dse plot tornado RUN"
        raise InputError([Problem((), "a run that can be asked further", "one in memory alone", fix)], subject.name)
    evaluator = study.evaluator()
    subject.watcher.phase(f"simulating the steps from trial {trial.number}")
    steps = ask_steps(study.space, trial, evaluator, subject.watcher.note)
    if steps is None:
        found = f"trial {trial.number}, which it does not"
        raise InputError([Problem(("--trial",), "a design that the space gives", found)], subject.name)
    return steps


def _group(steps: Sequence[ParameterStep], trial: TrialRecord) -> Iterator[Moved]:
    """The steps by the keys that they move; a row of the picture each."""
    by_key: dict[tuple[str, ...], list[ParameterStep]] = {}
    for step in steps:
        by_key.setdefault(step.moved, []).append(step)
    for paths, listed in by_key.items():
        changes = tuple(
            Change(_join(paths, step, 1, trial), step.loss, "" if step.is_feasible else step.why) for step in listed
        )
        yield Moved(_name(paths), _join(paths, listed[0], 0, trial), changes)


def _join(paths: Sequence[str], step: ParameterStep, which: int, trial: TrialRecord) -> str:
    """The values of some keys before (0) or after (1) a step; of dimensions with the topologies in short.

    An alternative without a name is what tells the designs with it and without it apart, first the machine.
    """
    if any(_UNNAMED.fullmatch(str(step.changes[path][which])) for path in paths):
        phrases = compare([trial.design, step.design], _KIND).phrases[which]
        if phrases:
            return phrases[0]
    return _TOPOLOGY.sub(
        lambda match: f"{short_name(TOPOLOGIES, match[1])}(",
        " + ".join(format_value(step.changes[path][which]) for path in paths),
    )


def _name(paths: Sequence[str]) -> str:
    """`tensor + data`; of dimensions `bandwidth of dimensions 1 + 2`."""
    names = [short_path(path) for path in paths]
    parts = [name.removeprefix("dimension ").split(" ", 1) for name in names if name.startswith("dimension ")]
    if len(parts) == len(names) > 1 and len({key for _, key in parts}) == 1:
        return f"{parts[0][1]} of dimensions {' + '.join(number for number, _ in parts)}"
    return " + ".join(names)


def _prices(record: StudyRecord, trial: TrialRecord) -> Iterator[Moved]:
    """What a price list that is 30 % off does to the objectives that go with a price."""
    prices = Prices.of([trial])
    for place, (part, price) in enumerate(zip(PARTS, prices.parts[0], strict=True)):
        if price <= 0:
            continue
        changes = []
        for factor in (1 - PRICES, 1 + PRICES):
            factors = tuple(factor if index == place else 1.0 for index in range(len(PARTS)))
            loss = {
                o.name: None if o.expression else o.sign * (float(prices.metric_at(o.name, np.ones(1), factors)[0]) - 1)
                for o in record.objectives
            }
            changes.append(Change(f"{'+' if factor > 1 else MINUS}{format_percent(PRICES)}", loss, ""))
        if any(abs(loss or 0.0) > _LEAST for change in changes for loss in change.loss.values()):
            yield Moved(f"price of {'NPUs' if part == 'npu' else part}", "", tuple(changes))


def _draw(data: Steps) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style.STYLE):
        rows = max(2, len(data.moved))
        height = _TOP + _BOTTOM + _ROW * rows
        shown = data.objectives[:_PANELS]
        width = _LEFT + 4.3 * len(shown) + 0.3
        figure = Figure(figsize=(width, height))
        for index, objective in enumerate(shown):
            left = (_LEFT + 4.3 * index) / width
            axes = figure.add_axes((left, _BOTTOM / height, 3.9 / width, _ROW * rows / height))
            _draw_panel(axes, data, objective, first=index == 0)
        note = f" {data.note}" if data.note else ""
        among = "" if len(data.moved) == data.of else f", the {len(data.moved)} most telling of {data.of} shown"
        said = f"{data.run} #{data.trial}{note}  ·  {data.of} keys and prices moved one at a time{among}"
        style.write_headline(figure, "What one step of each key does to this design", said)
        style.draw_note(
            figure,
            [
                "Left: better, right: worse, in percent of this design's value; with what the key moves to.",
                "×: that design breaks a constraint." if any(c.why for m in data.moved for c in m.changes) else "",
                f"Prices move by {format_percent(PRICES)}." if any("price of" in m.name for m in data.moved) else "",
            ],
        )
        return figure


def _draw_panel(axes: Axes, data: Steps, objective: tuple[str, float, str, float], *, first: bool) -> None:
    name, sign, unit, value = objective
    extent = 100 * max(max((_ends(moved, name)[1] for moved in data.moved), default=0.0), 0.005)
    extent = max(extent, 100 * max((-_ends(moved, name)[0] for moved in data.moved), default=0.0))
    axes.set_xlim(-1.75 * extent, 1.75 * extent)
    axes.set_ylim(max(2, len(data.moved)) - 0.5, -0.5)
    for at, moved in enumerate(data.moved):
        _draw_moved(axes, at, moved, name, sign)
        if first:
            text = shorten_text(moved.name, 30)
            axes.annotate(
                text,
                (0, at),
                xycoords=axes.get_yaxis_transform(),
                xytext=(-8, 4 if moved.now else 0),
                ha="right",
                va="center",
                textcoords="offset points",
                fontsize=9.5,
                annotation_clip=False,
            )
            axes.annotate(
                shorten_text(moved.now, 34),
                (0, at),
                xycoords=axes.get_yaxis_transform(),
                xytext=(-8, -7),
                ha="right",
                va="center",
                textcoords="offset points",
                fontsize=7.8,
                color=style.QUIET,
                annotation_clip=False,
            )
    axes.axvline(0, color=style.INK, linewidth=1.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(lambda x, _: f"{sign * x:+g} %".replace("-", MINUS) if x else "0")
    axes.grid(visible=True, axis="x", color="#E4E7EB", linewidth=0.7)
    title = f"{label(name)}, now {format_with_unit(value, unit, name)}"
    axes.set_title(shorten_text(title[:1].upper() + title[1:], 48), fontsize=10.5, loc="left", pad=8)
    axes.tick_params(labelsize=9)


def _ends(moved: Moved, name: str) -> tuple[float, float]:
    """The best and the worst that a step makes of an objective, of those that may be built."""
    known = [loss for c in moved.changes if not c.why and (loss := c.loss.get(name)) is not None]
    return min(known, default=0.0), max(known, default=0.0)


def _draw_moved(axes: Axes, at: int, moved: Moved, name: str, sign: float) -> None:
    """The best and the worst step of a row, each with its value; what cannot be built at the right end."""
    low, high = _ends(moved, name)
    reach = axes.get_xlim()[1]
    for end, colour, side in ((low, _BETTER, -1), (high, _WORSE, 1)):
        if abs(end) < _LEAST or (end > 0) != (side > 0):
            continue
        axes.barh(at, 100 * end, 0.62, color=colour)
        change = next(c for c in moved.changes if not c.why and c.loss.get(name) == end)
        text = f"{shorten_text(change.to, 22)}  {format_change(end, sign)}"
        axes.text(
            100 * end + side * 0.015 * reach, at, text, ha="left" if side > 0 else "right", va="center", fontsize=8
        )
    if not any(abs(end) >= _LEAST for end in (low, high)) and any(not change.why for change in moved.changes):
        axes.text(0.015 * reach, at, "no change", va="center", fontsize=8, color=style.QUIET)
    broken = [change.to for change in moved.changes if change.why]
    if broken:
        clear = high < 0.55 * reach / 100
        text = f"× {shorten_text(' or '.join(broken), 22)}"
        if clear or high <= _LEAST:
            axes.text(reach, at, text, ha="right", va="center", fontsize=8, color=style.PURPLE)


TORNADO = Tornado()
