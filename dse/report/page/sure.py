"""How sure the front is: over the scenarios of what is not known, at other prices, and at other batches."""

from __future__ import annotations

from collections.abc import Callable

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.page.base import Column, Section, escape_html, front_rows, paragraphs, shown_note, table, trial_name
from dse.report.robustness import PREDICTION, PRICES, Robustness, describe_scope, robustness
from dse.report.summary import Summary
from dse.report.units import MISSING, format_number, format_percent, format_with_unit
from dse.whatif.answers import FACTORS, AtBatch

_Cell = Callable[[TrialRecord, Robustness], str]
_TIMES = {0.5: "half", 2.0: "twice"}


def sure_section(record: StudyRecord, summary: Summary) -> Section | None:
    """A row for each design of the front, a column for each question; None where nothing is known."""
    found = robustness(record, summary)
    shown = [(trial, row) for trial, row in front_rows(summary) if trial.number in found]
    asked = {**_scenario_questions(summary), **_questions(record)}
    cells = {name: [read(trial, found[trial.number]) for trial, _ in shown] for name, read in asked.items()}
    known = {name: texts for name, texts in cells.items() if any(text != MISSING for text in texts)}
    if not known:
        return None
    columns = [Column("design"), *(Column(name, number=True) for name in known)]
    rows = [[row, *(escape_html(texts[at]) for texts in known.values())] for at, (_, row) in enumerate(shown)]
    title = "How sure the front is"
    notes = paragraphs([*_notes(summary), shown_note(summary)])
    return Section("sure", title, notes + _robust_pick(summary) + table(title, columns, rows), "Sureness")


def _robust_pick(summary: Summary) -> str:
    scenarios = summary.what_if.scenarios
    if scenarios is None or scenarios.robust is None:
        return ""
    name = trial_name(scenarios.robust, "robust pick")
    return f"<p class='said'>Robust: {name} has the least regret in the worst but one of ten scenarios.</p>"


def _scenario_questions(summary: Summary) -> dict[str, _Cell]:
    """Heading -> what gives a design's cell."""
    scenarios = summary.what_if.scenarios
    if scenarios is None:
        return {}
    members = scenarios.members

    def read(tell: Callable[[TrialRecord], str]) -> _Cell:
        return lambda trial, _: tell(trial) if trial.number in members else MISSING

    return {
        "on the front": read(lambda trial: format_percent(members[trial.number].on_front)),
        "regret, mean": read(lambda trial: format_percent(members[trial.number].regret)),
        "regret, worst of ten": read(lambda trial: format_percent(members[trial.number].regret_p90)),
    }


def _questions(record: StudyRecord) -> dict[str, _Cell]:
    def at_batch(factor: float) -> _Cell:
        return lambda _, robust: _batch(record, next((at for at in robust.batches if at.factor == factor), None))

    batches = {f"{_TIMES.get(factor, f'{factor:g} x')} the batch": at_batch(factor) for factor in FACTORS}
    return {"prices": _prices, "its own time": _prediction, **batches}


def _prices(trial: TrialRecord, robust: Robustness) -> str:
    del trial
    return MISSING if robust.prices is None else format_percent(robust.prices)


def _prediction(trial: TrialRecord, robust: Robustness) -> str:
    del trial
    return MISSING if robust.prediction is None else "stays" if robust.prediction else "leaves"


def _batch(record: StudyRecord, at: AtBatch | None) -> str:
    if at is None:
        return MISSING
    if at.why:
        return f"cannot run: {at.why}"
    values = ", ".join(format_with_unit(at.values[o.name], o.unit, o.name) for o in record.objectives)
    return f"{'stays' if at.stays else 'leaves'}: {values}"


def _notes(summary: Summary) -> list[str]:
    said = []
    scenarios = summary.what_if.scenarios
    if scenarios is not None:
        said.append(
            f"On the front, and regret: over {format_number(scenarios.count)} scenarios of what the model does not "
            f"know, the same for all {format_number(len(scenarios.contenders))} designs that contend. Regret: by which "
            "share another one is better in every objective at once."
        )
    said.append(
        f"Prices: the share of the scenarios in which a design stays where those of network, NPUs and memory each move "
        f"by {format_percent(PRICES)} up, down or not. Its own time: whether it stays at the upper end of the "
        f"prediction's interval ({format_percent(PREDICTION)} longer where the result has none), others as predicted."
    )
    if describe_scope(summary):
        said.append(f"Prices and time: {describe_scope(summary)[0].lower()}{describe_scope(summary)[1:]}")
    if summary.what_if.batches:
        rivals = summary.what_if.rivals
        beside = f" and the {format_number(rivals)} dominated designs nearest to it" if rivals else ""
        said.append(f"Batches: simulated again with another global batch, against the front{beside}.")
    return said
