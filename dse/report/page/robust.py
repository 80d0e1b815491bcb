"""Two charts: how robust each design of the front is, and which parameters mattered for each objective."""

from __future__ import annotations

from dse.record import StudyRecord
from dse.report.importance import importance
from dse.report.page.base import Chart, bars, plot_text
from dse.report.robustness import PREDICTION, PRICES, robustness
from dse.report.summary import Summary
from dse.report.units import label, shorten

_COLOURS = ("@front", "@tensor", "@data", "@pipeline")
_MOST_PARAMETERS = 12


def robust_chart(record: StudyRecord, summary: Summary) -> Chart | None:
    """A bar for each design of the front: the share of price scenarios in which it stays; None without prices."""
    found = robustness(record, summary)
    known = {number for number, entry in found.items() if entry.prices is not None}
    shown = [(trial, name) for trial, name in bars(summary, told=True) if trial.number in known] if known else []
    if not shown:
        return None
    names = [plot_text(name) for _, name in shown]
    shares = [100.0 * (found[trial.number].prices or 0.0) for trial, _ in shown]
    colours = ["@front" if found[trial.number].prediction is not False else "@context" for trial, _ in shown]
    trace = {"type": "bar", "orientation": "h", "y": names, "x": shares, "marker": {"color": colours}}
    note = (
        f"Share of the scenarios in which a design stays on the front when the prices of network, NPUs and memory each "
        f"move by {PRICES:.0%} up, down or not. The paler ones leave it when their own time alone is at the upper end "
        f"of its prediction ({PREDICTION:.0%} longer where the result does not say)."
    )
    layout = {
        "height": 120 + 24 * len(shown),
        "xaxis": {"title": {"text": "Scenarios on the front [%]"}, "range": [0, 100]},
        "yaxis": {"autorange": "reversed", "automargin": True},
        "margin": {"l": 10, "r": 20, "t": 10, "b": 50},
    }
    return Chart("robustness", "Robustness of the front", note, [trace], layout)


def importance_chart(record: StudyRecord) -> Chart | None:
    """A group of bars for each parameter, one bar an objective; None where too little is known."""
    found = importance(record)
    if not found:
        return None
    most = {
        path: max(shares.get(path, 0.0) for shares in found.values()) for shares in found.values() for path in shares
    }
    paths = sorted(most, key=lambda path: (-most[path], path))[:_MOST_PARAMETERS]
    names = [plot_text(shorten(path, 40)) for path in paths]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": plot_text(label(objective)),
            "y": names,
            "x": [100.0 * shares.get(path, 0.0) for path in paths],
            "marker": {"color": _COLOURS[number % len(_COLOURS)]},
        }
        for number, (objective, shares) in enumerate(found.items())
    ]
    note = (
        "What the best tenth of the feasible trials have in common that others have not, per objective (PED-ANOVA). "
        "Parameters that only some designs have are left out."
    )
    legend = [(label(name), _COLOURS[number % len(_COLOURS)]) for number, name in enumerate(found)]
    layout = {
        "height": 120 + 18 * len(paths) * max(1, len(found)),
        "barmode": "group",
        "showlegend": False,
        "xaxis": {"title": {"text": "Share of importance [%]"}},
        "yaxis": {"autorange": "reversed", "automargin": True},
        "margin": {"l": 10, "r": 20, "t": 10, "b": 50},
    }
    return Chart("importance", "Which parameters mattered", note, traces, layout, legend)
