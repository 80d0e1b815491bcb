"""The front as a picture that needs no script: an SVG of the first two objectives, or of the best value so far."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.page.base import escape_html, marks
from dse.report.page.columns import PageTrials
from dse.report.points import Kind, Window, best_so_far, staircase, window
from dse.report.summary import Summary
from dse.report.units import Scale, format_brief, label, scale, shorten_text

_WIDTH, _HEIGHT = 900, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 20, 20, 60
_MOST_POINTS = 1500
_STYLE = (
    "text{font:14px sans-serif;fill:#1f2933}line{stroke:#dfe4ea}.dominated{fill:#9aa5b1}.infeasible{fill:#d55e00}"
    ".cut{fill:#a0528a}.front,.knee{fill:#0072b2}.knee{stroke:#1f2933;stroke-width:2}polyline{fill:none;stroke:#0072b2}"
)


@dataclass(frozen=True)
class _Axis:
    """Where values stand on the picture, from `start` to `end`."""

    title: str
    limits: Window
    unit: Scale
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value, which may lie outside."""
        read: Callable[[float], float] = math.log10 if self.limits.log else float
        low, high = read(self.limits.low), read(self.limits.high)
        return self.start + (self.end - self.start) * (read(value) - low) / (high - low)

    def holds(self, value: float) -> bool:
        """Whether a value is on the picture."""
        return self.limits.holds(value)

    def ticks(self) -> list[tuple[float, str]]:
        """Place and text of each tick."""
        from matplotlib.ticker import LogLocator, MaxNLocator

        locator = LogLocator(subs=(1.0, 2.0, 5.0)) if self.limits.log else MaxNLocator(7)
        ends = (self.limits.low / self.unit.factor, self.limits.high / self.unit.factor)
        found = [float(tick) for tick in locator.tick_values(*ends) if ends[0] <= tick <= ends[1]]
        return [(self.at(tick * self.unit.factor), format_brief(tick)) for tick in found]


def still_picture(record: StudyRecord, summary: Summary, trials: PageTrials) -> str:
    """The picture as an image element; empty where no trial has a point."""
    if not trials.rows:
        return ""
    drawn = _draw_best(record, trials) if len(record.objectives) == 1 else _draw_front(record, summary, trials)
    svg = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}'><style>{_STYLE}</style>{drawn}</svg>"
    )
    told = escape_html(f"The Pareto front of {record.space}: {len(summary.front)} designs; knee: {summary.knee}")
    text = b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    return f"<img alt='{told}' src='data:image/svg+xml;base64,{text}'>"


def _draw_front(record: StudyRecord, summary: Summary, trials: PageTrials) -> str:
    first, second = record.objectives[:2]
    by_kind = _by_kind(trials)
    ends = [(_LEFT, _WIDTH - _RIGHT), (_HEIGHT - _BOTTOM, _TOP)]
    x, y = (_axis(o.name, o.unit, window(o, by_kind, None), *end) for o, end in zip((first, second), ends, strict=True))
    pairs = [(kind, trial.number, trial.values[first.name], trial.values[second.name]) for trial, kind in trials.rows]
    kept = [pairs[index] for index in spread_indices(len(pairs), _MOST_POINTS)]
    kept += [pair for pair in pairs if pair[0] == "front"]
    dots = [
        _dot(x, y, kind, values) for kind, _, *values in sorted(set(kept)) if x.holds(values[0]) and y.holds(values[1])
    ]
    stairs = ""
    if len(record.objectives) == 2 and summary.front:
        corners = zip(*staircase(record.objectives, summary.front), strict=True)
        stairs = f"<polyline points='{' '.join(f'{x.at(a):.1f},{y.at(b):.1f}' for a, b in corners)}'/>"
    marked = marks(summary)
    named = [_name(x, y, trial, first.name, second.name) for trial in summary.front if trial.number in marked]
    return _frame(x, y) + "".join(dots) + stairs + "".join(named)


def _draw_best(record: StudyRecord, trials: PageTrials) -> str:
    (objective,) = record.objectives
    numbers, values = best_so_far(objective, record.trials)
    limits = window(objective, _by_kind(trials), None)
    last = float(max(1, record.trials[-1].number))
    x = _axis("trial", "", Window(0.0, last), _LEFT, _WIDTH - _RIGHT)
    y = _axis(objective.name, objective.unit, limits, _HEIGHT - _BOTTOM, _TOP)
    rows = [trials.rows[index] for index in spread_indices(len(trials.rows), _MOST_POINTS)]
    points = [(kind, [float(trial.number), trial.values[objective.name]]) for trial, kind in rows]
    dots = "".join(_dot(x, y, kind, pair) for kind, pair in points if y.holds(pair[1]))
    steps = [(number, value) for number, value in zip(numbers, values, strict=True)]
    corners = [corner for before, after in zip(steps, [*steps[1:], (last, values[-1])] if steps else [], strict=True)
               for corner in (before, (after[0], before[1]))]  # fmt: skip
    line = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in corners if y.holds(b))
    return f"{_frame(x, y)}{dots}<polyline points='{line}'/>"


def _by_kind(trials: PageTrials) -> dict[Kind, list[TrialRecord]]:
    found: dict[Kind, list[TrialRecord]] = {"cut": [], "infeasible": [], "dominated": [], "front": []}
    for trial, kind in trials.rows:
        found[kind].append(trial)
    return found


def _axis(name: str, unit: str, limits: Window, start: float, end: float) -> _Axis:
    chosen = scale(unit, [limits.high], name)
    title = shorten_text(label(name), 50)
    return _Axis(f"{title} [{chosen.unit}]" if chosen.unit else title, limits, chosen, start, end)


def _frame(x: _Axis, y: _Axis) -> str:
    """Grid, ticks and titles."""
    low, left = _HEIGHT - _BOTTOM, _LEFT
    upright = [
        f"<line x1='{at:.1f}' x2='{at:.1f}' y1='{_TOP}' y2='{low}'/>"
        f"<text x='{at:.1f}' y='{low + 20}' text-anchor='middle'>{text}</text>"
        for at, text in x.ticks()
    ]
    level = [
        f"<line x1='{left}' x2='{_WIDTH - _RIGHT}' y1='{at:.1f}' y2='{at:.1f}'/>"
        f"<text x='{left - 8}' y='{at + 5:.1f}' text-anchor='end'>{text}</text>"
        for at, text in y.ticks()
    ]
    across = f"<text x='{(left + _WIDTH) / 2}' y='{_HEIGHT - 10}' text-anchor='middle'>{escape_html(x.title)}</text>"
    up = f"<text transform='translate(18 {low / 2}) rotate(-90)' text-anchor='middle'>{escape_html(y.title)}</text>"
    return "".join([*upright, *level, across, up])


def _dot(x: _Axis, y: _Axis, kind: str, values: Sequence[float]) -> str:
    radius = 5 if kind == "front" else 2.5
    return f"<circle class='{kind}' cx='{x.at(values[0]):.1f}' cy='{y.at(values[1]):.1f}' r='{radius}'/>"


def _name(x: _Axis, y: _Axis, trial: TrialRecord, first: str, second: str) -> str:
    a, b = x.at(trial.values[first]), y.at(trial.values[second])
    dot = f"<circle class='knee' cx='{a:.1f}' cy='{b:.1f}' r='7'/>"
    return f"{dot}<text x='{a + 10:.1f}' y='{b - 8:.1f}'>#{trial.number}</text>"
