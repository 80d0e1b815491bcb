"""Why nothing in a study is feasible: the constraint that binds, and how close the best trial came.

The binding constraint is the one that most trials break. Trials are compared by how many constraints they break, then
by the largest miss: a trial that misses one thing narrowly is closer than one that misses two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.evaluate.fullness import fullness
from dse.evaluate.over_memory import overflow
from dse.evaluate.record import VALID, StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.report.aspects import Document
from dse.report.describe import headline
from dse.report.orders import describe_unsold
from dse.report.units import clean_text, format_number, format_percent
from dse.report.words import count_errors, describe_without_value
from dse.space.constraint import describe_violation
from dse.whatif.recomputed import recomputes_all

_SHOWN = ("workload", "NPUs", "topology", "bandwidth", "uplinks", "degrees", "ZeRO", "microbatch", "recompute")


def explain_infeasible(record: StudyRecord) -> str:
    """A few sentences for a study without a feasible trial; empty where there is one."""
    if record.feasible_trials:
        return ""
    if not record.trials:
        return _describe_proven(record.proof) or "No design was evaluated."
    has_failed = record.trials.is_state("failed")
    failed, rest = record.trials.select(has_failed), record.trials.select(~has_failed)
    sentences = [_describe_ends(record)]
    if len(rest):
        sentences += [_describe_binding(rest), describe_unsold(rest)]
        sentences += [_describe_closest(rest), describe_without_value(record)]
    if len(failed):
        error, times = count_errors(failed).most_common(1)[0]
        often = (
            f"The most frequent error ({format_number(times)} of {format_number(len(failed))})"
            if len(failed) > 1
            else "The error"
        )
        sentences.append(f"{often}: {error}")
    return "\n".join(sentence for sentence in sentences if sentence)


def _describe_proven(proof: Mapping[str, Any] | None) -> str:
    """That no design of a space can be, and what rules them out; empty where that is not proven."""
    if proof is None or not proof["complete"] or not proof["cut"]:
        return ""
    cuts = sorted(proof["cut"].items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"'{clean_text(rule)}' {format_number(count)}" for rule, count in cuts)
    points = format_number(proof["points"])
    why = f"Each was ruled out by the first of these that it breaks: {told}."
    return f"Nothing is feasible, which is proven: of {points} combinations none is left. {why}"


def describe_closest(simulated: int, design: Document | None, violations: Mapping[str, float]) -> str:
    """Which of designs that were simulated beside a study comes closest, and what it misses."""
    misses = [(name, by) for name, by in violations.items() if by > 0]
    told = " and ".join(f"'{clean_text(name)}' by {describe_violation(name, by)}" for name, by in misses)
    what = headline(design, _SHOWN)
    return f"Of {format_number(simulated)} designs that may be simulated the closest ({what}) misses {told}."


def _describe_ends(record: StudyRecord) -> str:
    states = record.trials.count("state")
    endings = {"infeasible": "broke a constraint on results", "cut": "were cut before simulation", "failed": "failed"}
    parts = [f"{format_number(states[state])} {text}" for state, text in endings.items() if states[state]]
    return f"Nothing is feasible: of {format_number(len(record.trials))} designs, {', '.join(parts)}."


def _describe_binding(trials: Trials) -> str:
    names = trials.count_missed()
    # A rule that cut a trial without a measured violation counts under its own name.
    for rule, count in trials.select(trials.codes("missed") < 0).count("cut_by").items():
        names[rule or "unknown"] += count
    if names.pop(VALID, 0):  # what breaks a rule counts under the rule's name, too
        for rule, count in trials.count("cut_by").items():
            if rule and rule not in names:
                names[rule] += count
    ordered = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    (binding, times), others = ordered[0], ordered[1:4]
    then = ", ".join(f"'{clean_text(name)}' by {format_number(count)}" for name, count in others)
    after = f" (then {then})" if then else ""
    return f"The binding constraint is '{clean_text(binding)}', broken by {format_number(times)} of them{after}."


def _describe_closest(trials: Trials) -> str:
    """Describes the trial that is closest to feasible: a simulated one if there is any, else one that was cut."""
    measured = trials.select(trials.codes("missed") >= 0)
    if not len(measured):
        return ""
    simulated = measured.select(~measured.is_state("cut"))
    asked = simulated if len(simulated) else measured
    broken = np.array([len(json.loads(text)) for text in asked.texts("missed")])[asked.codes("missed")]
    best = asked[int(np.lexsort([asked.numbers, asked.worst, broken])[0])]
    misses = " and ".join(_describe_missed(best, name) for name in best.missed)
    what = "" if best.design is None else f" ({headline(best.decided_document, _SHOWN)})"
    unknown = "" if len(simulated) else "; it was cut before simulation, which might break more"
    which = "closest that was simulated" if len(simulated) < len(measured) and simulated else "closest"
    return f"The {which} is trial {best.number}{what}: it misses {misses}{unknown}.{_describe_spare_memory(best)}"


def _describe_spare_memory(trial: TrialRecord) -> str:
    """That a design recomputes more than its memory asks for, which costs it time; else empty."""
    if trial.metrics is None or trial.workloads or not recomputes_all(trial):
        return ""
    full = format_percent(fullness(trial))
    return f" It recomputes all layers with its memory {full} full: with 'recompute: solve' as few do as have to."


def _describe_missed(trial: TrialRecord, name: str) -> str:
    if name == VALID:
        return f"the rule '{clean_text(trial.cut_by or VALID)}'"
    return f"'{clean_text(name)}' by {describe_miss(trial, name)}"


def describe_miss(trial: TrialRecord, name: str) -> str:
    """By how much a trial misses a constraint: in GiB, with what would help, where it does not fit; else in percent."""
    over = overflow(trial.design) if name == "fits" and trial.design is not None and not trial.workloads else None
    return describe_violation(name, trial.missed[name]) if over is None else clean_text(str(over))
