"""Several jobs on one cluster, as a table: what each takes alone and beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dse.report.units import MISSING, clean_text, format_percent, format_with_unit
from simcore.result import JobResult, fairness

HEADS = ("job", "NPUs", "nodes", "time", "alone", "slowdown", "rate", "MFU")
_LONGEST = 12
"""Characters of a list of nodes."""


def job_rows(jobs: Sequence[JobResult]) -> list[tuple[str, ...]]:
    """A row of `HEADS` for each job."""
    return [
        (
            clean_text(job.name),
            f"{job.npus:,}",
            describe_nodes(job.nodes),
            format_with_unit(job.iteration_time_s, "s"),
            format_with_unit(job.alone_s, "s"),
            f"{job.slowdown:.3f}",
            _rate(job),
            MISSING if job.mfu is None else format_percent(job.mfu),
        )
        for job in jobs
    ]


def name_slowest(jobs: Sequence[JobResult]) -> str:
    """Whose times are those of several jobs together; empty of one alone."""
    return clean_text(max(jobs, key=lambda job: job.iteration_time_s).name) if len(jobs) > 1 else ""


def name_fullest(jobs: Sequence[JobResult]) -> str:
    """Whose memory is that of several jobs together; empty of one alone."""
    return clean_text(max(jobs, key=lambda job: job.memory_reserved_bytes or 0.0).name) if len(jobs) > 1 else ""


def _rate(job: JobResult) -> str:
    rate = job.throughput_tokens_per_s
    return MISSING if rate is None else format_with_unit(rate, f"{job.throughput_counts}/s")


def describe_nodes(nodes: Sequence[int]) -> str:
    """`0-7`, `0,4,…28` (every 4th one), or the first few of any others."""
    steps = {after - before for before, after in pairwise(nodes)}
    if len(nodes) > 2 and steps == {1}:
        return f"{nodes[0]}-{nodes[-1]}"
    if len(nodes) > 3 and len(steps) == 1:
        return f"{nodes[0]},{nodes[1]},…{nodes[-1]}"
    text = ",".join(map(str, nodes))
    return text if len(text) <= _LONGEST else f"{text[: text[:_LONGEST].rfind(',') + 1]}…"


def describe_jobs(jobs: Sequence[JobResult]) -> list[str]:
    """How evenly several jobs are slowed, what each trains, and which do not fit, a sentence each."""
    said = f"Fairness {fairness(jobs):.3f}: 1 where all are slowed alike, 1/{len(jobs)} where one alone makes progress."
    told = ["The jobs share no links." if all(job.iterations == 1 for job in jobs) else said] if len(jobs) > 1 else []
    for job in jobs:
        if told_of := _describe_training(job):
            told.append(f"{clean_text(job.name)}: {told_of}.")
        if not job.fits:
            needed = format_with_unit(job.memory_reserved_bytes, "B")
            told.append(f"{clean_text(job.name)} does not fit: it needs {needed} on each NPU.")
    return told


def _describe_training(job: JobResult) -> str:
    """How long a job trains, and for how much; empty where neither is known."""
    parts = []
    if job.goodput is not None and job.goodput < 1.0:
        parts.append(f"goodput {format_percent(job.goodput)}")
    if job.time_to_train_s is not None:
        parts.append(f"{format_with_unit(job.time_to_train_s, 's')} to train")
    if job.cost_to_train is not None:
        parts.append(f"{format_with_unit(job.cost_to_train, '$')} by its share of the cluster")
    return ", ".join(parts)
