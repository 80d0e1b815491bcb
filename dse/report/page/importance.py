"""Charts of which parameters mattered: overall and for coming near the front, and on the front."""

from __future__ import annotations

from collections.abc import Mapping

from dse.report.page.base import Chart, plot_text
from dse.report.robustness import describe_scope
from dse.report.summary import Summary
from dse.report.units import label, shorten_text

_COLOURS = ("@front", "@tensor", "@data", "@pipeline")
_FRONT = "@context"
_MOST_PARAMETERS = 12
_OVERALL = (
    "What the best tenth of the feasible trials have in common that others have not (PED-ANOVA): per objective, and "
    "for how near a design comes to the front. Parameters that only some designs have are left out."
)
_NEAR = (
    "The same among the quarter of the feasible trials nearest to the front: what makes one better there in an "
    "objective than another, so what is traded along the front."
)


def importance_charts(summary: Summary) -> list[Chart | None]:
    """The charts, None where too little is known."""
    found = summary.importance
    series = {label(name): shares for name, shares in found.overall.items()}
    near = {label(name): shares for name, shares in found.near_front.items()}
    colours = dict(zip(dict.fromkeys([*series, *near]), _COLOURS, strict=False))
    if found.of_front:
        series["being near the front"] = found.of_front
        colours["being near the front"] = _FRONT
    told = describe_scope(summary)
    overall = "Which parameters mattered among the simulated" if told else "Which parameters mattered overall"
    return [
        _chart("importance", overall, f"{_OVERALL} {told}".strip(), series, colours),
        _chart("importance-front", "Which parameters mattered on the front", f"{_NEAR} {told}".strip(), near, colours),
    ]


def _chart(
    name: str, heading: str, note: str, found: Mapping[str, Mapping[str, float]], colours: Mapping[str, str]
) -> Chart | None:
    """A group of bars for each parameter, one bar a series."""
    if not found:
        return None
    paths = dict.fromkeys(path for shares in found.values() for path in shares)
    most = {path: max(shares.get(path, 0.0) for shares in found.values()) for path in paths}
    shown = sorted(most, key=lambda path: (-most[path], path))[:_MOST_PARAMETERS]
    rows = [plot_text(shorten_text(path, 40)) for path in shown]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": plot_text(series),
            "y": rows,
            "x": [100.0 * shares.get(path, 0.0) for path in shown],
            "hovertemplate": f"%{{y}}<br>{plot_text(series)}: %{{x:.1f}} %<extra></extra>",
            "marker": {"color": colours[series]},
        }
        for series, shares in found.items()
    ]
    layout = {
        "height": 112 + (14 * len(found) + 10) * len(shown),
        "barmode": "group",
        "bargap": 0.28,
        "showlegend": False,
        "xaxis": {"title": {"text": "share of importance [%]", "standoff": 8}, "zeroline": False},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True, "ticksuffix": "  "},
        "margin": {"l": 10, "r": 20, "t": 32, "b": 46},
    }
    legend = [(plot_text(series), colours[series]) for series in found]
    return Chart(name, heading, note, traces, layout, legend)
