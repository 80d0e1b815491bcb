"""Which parameters mattered: overall and for coming near the front, and on the front."""

from __future__ import annotations

from collections.abc import Mapping

from dse.report.page.base import Bar, Column, Section, bars, escape_html, paragraphs, table
from dse.report.robustness import describe_scope
from dse.report.summary import Summary
from dse.report.units import MISSING, format_percent, label, shorten_text

_MOST_PARAMETERS = 12
_COLOURS = ("front", "tensor", "data", "pipeline")
_NEAREST = "being near the front"
_OVERALL = (
    "What the best tenth of the feasible trials have in common that others have not (PED-ANOVA): per objective, and "
    "for how near a design comes to the front. Parameters that only some designs have are left out."
)
_NEAR = (
    "The same among the quarter of the feasible trials nearest to the front: what makes one better there in an "
    "objective than another, so what is traded along the front."
)


def importance_section(summary: Summary) -> Section | None:
    """The section; None where too little is known."""
    found = summary.importance
    series = {label(name): shares for name, shares in found.overall.items()}
    near = {label(name): shares for name, shares in found.near_front.items()}
    if found.of_front:
        series[_NEAREST] = found.of_front
    told = describe_scope(summary)
    overall = "Which parameters mattered among the simulated" if told else "Which parameters mattered overall"
    parts = [_part(overall, f"{_OVERALL} {told}", series)]
    parts.append(_part("Which parameters mattered on the front", f"{_NEAR} {told}", near))
    body = "".join(parts)
    return Section("importance", "Which parameters mattered", body, "Importance") if body else None


def _part(heading: str, note: str, found: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each parameter, a bar and its share for each series."""
    if not found:
        return ""
    paths = dict.fromkeys(path for shares in found.values() for path in shares)
    most = {path: max(shares.get(path, 0.0) for shares in found.values()) for path in paths}
    longest = max(most.values()) or 1.0
    shown = sorted(most, key=lambda path: (-most[path], path))[:_MOST_PARAMETERS]
    columns = [Column("parameter"), *(Column(name) for name in found)]
    rows = [
        [
            escape_html(shorten_text(path, 60)),
            *(_share(shares.get(path), n, longest) for n, shares in enumerate(found.values())),
        ]
        for path in shown
    ]
    return f"<h3>{escape_html(heading)}</h3>{paragraphs([note.strip()])}{table(heading, columns, rows)}"


def _share(share: float | None, series: int, longest: float) -> str:
    if share is None:
        return MISSING
    part = Bar(_COLOURS[series % len(_COLOURS)], share / longest, format_percent(share))
    return f"{bars([part, Bar('rest', 1 - share / longest, '')])}<small>{format_percent(share)}</small>"
