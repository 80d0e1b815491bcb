"""The decision of a study in three sentences: what to build, what it gives and costs, and what would change that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.evaluate.record import VALID, StudyRecord, TrialRecord
from dse.report.assumptions import describe_assumptions
from dse.report.choice import Payoff, knees_at_prices, payoff, recommended
from dse.report.describe import headline
from dse.report.families import Family, families
from dse.report.reasons import describe_reasons
from dse.report.robustness import PRICES
from dse.report.sensitivity import format_change
from dse.report.summary import Summary
from dse.report.ties import time_stretch
from dse.report.units import clean_text, format_brief, format_percent, format_with_unit, label, scale
from dse.space.objective import Objective
from simcore.metrics import moves

NEAR = 0.05
"""A limit is near where a design keeps less than this share of it free."""
_PARTS = {"network": "network", "npu": "NPU", "memory": "memory"}
_DEGREES = ("tensor", "context", "pipeline", "data", "expert")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a study comes to."""

    trial: int | None
    """The design to build; None where nothing is feasible."""
    sentences: tuple[str, ...]
    """What to build; what it gives and costs; where more money stops to pay and what would change the choice."""
    assumptions: tuple[str, ...]
    """What the answer rests on: prices, devices, networks."""


def describe_decision(record: StudyRecord, summary: Summary) -> Decision:
    """The decision of a study, in words; without sentences where nothing is feasible."""
    number = recommended(record, summary)
    if number is None:
        return Decision(None, (), ())
    trial = next(trial for trial in record.trials if trial.number == number)
    sentences = (_build(trial), _expect(record, summary, trial), _change(record, summary, trial))
    return Decision(number, tuple(s for s in sentences if s), describe_assumptions(record, trial))


def _build(trial: TrialRecord) -> str:
    document = trial.decided_document
    network = headline(document, ("topology", "bandwidth"))
    what = headline(document, ("NPUs",)) + (f" on {network} an NPU" if network else "")
    if trial.workloads:
        return f"Build trial {trial.number}: {what}; each workload runs with software of its own."
    degrees, more = _degrees(document or {}), headline(document, ("ZeRO", "microbatch", "interleave", "recompute"))
    how = ", ".join(part for part in (degrees, more) if part)
    return f"Build trial {trial.number}: {what}{f'; run it with {how}' if how else ''}."


def _degrees(document: Mapping[str, Any]) -> str:
    parallelism = document.get("parallelism")
    if not isinstance(parallelism, Mapping):
        return ""
    known = {name: parallelism.get(name, 1) for name in _DEGREES}
    said = " x ".join(f"{name} {clean_text(degree)}" for name, degree in known.items() if degree != 1)
    return f"{said} parallel" if said else "no parallelism"


def _expect(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    given = ", ".join(_value(objective, summary, trial) for objective in record.objectives)
    parts = [f"It gives {given}", describe_reasons(trial).rstrip(".").replace("Bound by", "bound by", 1)]
    scenarios = summary.what_if.scenarios
    sure = None if scenarios is None else scenarios.members.get(trial.number)
    parts += [] if sure is None else [f"on the front in {format_percent(sure.on_front)} of the scenarios"]
    return f"{'; '.join(part for part in parts if part)}."


def _value(objective: Objective, summary: Summary, trial: TrialRecord) -> str:
    """`iteration time 61.32 s (nine times in ten 50.68 to 83.06 s)`."""
    value = trial.values[objective.name]
    text = f"{clean_text(label(objective.name))} {format_with_unit(value, objective.unit, objective.name)}"
    ends = interval_of(objective, summary, trial)
    if ends is None:
        return text
    unit = scale(objective.unit, ends, objective.name)
    low, high = (unit.number(end) for end in ends)
    return f"{text} (nine times in ten {low} to {high}{f' {unit.unit}' if unit.unit else ''})"


def interval_of(objective: Objective, summary: Summary, trial: TrialRecord) -> tuple[float, float] | None:
    """Where an objective of a trial lies in nine of ten cases [SI]; None where it is exact, or that is not known.

    By the scenarios where they were asked, else by the interval of its result.
    """
    power = 0 if objective.expression is not None else moves(objective.name, "time")
    scenarios = summary.what_if.scenarios
    sure = None if scenarios is None else scenarios.members.get(trial.number)
    predicted = (trial.metrics or {}).get("iteration_time_s")
    stretch = time_stretch(trial)
    if sure is not None and sure.interval is not None and predicted:
        stretch = sure.interval[0] / predicted, sure.interval[1] / predicted
    if not power or stretch is None:
        return None
    low, high = sorted(trial.values[objective.name] * end**power for end in stretch)
    return low, high


def _change(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    found = families(record, summary)
    pay = payoff(record, summary)
    clauses = [] if pay is None else [_describe_payoff(pay)]
    clauses += [clause for clause in _changes(record, summary, trial, found) if clause]
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _describe_payoff(pay: Payoff) -> str:
    price, bought = (format_with_unit(pay.trial.values[o.name], o.unit, o.name) for o in (pay.price, pay.bought))
    where = f"{price} (trial {pay.trial.number}, {bought})"
    what = clean_text(label(pay.bought.name))
    if pay.after is None:
        return f"more money pays up to the dearest design, {where}: the last 1 % bought {pay.before:.1g} % of {what}"
    if pay.before is None:
        return f"more money than {where} does not pay: 1 % buys {_of(pay.after)} of {what}"
    return (
        f"more money stops to pay at {where}: to there 1 % buys {_of(pay.before)} of {what} or more, "
        f"from there {_of(pay.after)}"
    )


def _of(gain: float) -> str:
    return "less than 0.01 %" if gain < 0.01 else f"{gain:.2g} %"


def _changes(record: StudyRecord, summary: Summary, trial: TrialRecord, found: tuple[Family, ...]) -> Iterator[str]:
    yield _rival(record, summary, trial, found)
    yield _at_prices(record, summary, found)
    yield _at_batches(summary, trial)
    yield _limits(trial)


def _rival(record: StudyRecord, summary: Summary, trial: TrialRecord, found: tuple[Family, ...]) -> str:
    """The family whose chosen design is nearest in its objectives."""
    chosen = {t.number: t for t in record.feasible_trials}
    others = [family for family in found if trial.number not in family.trials]
    if not others:
        return ""
    losses = record.losses((trial, *(chosen[family.chosen] for family in others)))
    span = abs(losses).mean(axis=0)
    far = (abs(losses[1:] - losses[0]) / (span + (span == 0))).max(axis=1)
    rival = others[int(far.argmin())]
    changes = []
    for objective in record.objectives:
        before, after = trial.values[objective.name], chosen[rival.chosen].values[objective.name]
        share = objective.sign * (after - before) / abs(before) if before else None
        changes.append(f"{clean_text(label(objective.name))} {format_change(share, objective.sign)}")
    return f"the closest rival is trial {rival.chosen} ({rival.name}): {', '.join(changes)}"


def _at_prices(record: StudyRecord, summary: Summary, found: tuple[Family, ...]) -> str:
    """Which prices move the knee to another family."""
    home = next((family for family in found if summary.knee in family.trials), None)
    knees = knees_at_prices(record)
    moved = {key: trial.number for key, trial in knees.items() if home and trial.number not in home.trials}
    shift = format_percent(PRICES)
    said = [
        f"{_PARTS[part]} prices {shift} {'up' if factor > 1 else 'down'} move the knee to trial {number}"
        for (part, factor), number in moved.items()
    ]
    return " and ".join(said) or (f"prices {shift} up or down do not change it" if knees else "")


def _at_batches(summary: Summary, trial: TrialRecord) -> str:
    lost = [at for at in summary.what_if.batches.get(trial.number, ()) if not at.stays]
    if not summary.what_if.batches.get(trial.number):
        return ""
    if not lost:
        return "half or twice the batch does not change it"
    return " and ".join(
        f"at batch {format_brief(at.batch)} " + (f"it {at.why}" if at.why else "others dominate it") for at in lost
    )


def _limits(trial: TrialRecord) -> str:
    near = [clean_text(name) for name, missed in trial.violations.items() if name != VALID and -NEAR < missed <= 0]
    return f"it is within {format_percent(NEAR)} of a limit: {', '.join(near)}" if near else ""
