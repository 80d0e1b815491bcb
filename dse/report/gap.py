"""Why the best value of an objective is far from its proven bound: the job behind the bound, and its trials.

A bound comes from a job (degrees, memory savings) on a network with the best of every dimension. The gap then has one
of three causes: the search never tried that job; the bound leaves out times for which the simulated designs wait; or
the job breaks a rule on every network that was tried.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.evaluate.record import StudyRecord
from dse.evaluate.trials import Trials
from dse.report.describe import headline
from dse.report.reasons import describe_bounds
from dse.report.summary import Summary
from dse.report.units import clean_text, format_number, format_percent, format_with_unit, label
from dse.space.objective import Objective
from simcore.metrics import BEFORE, exponent_of, is_of

WORTH = 0.01
"""Gaps up to this are not explained."""
_FAILED = "a failure of the simulation"
_OF_JOB = ("degrees", "ZeRO", "microbatch", "interleave", "recompute", "seq. parallel")
_JOB_IN_SHORT = ("degrees", "ZeRO")
_OF_NETWORK = ("NPUs", "topology")


def describe_gaps(record: StudyRecord, summary: Summary) -> list[str]:
    """A paragraph for each objective whose best is further from its bound than `WORTH`; none if there is a proof."""
    if record.proof is not None:
        return []
    return [_describe_gap(o, record, summary) for o in record.objectives if (summary.gaps[o.name] or 0.0) > WORTH]


def describe_gap_in_short(objective: Objective, record: StudyRecord, summary: Summary) -> str:
    """A clause on why the gap of an objective is more than `WORTH`; empty where it is not, or the proof says it."""
    if record.proof is not None or (summary.gaps[objective.name] or 0.0) <= WORTH:
        return ""
    leader = record.leaders.get(objective.name)
    if leader is None:
        return "the bound takes the best of several designs, perhaps no design reaches it"
    if is_of(objective.name, BEFORE):
        return "no network as cheap was found that meets every constraint"
    job = f" ({its})" if (its := headline(leader, _JOB_IN_SHORT)) else ""
    alike = record.trials.with_job(leader)
    feasible = int(alike.is_state("feasible").sum())
    if feasible:
        networks = "1 network" if feasible == 1 else f"{format_number(feasible)} networks"
        return f"the bound's job{job} was simulated on {networks}; the bound assumes no waits"
    if len(alike):
        return f"the bound's job{job} was ruled out by {_commonest_rules(alike, 1)}"
    return f"the bound's job{job} was not tried: more trials may reach it"


def _describe_gap(objective: Objective, record: StudyRecord, summary: Summary) -> str:
    gap, leader = summary.gaps[objective.name], record.leaders.get(objective.name)
    name = clean_text(label(objective.name))
    start = f"{name[0].upper()}{name[1:]}: a design that is up to {format_percent(gap or 0.0)} better is not ruled out."
    if leader is None:
        return f"{start} The bound combines the best of several designs; perhaps no design reaches it."
    job, network = headline(leader, _OF_JOB), headline(leader, _OF_NETWORK)
    if is_of(objective.name, BEFORE):
        return f"{start} The bound is that of the cheapest {network}; none was found that meets every constraint."
    behind = f"{job} on {network}"
    if (
        not exponent_of(objective.name, "time")
        or exponent_of(objective.name, "total")
        or exponent_of(objective.name, "tco")
    ):
        behind = f"the least time (of {behind}) at the least price of any network there"
    return f"{start} The bound is that of {behind}. {_describe_outcome(objective, leader, record)}"


def _describe_outcome(objective: Objective, leader: Mapping[str, Any], record: StudyRecord) -> str:
    """Whether the job behind the bound was simulated, ruled out, or not tried."""
    alike = record.trials.with_job(leader)
    feasible = alike.select(alike.is_state("feasible"))
    if len(feasible):
        best = feasible[int(np.argmin(objective.sign * feasible.values(objective.name)))]
        value = format_with_unit(best.values[objective.name], objective.unit, objective.name)
        networks = "1 network" if len(feasible) == 1 else f"{format_number(len(feasible))} networks"
        spent = clean_text(describe_bounds(best)) or "its parts are not known"
        return (
            f"It was simulated with {networks}: {value} at best (trial {best.number}: {spent}), because the bound "
            "assumes the best of every dimension at once and leaves out waits."
        )
    if alike:
        return f"It was ruled out by {_commonest_rules(alike, 3)}."
    return "It was not tried: more trials may reach it."


def _commonest_rules(trials: Trials, count: int) -> str:
    names = [[*json.loads(text), _FAILED][0] for text in trials.texts("missed")] + [_FAILED]
    cuts = [*trials.texts("cut_by"), ""]
    pairs = zip(trials.codes("cut_by").tolist(), trials.codes("missed").tolist(), strict=True)
    rules = Counter(cuts[cut] or names[missed] for cut, missed in pairs)
    return ", ".join(f"{clean_text(rule)} ({format_number(n)})" for rule, n in rules.most_common(count))
