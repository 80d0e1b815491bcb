"""`pareto.png` and `pareto.svg`: one figure per number of objectives, each in its own file.

A family member is a function `(StudyRecord, Summary) -> Figure`.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from dse.evaluate.record import StudyRecord
from dse.report.plots import convergence, matrix, pair
from dse.report.plots.base import STYLE, Draw, render
from dse.report.summary import Summary

__all__ = ["draw", "plot_bytes"]

_BY_OBJECTIVES: dict[int, Draw] = {1: convergence.draw, 2: pair.draw}


def draw(record: StudyRecord, summary: Summary) -> Figure:
    """The figure that suits the number of objectives; more than two become a matrix of pairs."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        return _BY_OBJECTIVES.get(len(record.objectives), matrix.draw)(record, summary)


def plot_bytes(record: StudyRecord, summary: Summary) -> dict[str, bytes]:
    """`png` and `svg` of the figure: the same bytes for the same study and version of matplotlib."""
    return render(draw(record, summary))
