"""What the sections of the page share: escaping, sections that open, tables, bars, the names of designs."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dse.evaluate.record import TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.describe import compare
from dse.report.family_table import KNEE_SIGN, ROBUST_SIGN
from dse.report.summary import Summary
from dse.report.units import clean_text, shorten_text

MOST_ROWS = 30
"""Designs that a section with a row for each shows at most."""


def escape_html(text: object) -> str:
    """`text`, cleaned, as HTML."""
    return html.escape(clean_text(text))


def paragraphs(texts: Iterable[str], kind: str = "note") -> str:
    """Each text that is not empty as a paragraph of class `kind`."""
    return "".join(f"<p class='{kind}'>{escape_html(text)}</p>" for text in texts if text)


@dataclass(frozen=True, slots=True)
class Section:
    """A section that opens: its heading is in the contents; `body` is HTML."""

    name: str
    title: str
    body: str
    short: str = ""
    """Its title in the contents, where that is another one."""

    def html(self) -> str:
        """The section, shut."""
        head = f"<summary><h2>{escape_html(self.title)}</h2></summary>"
        return f"<section id='{self.name}'><details>{head}<div class='inside'>{self.body}</div></details></section>"


@dataclass(frozen=True, slots=True)
class Column:
    """A heading of a table; `number` aligns its cells to the right."""

    title: str
    number: bool = False
    unit: str = ""

    def head(self) -> str:
        """The heading's cell."""
        below = f"<small>{escape_html(self.unit)}</small>" if self.unit else ""
        return f"<th scope='col'{self.kind}>{escape_html(self.title)}{below}</th>"

    @property
    def kind(self) -> str:
        """The class of its cells, as an attribute."""
        return " class='n'" if self.number else ""


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[str]], kinds: Sequence[str] = ()) -> str:
    """A table of HTML cells whose first column names its rows; `kinds` are classes of the rows."""
    heads = "".join(column.head() for column in columns)
    body = []
    for index, row in enumerate(rows):
        kind = f" class='{kinds[index]}'" if kinds and kinds[index] else ""
        first, *others = zip(columns, row, strict=True)
        cells = "".join(f"<td{column.kind}>{text}</td>" for column, text in others)
        body.append(f"<tr{kind}><th scope='row'{first[0].kind}>{first[1]}</th>{cells}</tr>")
    hidden = f"<caption>{escape_html(caption)}</caption>"
    whole = f"<table>{hidden}<thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return f"<div class='scroll' tabindex='0' role='region' aria-label='{escape_html(caption)}'>{whole}</div>"


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a stacked bar: class of its colour, share of the whole axis, what it says."""

    kind: str
    share: float
    text: str


def bars(parts: Sequence[Bar]) -> str:
    """Parts beside each other, as a picture that stretches; each says itself on hovering."""
    drawn, at = [], 0.0
    for part in parts:
        if part.share > 0:
            box = f"x='{1000 * at:.2f}' width='{1000 * part.share:.2f}' height='16'"
            drawn.append(f"<rect class='{part.kind}' {box}><title>{escape_html(part.text)}</title></rect>")
        at += part.share
    said = escape_html("; ".join(part.text for part in parts if part.share > 0))
    picture = f"<svg class='bar' viewBox='0 0 1000 16' preserveAspectRatio='none' role='img' aria-label='{said}'>"
    return f"{picture}{''.join(drawn)}</svg>"


def legend(names: Mapping[str, str]) -> str:
    """Class of a colour -> what it stands for."""
    mark = "<svg class='mark' viewBox='0 0 12 12' aria-hidden='true'><rect class='{}' width='12' height='12'/></svg>"
    entries = "".join(f"<li>{mark.format(kind)}{escape_html(name)}</li>" for kind, name in names.items())
    return f"<ul class='legend'>{entries}</ul>"


def front_rows(summary: Summary) -> list[tuple[TrialRecord, str]]:
    """The front members that sections with one row per design show, each with the name of its row as HTML.

    Of a cluster for several workloads, one row for each workload of each.
    """
    front = summary.front
    marked = marks(summary)
    kept = frozenset(index for index, trial in enumerate(front) if trial.number in marked)
    phrases = compare([trial.decided_document for trial in front]).phrases
    return [
        (part, _row(part, (name, *phrases[index]) if name else phrases[index], marked.get(part.number, "")))
        for index in spread_indices(len(front), MOST_ROWS, kept)
        for name, part in front[index].parts
        if part.metrics is not None
    ]


def _row(trial: TrialRecord, phrases: Sequence[str], mark: str) -> str:
    told = f" <small>{escape_html(shorten_text(', '.join(phrases), 46))}</small>" if phrases else ""
    return f"{trial_name(trial.number, mark)}{told}"


def trial_name(number: int, mark: str = "") -> str:
    """`#38`, with the mark of the knee or of the robust pick, as HTML; a script makes it lead to the design."""
    star = f"<span class='star' title='{mark}'>{SIGNS[mark]}</span> " if mark else ""
    return f"{star}<b class='trial' data-trial='{number}'>#{number}</b>"


KNEE, ROBUST = "knee", "robust pick"
BOTH = f"{KNEE} and {ROBUST}"
SIGNS = {KNEE: KNEE_SIGN, ROBUST: ROBUST_SIGN, BOTH: KNEE_SIGN + ROBUST_SIGN}


def marks(summary: Summary) -> dict[int, str]:
    """Trial -> what it is singled out as: the knee (`★`) and the robust pick (`◆`)."""
    robust = summary.what_if.robust
    found = {} if robust is None else {robust: ROBUST}
    return found if summary.knee is None else {**found, summary.knee: BOTH if summary.knee == robust else KNEE}


def shown_note(summary: Summary) -> str:
    """A note where a section shows only some of the designs; empty where it shows all."""
    count = len(summary.front)
    return "" if count <= MOST_ROWS else f"{MOST_ROWS} of {count:,} designs, evenly spread over the front."
