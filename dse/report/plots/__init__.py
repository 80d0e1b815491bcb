"""Pictures: `pareto.png` and `.svg` of a report, and the kinds of `dse plot`, each in its own file.

A kind is a `Plot`, listed once in `PLOTS`; packages add theirs by an entry point in the group `dse.plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.evaluate.record import StudyRecord
from dse.report.plots.base import Options, Plot, check_request
from dse.report.summary import Summary
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.family import Family

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

__all__ = ["PLOTS", "Options", "Picture", "Plot", "draw", "plot_bytes", "plot_named", "plot_of"]

PLOTS: Family[Plot[Any]] = Family(
    "dse.plots",
    Plot,
    {
        "front": "dse.report.plots.front:FRONT",
        "heatmap": "dse.report.plots.heatmap:HEATMAP",
        "breakdown": "dse.report.plots.breakdown:BREAKDOWN",
        "bandwidth": "dse.report.plots.bandwidth:BANDWIDTH",
        "memory": "dse.report.plots.memory:MEMORY",
        "cost": "dse.report.plots.cost:COST",
        "scaling": "dse.report.plots.scaling:SCALING",
        "tornado": "dse.report.plots.tornado:TORNADO",
        "timeline": "dse.report.plots.timeline:TIMELINE",
        "queues": "dse.report.plots.queues:QUEUES",
        "links": "dse.report.plots.links:LINKS",
        "regret": "dse.report.plots.regret:REGRET",
    },
)
"""The kinds of pictures, by name."""


@dataclass(frozen=True)
class Picture:
    """A figure, and the numbers that it shows."""

    figure: Figure
    numbers: dict[str, Any]


def plot_named(name: str) -> Plot[Any]:
    """The kind of that name; raises `InputError` where there is none."""
    if name not in PLOTS:
        fix = suggest_nearest(name, list(PLOTS)) or f"kinds: {', '.join(PLOTS)}"
        raise InputError([Problem(("KIND",), "a kind of picture", f"'{name}'", fix)], "command line")
    return PLOTS[name]


def plot_of(name: str, subjects: Sequence[Subject], options: Options | None = None) -> Picture:
    """The picture of a kind, of runs and designs.

    Raises `InputError` where there is no such kind, or where it cannot show them, with what to do about it.
    """
    kind, asked = plot_named(name), Options() if options is None else options
    check_request(name, kind, subjects, asked)
    data = kind.collect(subjects, asked)
    return Picture(_marked(kind.draw(data), any(map(_is_hypothetical, subjects))), kind.numbers(data))


def draw(record: StudyRecord, summary: Summary) -> Figure:
    """The front of one study, as its report has it."""
    from dse.report.plots.front import draw_front

    return _marked(draw_front(record, summary), bool(record.hypothetical))


def _marked(figure: Figure, hypothetical: bool) -> Figure:
    """A picture that says so where it may show what nobody sells."""
    if hypothetical:
        from dse.report.plots.style import mark_hypothetical

        mark_hypothetical(figure)
    return figure


def _is_hypothetical(subject: Subject) -> bool:
    if subject.record is not None:
        return bool(subject.record.hypothetical)
    return subject.result.orderable is False


def plot_bytes(record: StudyRecord, summary: Summary) -> dict[str, bytes]:
    """`png` and `svg` of the front: the same bytes for the same study and version of matplotlib."""
    from dse.report.plots.style import render

    figure = draw(record, summary)
    return {"png": render(figure, "png"), "svg": render(figure, "svg")}
