"""The top of the page: what the study was, the decision and what it assumes, the families, the best values."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.decision import describe_decision
from dse.report.describe import compare
from dse.report.gap import describe_gaps
from dse.report.infeasible import explain_infeasible
from dse.report.page.base import escape_html, paragraphs
from dse.report.page.families import families_table
from dse.report.summary import Summary
from dse.report.units import format_number, format_percent, format_with_unit, label
from dse.report.words import describe_behind, describe_proof


def header(record: StudyRecord, summary: Summary) -> str:
    """Name of the space, and how it was searched."""
    asked = f"sampler {escape_html(record.sampler)} · seed {escape_html(record.seed)}"
    said = f"{asked} · {format_number(summary.trials)} designs evaluated"
    notice = paragraphs([record.hypothetical], "warning") if record.hypothetical else ""
    return f"<header><h1>{escape_html(record.space)}</h1><p>{said}</p>{notice}</header>"


def decision(record: StudyRecord, summary: Summary) -> str:
    """The section on what to build; where nothing is feasible, on why."""
    if not summary.front:
        lines = paragraphs(explain_infeasible(record).splitlines(), "warning")
        return (
            f"<section id='decision' class='lead'><h2>No feasible design</h2>{lines}{_cards(record, summary)}</section>"
        )
    decided = describe_decision(record, summary)
    told = paragraphs(decided.sentences, "decision")
    assumed = "".join(f"<li>{escape_html(text)}</li>" for text in decided.assumptions)
    assumptions = f"<h3>What this assumes</h3><ul>{assumed}</ul>" if assumed else ""
    return (
        f"<section id='decision' class='lead'><h2>The decision</h2>{told}{assumptions}{_cards(record, summary)}"
        f"{families_table(record, summary)}{_common(summary)}</section>"
    )


def _common(summary: Summary) -> str:
    compared = compare([trial.decided_document for trial in summary.front])
    who = "The design" if len(summary.front) == 1 else "All designs of the front"
    return f"<p class='note'><b>{who}:</b> {escape_html(compared.common)}.</p>" if compared.common else ""


def _cards(record: StudyRecord, summary: Summary) -> str:
    """Best values with their proven bounds, and how much was tried."""
    cards = []
    for objective in record.objectives:
        best, bound, gap = (by[objective.name] for by in (summary.best, summary.bounds, summary.gaps))
        proven = "no proven bound"
        if bound is not None:
            proven = f"proven bound {format_with_unit(bound, objective.unit, objective.name)}"
            proven += "" if gap is None else f", gap {format_percent(gap)}"
        title = f"{'Lowest' if objective.sign > 0 else 'Highest'} {label(objective.name)}"
        cards.append(_card(title, format_with_unit(best, objective.unit, objective.name), proven))
    size = len(summary.front)
    cards.append(_card("On the front", format_number(size), f"of {format_number(summary.feasible)} feasible"))
    if summary.hypervolume is not None and summary.reference and len(record.objectives) > 1:
        pairs = zip(record.objectives, summary.reference, strict=True)
        reference = ", ".join(format_with_unit(value, o.unit, o.name) for o, value in pairs)
        cards.append(_card("Hypervolume", f"{summary.hypervolume:.4g}", f"to {reference}"))
    return f"<dl class='cards'>{''.join(cards)}</dl>"


def _card(title: str, value: str, below: str) -> str:
    head = f"<dt>{escape_html(title)}</dt><dd><b>{escape_html(value)}</b>"
    return f"<div>{head}<small>{escape_html(below)}</small></dd></div>"


def gap_notes(record: StudyRecord, summary: Summary) -> str:
    """The proof, and how far the best values are from their bounds; empty where there is nothing to say."""
    return paragraphs([describe_proof(summary), describe_behind(summary), *describe_gaps(record, summary)], "said")
