"""How to repeat the run and to go on with it."""

from __future__ import annotations

from importlib.metadata import version

from dse.evaluate.record import StudyRecord
from dse.report.page.base import Section, escape_html, paragraphs
from dse.report.summary import Summary

_KEPT = (
    "study.yaml beside this page holds all that the run came from: the space, the catalogue entries that it used, "
    "sampler, seed and versions. The same file gives the same trials, byte for byte."
)


def repeat_section(record: StudyRecord, summary: Summary) -> Section:
    """The command lines, for the run's folder as the working directory."""
    lines = ["dse optimize study.yaml --out again", "dse report ."]
    if summary.front:
        lines += ["dse verify . --budget 60", "dse simulate design.yaml   # a design saved from this page"]
    text = "\n".join(lines)
    said = f"Written by dse {version('dse')}. Sampler {record.sampler}, seed {record.seed}, {summary.trials:,} designs."
    return Section(
        "repeat", "How to repeat this", f"{paragraphs([_KEPT, said])}<pre>{escape_html_lines(text)}</pre>", "Repeat"
    )


def escape_html_lines(text: str) -> str:
    """Text of several lines as HTML."""
    return "\n".join(escape_html(line) for line in text.splitlines())
