"""Why nothing in a study is feasible: the constraint that binds, and how close the best trial came.

The binding constraint is the one that most trials break. Trials are compared by how many constraints they break, then
by the largest miss: a trial that misses one thing narrowly is closer than one that misses two.
"""

from __future__ import annotations

from collections import Counter

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.describe import headline
from dse.report.orders import describe_unsold
from dse.report.units import clean_text, format_number, format_with_unit, shorten_text
from dse.report.values import read_result
from dse.report.words import describe_without_value

_SHOWN = ("workload", "NPUs", "topology", "bandwidth", "degrees", "ZeRO", "microbatch", "recompute")


def explain_infeasible(record: StudyRecord) -> str:
    """A few sentences for a study without a feasible trial; empty where there is one."""
    if record.feasible_trials:
        return ""
    if not record.trials:
        return "No design was evaluated."
    failed = [trial for trial in record.trials if trial.state == "failed"]
    rest = [trial for trial in record.trials if trial.state != "failed"]
    sentences = [_describe_ends(record)]
    if rest:
        sentences += [_describe_binding(rest), describe_unsold(rest)]
        sentences += [_describe_closest(rest), describe_without_value(record)]
    if failed:
        error, times = Counter(clean_text(trial.error or "no message") for trial in failed).most_common(1)[0]
        often = (
            f"The most frequent error ({format_number(times)} of {format_number(len(failed))})"
            if len(failed) > 1
            else "The error"
        )
        sentences.append(f"{often}: {error}")
    return "\n".join(sentence for sentence in sentences if sentence)


def _describe_ends(record: StudyRecord) -> str:
    states = Counter(trial.state for trial in record.trials)
    endings = {"infeasible": "broke a constraint on results", "cut": "were cut before simulation", "failed": "failed"}
    parts = [f"{format_number(states[state])} {text}" for state, text in endings.items() if states[state]]  # type: ignore[index]
    return f"Nothing is feasible: of {format_number(len(record.trials))} designs, {', '.join(parts)}."


def _describe_binding(trials: list[TrialRecord]) -> str:
    # A rule that cut a trial without a measured violation counts under its own name.
    names = [name for trial in trials for name in (trial.missed or [trial.cut_by or "unknown"])]
    ordered = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    (binding, times), others = ordered[0], ordered[1:4]
    then = ", ".join(f"'{clean_text(name)}' by {format_number(count)}" for name, count in others)
    after = f" (then {then})" if then else ""
    return f"The binding constraint is '{clean_text(binding)}', broken by {format_number(times)} of them{after}."


def _describe_closest(trials: list[TrialRecord]) -> str:
    """Describes the trial that is closest to feasible: a simulated one if there is any, else one that was cut."""
    measured = [trial for trial in trials if trial.missed]
    if not measured:
        return ""
    simulated = [trial for trial in measured if trial.state != "cut"]
    best = min(
        simulated or measured,
        key=lambda t: (len(t.missed), max(t.missed.values()), t.number),
    )
    misses = " and ".join(f"'{clean_text(name)}' by {missed:.3g}" for name, missed in best.missed.items())
    what = "" if best.design is None else f" ({headline(best.decided_document, _SHOWN)})"
    unknown = "" if simulated else "; it was cut before simulation, which might break more"
    which = "closest that was simulated" if len(simulated) < len(measured) and simulated else "closest"
    return f"The {which} is trial {best.number}{what}: it misses {misses}{_describe_memory(best)}{unknown}."


def _describe_memory(trial: TrialRecord) -> str:
    if trial.metrics is None or trial.workloads:
        return ""
    outcome = read_result(trial.metrics)
    if outcome.memory_bytes is None or outcome.memory_bytes.reserved <= outcome.memory_capacity_bytes:
        return ""
    reserved, capacity = (
        format_with_unit(outcome.memory_bytes.reserved, "B"),
        format_with_unit(outcome.memory_capacity_bytes, "B"),
    )
    return shorten_text(f"; it needs {reserved} of the {capacity} of memory", 120)
