"""`report.html`: one file that holds everything it needs, works offline, and asks no server for anything.

Charts are data (plotly figures as JSON, drawn by the plotly.js inside the page); everything else is HTML. Names in a
space may come from a stranger: text is escaped, JSON cannot end its script element, and the page's own content
security policy forbids every request.
"""

from __future__ import annotations

from importlib.resources import files

from dse.evaluate.record import StudyRecord
from dse.report.page import breakdown, importance, parameters, pareto, robust, sections
from dse.report.page.base import Chart, charts_json, escape_html
from dse.report.summary import Summary

__all__ = ["report_html"]

# plotly's WebGL charts compile their own functions ('unsafe-eval'); nothing may be fetched.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"


def report_html(record: StudyRecord, summary: Summary) -> str:
    """The page."""
    charts = [chart for chart in _charts(record, summary) if chart is not None]
    body = "\n".join(part for part in sections.body(record, summary, charts) if part)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape_html(record.space)}: design-space exploration</title>
<style>
{_asset("style.css")}
</style>
</head>
<body>
{body}
<script type="application/json" id="charts">{charts_json(charts)}</script>
<script>{_plotly()}</script>
<script>
{_asset("script.js")}
</script>
</body>
</html>
"""


def _charts(record: StudyRecord, summary: Summary) -> list[Chart | None]:
    return [
        pareto.chart(record, summary),
        breakdown.time_chart(summary),
        breakdown.network_chart(summary),
        breakdown.cost_chart(summary),
        parameters.chart(record, summary),
        robust.robust_chart(record, summary),
        *importance.importance_charts(summary),
    ]


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    return source.replace("</script", "<\\/script")
