"""How robust each design of the front is, as a chart: a row a design, a cell a question."""

from __future__ import annotations

from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.page.base import HEATMAP, Chart, count_designs, front_rows, plot_text, shown_note
from dse.report.robustness import Robustness, describe_scope, robustness
from dse.report.summary import Summary
from dse.report.units import format_number, format_percent, format_with_unit
from dse.whatif.answers import FACTORS, AtBatch


def robust_chart(record: StudyRecord, summary: Summary) -> Chart | None:
    """A heat map: prices, prediction and other batches for each design of the front; None where nothing is known."""
    found = robustness(summary)
    shown = [(trial, row) for trial, row in front_rows(summary, told=True) if trial.number in found]
    asked = [
        (name, [read(trial, found[trial.number]) for trial, _ in shown]) for name, read in _questions(record).items()
    ]
    columns = [(name, cells) for name, cells in asked if any(value is not None for value, *_ in cells)]
    if not columns:
        return None
    trace = {
        **HEATMAP,
        "x": [name for name, _ in columns],
        "y": [row for _, row in shown],
        "z": [[cells[index][0] for _, cells in columns] for index in range(len(shown))],
        "text": [[cells[index][1] for _, cells in columns] for index in range(len(shown))],
        "hovertext": [[plot_text(cells[index][2]) for _, cells in columns] for index in range(len(shown))],
        "textfont": {"size": 12},
    }
    layout = {
        "height": 96 + 30 * len(shown),
        "showlegend": False,
        "xaxis": {"type": "category", "side": "top", "showgrid": False},
        "yaxis": {
            "type": "category",
            "autorange": "reversed",
            "automargin": True,
            "ticksuffix": "  ",
            "showgrid": False,
        },
        "margin": {"l": 10, "r": 16, "t": 60, "b": 12},
    }
    note = f"{_note(summary)} {shown_note(len(shown), count_designs(summary))}"
    return Chart("robustness", "Robustness of the front", note.strip(), [trace], layout)


_Cell = tuple[float | None, str, str]
"""Shade of [0, 1], text, and what is shown on hovering."""


_TIMES = {0.5: "half", 2.0: "twice"}


def _questions(record: StudyRecord) -> dict[str, Any]:
    """Heading -> what gives a design's cell."""
    batches = {
        f"{_TIMES.get(factor, f'{factor:g} x')} the batch": lambda trial, robust, factor=factor: _batch(
            record, next((at for at in robust.batches if at.factor == factor), None)
        )
        for factor in FACTORS
    }
    return {"scenarios": _sure, **batches}


def _sure(trial: TrialRecord, robust: Robustness) -> _Cell:
    if robust.sure is None:
        return None, "", ""
    share = format_percent(robust.sure.on_front)
    regret = format_percent(robust.sure.regret_p90)
    return robust.sure.on_front, share, f"on the front in {share} of the scenarios; regret of one in ten: {regret}"


def _batch(record: StudyRecord, at: AtBatch | None) -> _Cell:
    if at is None:
        return None, "", ""
    if at.why:
        return 0.0, "cannot run", f"batch {at.batch:,g}: {at.why}"
    values = ", ".join(format_with_unit(at.values[o.name], o.unit, o.name) for o in record.objectives)
    said = "stays" if at.stays else "leaves"
    return float(at.stays), said, f"{said} at batch {at.batch:,g}: {values}"


def _note(summary: Summary) -> str:
    said = ["Whether a design stays on the front."]
    scenarios = summary.what_if.scenarios
    if scenarios is not None:
        said.append(
            f"Scenarios: the share of {format_number(scenarios.count)} draws of what the model does not know for sure "
            f"in which none of {format_number(len(scenarios.contenders))} contenders dominates it."
        )
    if describe_scope(summary):
        said.append(describe_scope(summary))
    if summary.what_if.batches:
        rivals = summary.what_if.rivals
        beside = f" and the {format_number(rivals)} dominated designs nearest to it" if rivals else ""
        said.append(f"Batches: simulated again with another global batch, against the front{beside}.")
    return " ".join(said)
