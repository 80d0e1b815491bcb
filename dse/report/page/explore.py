"""The places that the page's script fills: the front, the limits, designs side by side, all designs."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.page.base import escape_html, paragraphs
from dse.report.page.columns import PageTrials
from dse.report.page.still import still_picture
from dse.report.page.table import front_table
from dse.report.summary import Summary
from dse.report.units import format_number


def explore(record: StudyRecord, summary: Summary, trials: PageTrials) -> str:
    """Three sections; empty where no trial has a point. Without scripts: a picture and a table."""
    if not trials.rows:
        return ""
    many = len(record.objectives) > 1
    heading = "The front, and everything that was tried" if many else "The search, and the best of it"
    still = f"<noscript>{still_picture(record, summary, trials)}</noscript>"
    static = front_table(record, summary) if summary.front else ""
    return f"""<div class="explore"><section id="front"><h2>{heading}</h2>
{paragraphs([_thinned(trials)])}{still}
<div class="needs-script" hidden><div id="chart-controls" class="controls"></div>
<div id="chart"></div><div id="chart-legend"></div><fieldset id="limits"><legend>Limits</legend></fieldset></div>
<div id="picked" class="picked"></div><p id="said" role="status" aria-live="polite" class="unseen"></p></section>
<section id="compare" class="needs-script" hidden><h2>Side by side</h2><div id="compare-body"></div></section>
<section id="designs"><h2>The designs</h2>
<div class="needs-script" hidden><div id="filters" class="controls"></div><div id="parallel"></div>
<div id="parallel-controls" class="controls"></div></div>
<div id="designs-table">{static}</div></section>
<div id="actions" class="actions needs-script" role="toolbar" aria-label="Selection" hidden></div></div>"""


def _thinned(trials: PageTrials) -> str:
    shown = len(trials.rows)
    if shown == trials.all:
        return ""
    return (
        f"{format_number(shown)} of {format_number(trials.all)} designs are on this page, evenly spread; "
        "trials.csv has them all."
    )


def contents(headings: list[tuple[str, str]]) -> str:
    """Links to the sections, by name and title."""
    links = "".join(f"<li><a href='#{name}'>{escape_html(title)}</a></li>" for name, title in headings)
    return f"<nav aria-label='Contents'><ol>{links}</ol></nav>"
