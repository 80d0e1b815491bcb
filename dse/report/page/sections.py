"""The sections of the page as HTML: what the study came to, the front as a table, each design, prices, failures."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence

import yaml

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.describe import compare, headline
from dse.report.gap import describe_gaps
from dse.report.infeasible import explain_infeasible
from dse.report.page.base import Chart, escape_html
from dse.report.page.steps import steps_section
from dse.report.page.table import front_table
from dse.report.reasons import describe_reason
from dse.report.summary import Summary
from dse.report.units import clean_text, format_number, format_percent, format_with_unit, label
from dse.report.values import to_plain
from dse.report.words import describe_counts, describe_without_value, is_assumed, ties_note
from dse.report.workloads import EXPLAINED, describe_own_best, workload_tables


def body(record: StudyRecord, summary: Summary, charts: Sequence[Chart]) -> Iterator[str]:
    """The sections from top to bottom."""
    drawn = {chart.name: _figure(chart) for chart in charts}
    yield _header(record, summary)
    yield "<main>"
    if not summary.front:
        lines = "".join(f"<p>{escape_html(line)}</p>" for line in explain_infeasible(record).splitlines())
        yield f'<section class="warning"><h2>No feasible design</h2>{lines}</section>'
    open_ones = "".join(f"<p>{escape_html(paragraph)}</p>" for paragraph in describe_gaps(record, summary))
    yield f"<section><h2>Distance from the bounds</h2>{open_ones}</section>" if open_ones else ""
    yield drawn.get("pareto", "")
    if summary.front:
        yield _front(record, summary)
        yield _workloads(record, summary)
    yield drawn.get("time", "")
    halves = drawn.get("network", "") + drawn.get("cost", "")
    yield f'<div class="halves">{halves}</div>' if halves else ""
    yield drawn.get("parameters", "")
    yield drawn.get("robustness", "")
    yield steps_section(record, summary)
    yield drawn.get("importance", "")
    yield drawn.get("importance-front", "")
    yield _designs(summary)
    yield _rest_section(record, summary)
    yield _prices(record)
    yield "</main>"


def _header(record: StudyRecord, summary: Summary) -> str:
    asked = f"sampler {escape_html(record.sampler)} · seed {escape_html(record.seed)}"
    said = f"{asked} · {format_number(summary.trials)} designs evaluated"
    size = len(summary.front)
    cards = [_card("On the front", format_number(size), f"of {format_number(summary.feasible)} feasible")]
    rules = ", ".join(f"{clean_text(rule)} {format_number(count)}" for rule, count in summary.cut.items())
    cards.append(_card("Infeasible", format_number(summary.infeasible), "simulated, a constraint missed"))
    cards.append(_card("Cut", format_number(summary.cuts), rules or "nothing ruled out before simulation"))
    if summary.failed:
        cards.append(_card("Failed", format_number(summary.failed), "the evaluation raised an error"))
    for objective in record.objectives:
        best, bound, gap = (by[objective.name] for by in (summary.best, summary.bounds, summary.gaps))
        proven = "no proven bound"
        if bound is not None:
            proven = f"proven bound {format_with_unit(bound, objective.unit, objective.name)}"
            proven += "" if gap is None else f", gap {format_percent(gap)}"
        title = f"{'Lowest' if objective.sign > 0 else 'Highest'} {label(objective.name)}"
        cards.append(_card(title, format_with_unit(best, objective.unit, objective.name), proven))
    if summary.hypervolume is not None and summary.reference:
        pairs = zip(record.objectives, summary.reference, strict=True)
        reference = ", ".join(format_with_unit(value, o.unit, o.name) for o, value in pairs)
        cards.append(_card("Hypervolume", f"{summary.hypervolume:.4g}", f"to {reference}"))
    return (
        f"<header><h1>{escape_html(record.space)}</h1><p>{said}</p><div class='cards'>{''.join(cards)}</div></header>"
    )


def _card(title: str, value: str, below: str) -> str:
    head = f"<h3>{escape_html(title)}</h3><b>{escape_html(value)}</b>"
    return f"<div class='card'>{head}<small>{escape_html(below)}</small></div>"


def _figure(chart: Chart) -> str:
    height = int(chart.layout["height"])
    note = f"<p class='note'>{escape_html(chart.note)}</p>" if chart.note else ""
    place = f"<div class='chart' id='chart-{chart.name}' style='min-height:{height}px'></div>"
    chips = "".join(_chip(chart.name, name, colour) for name, colour in chart.legend)
    legend = f"<p class='legend'>{chips}</p>" if chips else ""
    return f"<section><h2>{escape_html(chart.title)}</h2>{note}{legend}{place}</section>"


def _chip(chart: str, name: str, colour: str) -> str:
    mark = f"<i style='background:var(--{colour.lstrip('@')})'></i>"
    what = f"aria-pressed='true' data-chart='{chart}' data-trace='{escape_html(name)}'"
    return f"<button type='button' {what}>{mark}{escape_html(name)}</button>"


def _front(record: StudyRecord, summary: Summary) -> str:
    compared = compare([trial.decided_document for trial in summary.front])
    title = "The designs of the front" if len(record.objectives) > 1 else "The best design"
    who = "The design" if len(summary.front) == 1 else "All designs"
    common = f"<p class='common'><b>{who}:</b> {escape_html(compared.common)}.</p>" if compared.common else ""
    table = front_table(record, summary, compared)
    told = ties_note(summary)
    common += f"<p class='note'>{escape_html(told)}</p>" if told else ""
    return f"<section><h2>{title}</h2>{common}<div class='scroll'>{table}</div></section>"


def _workloads(record: StudyRecord, summary: Summary) -> str:
    """Each workload on the clusters of the front: its software there, and its regret."""
    told = workload_tables(record, summary, software=True)
    if not told:
        return ""
    sentences = "".join(f"<p>{escape_html(sentence)}</p>" for sentence in describe_own_best(record, summary))
    blocks = []
    for workload in told:
        kinds = [" class='n'" if column < 3 else "" for column in range(len(workload.headings))]
        headings = zip(kinds, workload.headings, strict=True)
        head = "<th class='n'>trial</th>" + "".join(
            f"<th{kind}>{escape_html(heading)}</th>" for kind, heading in headings
        )
        rows = "".join(
            f"<tr><td class='n'><a href='#design-{trial.number}'>#{trial.number}</a></td>"
            + "".join(
                f"<td class='{'n' if column < 3 else 'what'}'>{escape_html(text)}</td>"
                for column, text in enumerate(row)
            )
            + "</tr>"
            for trial, row in zip(summary.front, workload.rows, strict=True)
        )
        common = (
            f"<p class='common'><b>On all clusters:</b> {escape_html(workload.common)}.</p>" if workload.common else ""
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        blocks.append(f"<h3>{escape_html(workload.title)}</h3>{common}<div class='scroll'>{table}</div>")
    note = f"<p class='note'>{escape_html(EXPLAINED)}</p>"
    return f"<section><h2>Workloads and their regret</h2>{note}{sentences}{''.join(blocks)}</section>"


def _designs(summary: Summary) -> str:
    if not summary.front:
        return ""
    phrases = compare([trial.decided_document for trial in summary.front]).phrases
    pairs = zip(summary.front, phrases, strict=True)
    blocks = "".join(_design(trial, told, trial.number == summary.knee) for trial, told in pairs)
    note = "<p class='note'>Each document is complete: saved to a file, it can be simulated again as it is.</p>"
    return f"<section><h2>Design documents</h2>{note}{blocks}</section>"


def _design(trial: TrialRecord, told: Sequence[str], knee: bool) -> str:
    star = " <span class='star' title='knee'>★</span>" if knee else ""
    title = f"<b>#{trial.number}</b>{star} {escape_html(', '.join(told))}"
    body = "".join(_document(name, part) for name, part in trial.parts)
    return f"<details id='design-{trial.number}'><summary>{title}</summary>{body}</details>"


def _document(name: str, trial: TrialRecord) -> str:
    """One design document, of the workload `name` where there are several."""
    heading = f"<h3>{escape_html(name)}</h3>" if name else ""
    why = f"<p>{escape_html(describe_reason(trial.metrics))}</p>" if trial.metrics is not None else ""
    whole = f"<p class='note'>{escape_html(headline(trial.design))}</p>"
    text = html.escape(document_yaml(trial)) if trial.design is not None else "unknown"
    copy = "<button type='button' class='copy'>Copy</button>"
    return f"{heading}{why}{whole}{_provenance(trial)}<div class='code'>{copy}<pre>{text}</pre></div>"


def _provenance(trial: TrialRecord) -> str:
    """Where the numbers behind a design come from; nothing where the journal does not say."""
    told = (trial.metrics or {}).get("provenance")
    if not isinstance(told, dict) or not told:
        return ""
    rows = "".join(f"<tr><td>{escape_html(part)}</td><td>{escape_html(said)}</td></tr>" for part, said in told.items())
    head = "<tr><th>numbers of</th><th>come from</th></tr>"
    return f"<div class='scroll'><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"


class _PageDumper(yaml.SafeDumper):
    """Writes YAML that reads back the same by the rules of YAML 1.2 as well as 1.1."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # A reader of YAML 1.2 takes the plain scalar 1e6 for a number, one of YAML 1.1 for text.
    numeric = text[:1] in "+-.0123456789" and "e" in text.lower() and " " not in text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if numeric else None)


_PageDumper.add_representer(str, _represent_text)


def document_yaml(trial: TrialRecord) -> str:
    """The design document of a trial as YAML."""
    return yaml.dump(to_plain(trial.design), Dumper=_PageDumper, sort_keys=False, allow_unicode=True, width=100)


def _rest_section(record: StudyRecord, summary: Summary) -> str:
    rows = [("cut before simulation", clean_text(rule), count) for rule, count in summary.cut.items()]
    simulated = [trial for trial in record.trials if trial.state == "infeasible"]
    broken = Counter(name for trial in simulated for name, missed in trial.violations.items() if missed > 0)
    rows += [("infeasible", f"misses {clean_text(name)}", count) for name, count in broken.most_common()]
    errors = Counter(clean_text(trial.error or "no message") for trial in record.trials if trial.state == "failed")
    rows += [("failed", error, count) for error, count in errors.most_common(10)]
    if not rows:
        return ""
    cells = "".join(
        f"<tr><td>{escape_html(a)}</td><td>{escape_html(b)}</td><td class='n'>{format_number(n)}</td></tr>"
        for a, b, n in rows
    )
    head = "<tr><th>state</th><th>why</th><th class='n'>designs</th></tr>"
    said = f"<p class='note'>{escape_html(f'{describe_counts(summary)} {describe_without_value(record)}'.strip())}</p>"
    table = f"<table><thead>{head}</thead><tbody>{cells}</tbody></table>"
    return f"<section><h2>What was ruled out</h2>{said}<div class='scroll'>{table}</div></section>"


def _prices(record: StudyRecord) -> str:
    if not record.prices:
        return ""
    rows = "".join(_price(name, source) for name, source in record.prices.items())
    table = f"<table><thead><tr><th>price</th><th>source</th></tr></thead><tbody>{rows}</tbody></table>"
    return f"<section><h2>Prices and their sources</h2><div class='scroll'>{table}</div></section>"


def _price(name: str, source: str) -> str:
    badge = "<span class='badge'>assumed</span> " if is_assumed(source) else ""
    rest = "" if clean_text(source).strip("* ").lower() == "assumed" else escape_html(source)
    return f"<tr><td>{escape_html(name)}</td><td>{badge}{rest}</td></tr>"
