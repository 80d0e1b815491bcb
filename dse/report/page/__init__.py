"""`report.html`: one file that holds everything it needs, works offline, and asks no server for anything.

Sections are HTML, made here, and read well without scripts. The script adds what is interactive: it is `script/*.js`,
one concept a file, after the d3 of `vendor/`. Names in a space may come from a stranger: text is escaped, JSON cannot
end its element, and the page's own content security policy runs no script and applies no style but those of this
module, by their hashes, and forbids every request.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from dse.evaluate.record import StudyRecord
from dse.report.page.base import Section, escape_html
from dse.report.page.columns import PageTrials
from dse.report.page.data import page_json
from dse.report.page.explore import contents, explore
from dse.report.page.head import decision, gap_notes, header
from dse.report.page.importance import importance_section
from dse.report.page.network import network_section
from dse.report.page.repeat import repeat_section
from dse.report.page.ruled_out import ruled_out_section
from dse.report.page.sources import prices, provenance_section
from dse.report.page.spent import cost_section, memory_section, time_section
from dse.report.page.steps import steps_section
from dse.report.page.sure import sure_section
from dse.report.page.workloads import futures_section, phases_section, workloads_section
from dse.report.summary import Summary

__all__ = ["report_html"]

SCRIPTS = (
    "data",
    "format",
    "state",
    "element",
    "export",
    "yaml",
    "axes",
    "points",
    "front",
    "limits",
    "picked",
    "compare",
    "filters",
    "parallel",
    "table",
    "print",
    "main",
)
"""The files of `script/` in the order of what needs what."""


def report_html(record: StudyRecord, summary: Summary) -> str:
    """The page."""
    trials = PageTrials.of(record, summary)
    body = "\n".join(_body(record, summary, trials))
    policy = (
        f"default-src 'none'; script-src {_hash(_script())}; style-src {_hash(_style())}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape_html(record.space)}: design-space exploration</title>
<style>{_style()}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{page_json(record, summary, trials)}</script>
<script>{_script()}</script>
</body>
</html>
"""


def _body(record: StudyRecord, summary: Summary, trials: PageTrials) -> list[str]:
    """Header, contents, and the sections from top to bottom."""
    interactive = explore(record, summary, trials)
    sections = _sections(record, summary)
    headings = [("decision", "The decision" if summary.front else "No feasible design")]
    if interactive:
        headings += [("front", "The front"), ("compare", "Side by side"), ("designs", "The designs")]
    headings += [(section.name, section.short or section.title) for section in sections]
    shut = "".join(section.html() for section in sections)
    return [
        header(record, summary),
        contents(headings),
        "<main>",
        decision(record, summary),
        interactive,
        shut,
        "</main>",
    ]


def _sections(record: StudyRecord, summary: Summary) -> list[Section]:
    """The sections that open, in the order in which a reader asks."""
    gap = gap_notes(record, summary)
    found = [
        futures_section(record, summary),
        phases_section(record),
        workloads_section(record, summary),
        sure_section(record, summary),
        time_section(summary),
        cost_section(summary, prices(record, summary)),
        memory_section(summary),
        network_section(summary),
        steps_section(record, summary),
        importance_section(summary),
        Section("gap", "How good a design could still be", gap, "Proof") if gap else None,
        ruled_out_section(record, summary),
        provenance_section(summary),
        repeat_section(record, summary),
    ]
    return [section for section in found if section is not None]


def _hash(text: str) -> str:
    """The source expression by which a content security policy knows an inline script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


@cache
def _style() -> str:
    return f"\n{_asset('style.css')}"


@cache
def _script() -> str:
    """d3, then the page's own files in one function of their own."""
    own = "\n".join(_asset(f"script/{name}.js") for name in SCRIPTS)
    return f'{_asset("vendor/d3.min.js")}\n(() => {{\n"use strict";\n{own}}})();\n'


def _asset(path: str) -> str:
    return files(__package__).joinpath(path).read_text(encoding="utf-8")
