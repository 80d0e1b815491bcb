"""How fast a design is beside what its objectives say: times that limits are about, and its MFU."""

from __future__ import annotations

from dse.evaluate.read import trial_metrics
from dse.evaluate.record import VALID, StudyRecord, TrialRecord
from dse.report.counted import counts_samples, unit_of
from dse.report.quickest import is_spent_anyway
from dse.report.units import clean_text, format_brief, format_percent, format_with_unit, label
from dse.space.constraint import parse_constraints
from simcore.metrics import METRICS, exponent_of

_BY_TOKEN = ("cost_per_token", "throughput", "energy_per_token")
"""Metrics by token, which are those that a server makes."""


def describe_speed(record: StudyRecord, trial: TrialRecord) -> str:
    """`time to train 28.1 days, MFU 41 %`: what no objective says of it; MFU of one model that is trained.

    Where no objective or limit is of how much work is done, the time that its job takes, too.
    """
    asked = {name for objective in record.objectives for name in objective.names}
    limits = parse_constraints([name for name in trial.violations if name != VALID], [])
    named = dict.fromkeys(name for limit in limits for name in limit.metrics)
    values, samples = trial_metrics(trial), counts_samples(record.trials)
    used, serves = values.get("mfu"), values.get("time_to_first_token") is not None
    timed = [name for name in named if exponent_of(name, "time") and name not in asked]
    if not timed and is_spent_anyway(record) and not (trial.design or {}).get("jobs"):
        timed = ["throughput" if serves else "iteration_time"]
    told = [
        f"{clean_text(label(name))} {format_with_unit(value, unit_of(METRICS[name].unit, samples), name)}"
        for name in timed
        if (value := values.get(name)) is not None
    ]
    if asked.intersection(_BY_TOKEN):
        told += _describe_tokens(trial)
    if used and not serves and "mfu" not in {*asked, *named}:
        told.append(f"MFU {_of_jobs(trial) or format_percent(used)}")
    return ", ".join(told)


def _describe_tokens(trial: TrialRecord) -> list[str]:
    """`tokens are those made, each after 128 read`, of a model that is served."""
    workload = (trial.design or {}).get("workload") or {}
    read, made = workload.get("prompt_length"), workload.get("output_length")
    if not isinstance(read, int) or not isinstance(made, int):
        return []
    return [f"tokens are those made, each after {format_brief(read / made)} read"]


def _of_jobs(trial: TrialRecord) -> str:
    """`dense 37 %, experts 34 %`: of each of several jobs on its own NPUs; empty where there is one."""
    jobs = (trial.metrics or {}).get("jobs") or ()
    told = [f"{clean_text(job['name'])} {format_percent(job['mfu'])}" for job in jobs if job.get("mfu")]
    return ", ".join(told) if len(jobs) > 1 else ""
