"""How sure the front is: over the scenarios of what is not known, and with other batches."""

from __future__ import annotations

from collections.abc import Callable

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.choice import recommended
from dse.report.intervals import interval_of
from dse.report.left_out import describe_sizes
from dse.report.machines import describe_machines
from dse.report.page.base import Column, Section, escape_html, front_rows, paragraphs, shown_note, table, trial_name
from dse.report.robustness import Robustness, describe_scope, robustness
from dse.report.summary import Summary
from dse.report.units import MISSING, format_brief, format_number, format_percent, format_with_unit, label, scale
from dse.report.words import equals_note, ties_note
from dse.space.objective import Objective
from dse.whatif.answers import FACTORS, AtBatch, Scenarios, Sureness
from dse.whatif.drawn import is_drawn

_Cell = Callable[[TrialRecord, Robustness], str]
_TIMES = {0.5: "half", 2.0: "twice"}
_FEW_TIES = 3


def sure_section(record: StudyRecord, summary: Summary) -> Section | None:
    """A row for each design of the front, a column for each question; None where nothing is known."""
    found = robustness(summary)
    shown = [(trial, row) for trial, row in front_rows(summary) if trial.number in found]
    cells = {name: [read(trial, found[trial.number]) for trial, _ in shown] for name, read in _asked(record, summary)}
    known = {name: texts for name, texts in cells.items() if any(text != MISSING for text in texts)}
    if not known:
        return None
    columns = [Column("design"), *(Column(name, number=True) for name in known)]
    rows = [[row, *(escape_html(texts[at]) for texts in known.values())] for at, (_, row) in enumerate(shown)]
    title = "How sure the front is"
    equal = equals_note(summary, recommended(record, summary))
    notes = paragraphs([*_notes(record, summary), ties_note(summary), equal, shown_note(summary)])
    body = notes + _robust_pick(summary) + table(title, columns, rows) + _assumptions(summary.what_if.scenarios)
    return Section("sure", title, body, "Sureness")


def _robust_pick(summary: Summary) -> str:
    robust = summary.what_if.robust
    if robust is None:
        return ""
    name = trial_name(robust, "robust pick")
    return f"<p class='said'>Robust: {name} falls least behind the best of each scenario, in nine of ten of them.</p>"


def _asked(record: StudyRecord, summary: Summary) -> list[tuple[str, _Cell]]:
    """Heading, and what gives a design's cell."""

    def at_batch(factor: float) -> _Cell:
        return lambda _, robust: _batch(record, next((at for at in robust.batches if at.factor == factor), None))

    return [
        ("on the front", _sure(lambda sure: sure.on_front)),
        ("regret, mean", _sure(lambda sure: sure.regret)),
        ("regret, one in ten", _sure(lambda sure: sure.regret_p90)),
        *((f"keeps {name}", _keeps(name)) for name in _limits(summary)),
        *((f"{label(o.name)}, nine of ten", _interval(summary, o)) for o in _drawn(record, summary)),
        ("ties with", lambda trial, _: _ties(summary, trial)),
        *((f"{_TIMES.get(factor, f'{factor:g} x')} the batch", at_batch(factor)) for factor in FACTORS),
    ]


def _sure(share: Callable[[Sureness], float]) -> _Cell:
    return lambda _, robust: MISSING if robust.sure is None else format_percent(share(robust.sure))


def _keeps(limit: str) -> _Cell:
    return _sure(lambda sure: sure.kept.get(limit, 1.0))


def _limits(summary: Summary) -> list[str]:
    """The constraints that designs are not sure to keep."""
    scenarios = summary.what_if.scenarios
    members = () if scenarios is None else scenarios.members.values()
    return [*dict.fromkeys(name for sure in members for name in sure.kept)]


def _drawn(record: StudyRecord, summary: Summary) -> list[Objective]:
    """Objectives with an interval of their own, where scenarios were asked."""
    return [] if summary.what_if.scenarios is None else [o for o in record.objectives if is_drawn(o)]


def _interval(summary: Summary, objective: Objective) -> _Cell:
    def ends_in_words(trial: TrialRecord, _: Robustness) -> str:
        ends = interval_of(objective, summary, trial)
        if ends is None:
            return MISSING
        unit = scale(objective.unit, ends, objective.name)
        return f"{unit.number(ends[0])} to {unit.text(ends[1])}"

    return ends_in_words


def _ties(summary: Summary, trial: TrialRecord) -> str:
    others = (summary.ties or {}).get(trial.number, ())
    if not others:
        return MISSING
    return " ".join(f"#{other}" for other in others) if len(others) <= _FEW_TIES else f"{len(others)} designs"


def _batch(record: StudyRecord, at: AtBatch | None) -> str:
    if at is None:
        return MISSING
    if at.why:
        return f"cannot run: {at.why}"
    values = ", ".join(format_with_unit(at.values[o.name], o.unit, o.name) for o in record.objectives)
    return f"{'stays' if at.stays else 'leaves'}: {values}"


def _notes(record: StudyRecord, summary: Summary) -> list[str]:
    said = []
    scenarios = summary.what_if.scenarios
    if scenarios is not None:
        said.append(
            f"Over {format_number(scenarios.count)} scenarios of what the model does not know for sure, the same for "
            f"all {format_number(len(scenarios.contenders))} contenders: how often none of them dominates the design, "
            "and its regret: by which share another one is better in every objective at once."
        )
    said += [describe_machines(record, summary), describe_sizes(summary)]
    said.append(describe_scope(summary))
    if summary.what_if.batches:
        rivals = summary.what_if.rivals
        beside = f" and the {format_number(rivals)} dominated designs nearest to it" if rivals else ""
        said.append(f"Batches: simulated again with another global batch, against the front{beside}.")
    return said


def _assumptions(scenarios: Scenarios | None) -> str:
    """What the scenarios take to be wrong, and by how much."""
    if scenarios is None or not scenarios.assumptions:
        return ""
    title = "What the scenarios take to be wrong"
    columns = [Column("number"), Column("true over said, nine of ten", True), Column("basis"), Column("source")]
    rows = [
        [
            escape_html(f"{known.name} ({', '.join(known.of) or known.things})"),
            f"{format_brief(known.low)} to {format_brief(known.high)}",
            escape_html(known.basis),
            escape_html(known.source),
        ]
        for known in scenarios.assumptions
    ]
    return f"<h3>{title}</h3>{table(title, columns, rows)}"
