"""The limits of a study in words: which ones the design to build is near to, and how sure it is to keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.evaluate.read import trial_metrics
from dse.evaluate.record import VALID, StudyRecord, TrialRecord
from dse.report.choice import SURER
from dse.report.counted import counts_samples, unit_of
from dse.report.describe import compare, headline
from dse.report.families import KIND
from dse.report.nearest import describe_changes, distance
from dse.report.quickest import buy_the_same
from dse.report.summary import Summary
from dse.report.units import clean_text, format_brief, format_percent, format_with_unit
from dse.space.constraint import Constraint, parse_constraints
from dse.whatif.answers import SAFE, Machine, Sureness
from dse.whatif.machines import machine_of
from simcore.metrics import METRICS

NEAR = 0.05
"""A limit is near where a design keeps less than this share of it free."""
_TOLD = 0.95
"""A limit that a design keeps in at least such a share of the scenarios is not told."""
_DIFFERENCES = 4
"""What is told at most of a design that is surer to keep a limit."""
_SURE = {"staleness", "npus", "racks", "memory.capacity"}
"""Metrics that a design says itself."""
_MEAN_POWER = {"power", "power.mean"}


def describe_kept_limits(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    """In how many scenarios the design keeps its limits, and which one keeps them in nine of ten; else empty."""
    known = summary.what_if.known
    sure = known.get(trial.number)
    doubtful = {name: share for name, share in (sure.kept if sure else {}).items() if share < _TOLD}
    if not doubtful:
        return ""
    samples = counts_samples(record.trials)
    told = [
        f"it keeps {clean_text(name)}{_describe_predicted(name, trial, samples)} in {format_percent(share)} of the "
        "scenarios"
        for name, share in doubtful.items()
    ]
    text = " and ".join(told)
    machines = summary.what_if.machines
    safer = "" if sure is None or sure.is_safe else f"; {_describe_safer(record, trial, known, machines)}"
    return f"{text[0].upper()}{text[1:]}{safer}."


def _describe_predicted(name: str, trial: TrialRecord, samples: bool) -> str:
    """What is predicted of the metric that a limit is about; whether `samples` are counted."""
    (limit,) = parse_constraints([name], [])
    values = trial_metrics(trial)
    told = [
        format_with_unit(value, unit_of(METRICS[m].unit, samples), m)
        for m in limit.metrics
        if (value := values[m]) is not None
    ]
    return f" ({' and '.join(told)} predicted)" if told else ""


def _describe_safer(
    record: StudyRecord, trial: TrialRecord, known: Mapping[int, Sureness], machines: Sequence[Machine]
) -> str:
    """The design that gives up least of the objectives, of those that keep all limits in nine of ten scenarios.

    Where there is none, the same of the surest ones. The best designs found on other machines are among them.
    """
    compared: list[Sureness | Machine] = [*known.values(), *machines]
    most = max(sure.least_kept for sure in compared)
    if most < known[trial.number].least_kept + SURER:
        return f"none of the {len(compared):,} designs that were compared is surer to"
    least = min(SAFE, most)
    safe = record.feasible_trials.numbered_among(number for number, sure in known.items() if sure.least_kept >= least)
    others: list[TrialRecord | Machine] = [*safe, *(each for each in machines if each.least_kept >= least)]
    found = min(others, key=lambda other: distance(record, trial, other))
    if isinstance(found, Machine):
        what, kept = f"the best design found on {clean_text(found.name)}", found.least_kept
    else:
        what, kept = f"trial {found.number} ({_describe_other(trial, found)})", known[found.number].least_kept
    surest = "does in" if most >= SAFE else f"is the surest of the {len(compared):,} that were compared, in"
    is_here = isinstance(found, TrialRecord) and _has_same_machines(trial, found)
    here = "" if is_here else _describe_safer_here(record, trial, known)
    return f"{what} {surest} {format_percent(kept)}: {describe_changes(record, trial, found)}{here}"


def _describe_safer_here(record: StudyRecord, trial: TrialRecord, known: Mapping[int, Sureness]) -> str:
    """The nearest on the same machines that is about as sure as any there; empty where none is surer."""
    feasible = record.feasible_trials.numbered_among(known)
    kept = {its.number: min(SAFE, known[its.number].least_kept) for its in feasible if _has_same_machines(trial, its)}
    least = max(kept.values()) - SURER
    if least < known[trial.number].least_kept:
        return ""
    others = (its for its in feasible if kept.get(its.number, 0.0) >= least)
    found = min(others, key=lambda other: distance(record, trial, other))
    share = format_percent(known[found.number].least_kept)
    told = f"trial {found.number} ({_describe_other(trial, found)}) does in {share}"
    return f"; on the same machines {told}: {describe_changes(record, trial, found)}"


def _has_same_machines(trial: TrialRecord, other: TrialRecord) -> bool:
    return buy_the_same(trial, other) and machine_of(trial.design) == machine_of(other.design)


def _describe_other(trial: TrialRecord, other: TrialRecord) -> str:
    """What another design is; how it differs where both are told alike."""
    what = headline(other.decided_document, ("NPUs",))
    if what != headline(trial.decided_document, ("NPUs",)):
        return what
    _, its = compare([trial.decided_document, other.decided_document], KIND).phrases
    return ", ".join(its[:_DIFFERENCES]) or what


def _may_move(limit: Constraint) -> bool:
    """Whether a design may miss a limit that it keeps: what follows from its own keys alone is as sure as they are."""
    return not _SURE.issuperset(limit.metrics)


def describe_near_limits(trial: TrialRecord) -> str:
    """Which limits it nearly misses; memory is told elsewhere, but for several workloads."""
    told = {VALID, "orderable"} if trial.workloads else {VALID, "orderable", "fits"}
    kept = [name for name, missed in trial.violations.items() if name not in told and -NEAR < missed <= 0]
    near = [its.name for its in parse_constraints(kept, []) if its.is_fits or _may_move(its)]
    said = ["memory" if name == "fits" else clean_text(name) for name in near]
    if not said:
        return ""
    of_mean = any(_MEAN_POWER.intersection(constraint.metrics) for constraint in parse_constraints(near, []))
    why = "; the mean draw falls where NPUs wait: a building's limit is one of power.peak" if of_mean else ""
    return f"it is within {format_brief(100 * NEAR)} % of a limit: {', '.join(said)}{why}"
