"""A study's answer in one screen of 80 columns and `HEIGHT` lines: the decision, families, bounds, assumptions.

All else is in the files; the numbers are those of `pareto.json`, by the functions of `dse.report.units`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from dse.evaluate.fullness import fullness
from dse.evaluate.record import StudyRecord
from dse.report.abbreviations import explain_abbreviations
from dse.report.choice import recommended
from dse.report.counted import convert_units
from dse.report.decision import Decision, describe_decision
from dse.report.families import RANGED, RESOLUTION, Family, families_with_built, is_joined
from dse.report.family_table import (
    BUILT_SIGN,
    GLUE,
    KNEE_SIGN,
    NARROW,
    ROBUST_SIGN,
    FamilyTable,
    compare_members,
    family_table,
    is_marked_built,
)
from dse.report.gap import describe_gap_in_short
from dse.report.infeasible import explain_infeasible
from dse.report.intervals import interval_of
from dse.report.phases import describe_plans
from dse.report.summary import Summary, summarize
from dse.report.units import MISSING, clean_text, format_number, format_percent, short_label
from dse.report.words import describe_best, describe_counts, describe_proof, describe_without_value, equals_note
from dse.report.workloads import describe_own_best
from dse.whatif.answers import NOTHING, WhatIf
from dse.whatif.drawn import is_drawn
from dse.whatif.machines import npu_of
from simcore.layout.solve import NEARLY_FULL
from simcore.metrics import exponent_of

__all__ = ["explain_infeasible", "print_front"]

HEIGHT = 40
"""Lines that the answer takes at most where it is 80 columns wide."""
_ASCII = str.maketrans({"★": "*", "◆": "+", "●": "o", "–": "-", "…": "~", "─": "-", "\N{MINUS SIGN}": "-", "±": "+-"})
_REGRET = ("behind another design", "behind another design in all objectives")
_MOST_NPUS = 3
"""NPUs whose prices are told apart."""
_Line = tuple[str, str]
"""Text and its style."""


def print_front(record: StudyRecord, console: Console, what_if: WhatIf = NOTHING) -> None:
    """Print what a study comes to, or the reason why there is nothing, to `console`."""
    record = convert_units(record)
    summary = summarize(record, what_if)
    for text, style in screen(record, summary, console.width):
        console.print(_text(text, console, style), no_wrap=True, crop=True, overflow="crop")


def screen(record: StudyRecord, summary: Summary, width: int) -> list[_Line]:
    """The lines of the answer, none longer than `width`, and their styles."""
    if not summary.front:
        told = explain_infeasible(record).splitlines()
        return [line for sentence in told for line in _paragraph(sentence, width)]
    decision = describe_decision(record, summary)
    found = families_with_built(record, summary)
    compared = compare_members(record, found)
    table = family_table(record, summary, found, compared)
    above = [*_sentences(decision, width), ("", ""), *_paragraph(_title(record, summary), width)]
    whole, legend = len(list(_rows(table, width, HEIGHT * len(found)))), _legend(record, summary, found)
    legend += _behind(summary, found) + _without_room(record, found)
    for reasons, kept in ((True, 1), (True, 2), (False, 1), (False, 2)):
        told = [legend, *_below(record, summary, decision, reasons)]
        below = [line for text in told for line in _paragraph(text, width)]
        heading = _heading(table, width)
        rows = list(_rows(table, width, HEIGHT - len(above) - len(heading) - len(below) - kept))
        if table.lacks_descriptions(len(rows), width):
            beside = replace(table, least_room=NARROW)
            heading, rows = _heading(beside, width), list(_rows(beside, width, len(found)))
        lines = [*above, *heading, *rows, *below]
        lines += _paragraph(explain_abbreviations("\n".join(text for text, _ in lines)), width, "dim")
        if len(lines) <= HEIGHT and (len(rows) == whole or not reasons):
            break
    return lines


def _heading(table: FamilyTable, width: int) -> list[_Line]:
    return [*((line, "dim") for line in table.heading(width)), ("─" * width, "dim")]


def _sentences(decision: Decision, width: int) -> Iterator[_Line]:
    for place, sentence in enumerate(decision.sentences):
        yield from _paragraph(sentence, width, "" if place else "bold")


def _title(record: StudyRecord, summary: Summary) -> str:
    count = len(summary.front)
    size = "1 design" if count == 1 else f"{format_number(count)} designs"
    place = "on the front" if len(record.objectives) > 1 else "is the best" if count == 1 else "are the best"
    counted = (describe_counts(summary), describe_without_value(record), describe_proof(summary))
    return " ".join([f"{clean_text(record.space)}: {size} {place}.", *(text for text in counted if text)])


def _rows(table: FamilyTable, width: int, most: int) -> Iterator[_Line]:
    for row in table.rows(width, most):
        for line in row.lines:
            yield line, "bold" if row.recommended else ""


def _below(record: StudyRecord, summary: Summary, decision: Decision, reasons: bool) -> Iterator[str]:
    """The paragraphs under the table and its legend, with the reasons of gaps or without."""
    yield from describe_own_best(record, summary)
    yield from describe_plans(record)
    yield from _bounds(record, summary, reasons)
    yield from filter(None, [equals_note(summary, decision.trial)])
    yield from decision.assumptions
    yield f"More: report.html, pareto.csv (all members), trials.csv; dse show RUN {decision.trial}."


def _bounds(record: StudyRecord, summary: Summary, reasons: bool) -> Iterator[str]:
    """A paragraph for each objective whose gap needs words, one for all others."""
    rest = []
    for objective in record.objectives:
        why = describe_gap_in_short(objective, record, summary) if reasons else ""
        best = describe_best(objective, summary)
        if why:
            yield f"{best.removesuffix('.')}: {why}."
        else:
            rest.append(best)
    if rest:
        yield " ".join(rest)


def _without_room(record: StudyRecord, found: Sequence[Family]) -> str:
    """Rows whose design has no room in its memory for what is not predicted; empty where all have some."""
    trials = record.feasible_trials.numbered_among(family.chosen for family in found)
    full = {trial.number for trial in trials if fullness(trial) > NEARLY_FULL}
    if not full:
        return ""
    rows = ", ".join(str(family.chosen) for family in found if family.chosen in full)
    named = f"trial{'s' * (len(full) > 1)} {rows}" if len(full) < len(found) else "all rows"
    return f" Memory more than {format_percent(NEARLY_FULL)} full: {named}."


def _legend(record: StudyRecord, summary: Summary, found: Sequence[Family]) -> str:
    scenarios = summary.what_if.scenarios
    chosen = {family.chosen for family in found}
    named = ((KNEE_SIGN, "knee", summary.knee), (ROBUST_SIGN, "robust pick", summary.what_if.robust))
    marks = [f"{mark} {name}{'' if n in chosen else f' ({n})'}" for mark, name, n in named if n is not None]
    number = recommended(record, summary)
    if built := [family for family in found if is_marked_built(family, summary, number)]:
        marks.append(f"{BUILT_SIGN} to build{', behind the front' if built[0].behind else ''}")
    near, most = format_percent(RESOLUTION), max((len(family.trials) for family in found), default=1)
    count = f"up to {most} " if len(record.objectives) > RANGED and most > 1 else ""  # else a column says it
    if len(record.objectives) == 1:
        what = f"the best of a kind, and how many of it are within {near}"
    elif any(is_joined(record, summary, family) for family in found if not family.idle):
        what = f"{count and f'{count}of '}the most alike designs, by one of them"
    else:
        what = f"{count}designs of a kind whose times are not told apart, by one of them"
    text = f"A row: {'; '.join(part for part in (what, ', '.join(marks)) if part)}."
    text += f" Regret: {_REGRET[len(record.objectives) > 1]}, in one of ten scenarios." if scenarios else ""
    return text + _money(record, summary, found) + _lost(record, summary)


def _behind(summary: Summary, found: Sequence[Family]) -> str:
    """By which share the designs of each row are at most behind the true front; empty where nothing is, or is known."""
    known = {trial.number: share for trial, share in zip(summary.front, summary.behind, strict=True)}
    rows = [[known.get(number) for number in family.trials] for family in found]
    if len(summary.bounds) < 2 or not any(summary.behind):
        return ""
    most = [None if None in row else max(share or 0.0 for share in row) for row in rows]
    shares = ["?" if share is None else format_percent(share).removesuffix(" %") for share in most]
    told = ", ".join(MISSING if f.behind else share for f, share in zip(found, shares, strict=True))
    return f" By rows, proven: at most {told} % behind the true front."


def _lost(record: StudyRecord, summary: Summary) -> str:
    """What the losses in the rows are, where a cluster is bought for several workloads or futures."""
    if record.purchase is None:
        return ""
    if summary.futures:
        return " Regret: the most that any future loses against its own best cluster."
    return " In brackets: loss against a workload's own best cluster."


def _money(record: StudyRecord, summary: Summary, found: Sequence[Family]) -> str:
    """How far money may be off, by the first objective that has prices and no time in it.

    In the design to build, and where rows have other NPUs in the first row of each.
    """
    bought = [o for o in record.objectives if is_drawn(o) and "$" in o.unit]
    priced = [o for o in bought if not any(exponent_of(name, "time") for name in o.names)]
    chosen = recommended(record, summary)
    numbers = [family.chosen for family in found] if chosen is None else [chosen, *(family.chosen for family in found)]
    rows = sorted(record.feasible_trials.numbered_among(numbers), key=lambda trial: numbers.index(trial.number))
    told: dict[str, str] = {}
    for trial in rows if priced else ():
        npu = npu_of(trial.design)
        ends = interval_of(priced[0], summary, trial) if npu not in told else None
        if ends is not None and (value := trial.values[priced[0].name]):
            low, high = (format_percent(abs(end / value - 1)) for end in ends)
            told[npu] = f"{low} less to {high} more"
    if not told:
        return ""
    shown = dict([*told.items()][:_MOST_NPUS])
    each = ", ".join(f"{ends}{f' on {clean_text(npu)}' if len(told) > 1 else ''}" for npu, ends in shown.items())
    name = clean_text(short_label(priced[0].name))
    return f" Prices: {name} {each}, nine times in ten; alike for designs of the same parts."


def _paragraph(text: str, width: int, style: str = "") -> list[_Line]:
    """`text` in lines that break neither between a number and its unit nor inside degrees."""
    glued = re.sub(r"(?<=\d) (?=[%A-Za-z$])|(?<=\btrial) (?=\d)", GLUE, text)
    lines = wrap(glued, width, break_on_hyphens=False)
    return [(line.replace(GLUE, " "), style) for line in lines]


def _text(text: str, console: Console, style: str = "") -> Text:
    ascii_only = console.options.ascii_only
    shown = text.translate(_ASCII).encode("ascii", "replace").decode("ascii") if ascii_only else text
    return Text(shown, style=style)
