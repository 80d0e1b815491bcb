"""From the played jobs of a cluster to its result: the slowest job's time, what all make together, what all cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from simcore.cost.price import cluster_cost
from simcore.design.design import Design
from simcore.engine.finish import cluster_fields, spent_fields
from simcore.engine.notices import notices_of
from simcore.engine.outcome import activity_in, use_in
from simcore.jobs.play import PlayedJob
from simcore.memory.expanded import fits
from simcore.memory.plan import memory_needed, program_of
from simcore.metrics import Figures, with_measured
from simcore.power.draw import draw_of
from simcore.program import Program
from simcore.provenance import provenance
from simcore.result import Activity, JobResult, Result
from simcore.system.chunks import PICOSECONDS


def result_of_jobs(design: Design, played: Sequence[PlayedJob], engine: str) -> Result:
    """The result of several jobs on one cluster."""
    jobs = tuple(_job_result(design, job) for job in played)
    slowest = max(played, key=lambda job: job.together.total)
    seconds = slowest.together.total / PICOSECONDS
    drawn, cost = draw_of(design, _mean_activity(design, played)), cluster_cost(design)
    figures = Figures.of(
        design,
        seconds=seconds,
        power=drawn.mean,
        energy=drawn.mean * seconds,
        capital=cost.total,
        peak=drawn.peak,
        network=cost.network,
        samples=_made(jobs, seconds),
        flops=_flops(played, seconds),
        interruptions=None,
    )
    result = Result(
        iteration_time_s=seconds,
        throughput_tokens_per_s=figures.throughput,
        throughput_counts=jobs[0].throughput_counts,
        mfu=figures.mfu,
        memory_bytes=memory_needed(design),
        fits=all(job.fits for job in jobs),
        network=use_in(slowest.share.design, slowest.together, seconds),
        network_utilization=_utilization(design, played),
        engine=engine,
        provenance=_provenance(played),
        **notices_of(engine, *(job.share.design for job in played), beside=any(job.iterations > 1 for job in played)),
        **spent_fields(slowest.together),
        **cluster_fields(design, drawn, cost, figures),
        jobs=jobs,
        stage=None if (program := _program(slowest)) is None or program.stages == 1 else slowest.together.stage,
    )
    return with_measured(design, result)


def _provenance(played: Sequence[PlayedJob]) -> dict[str, str]:
    """Where the numbers of all jobs come from; what is not said of all of them alike names the jobs."""
    of_jobs = [(job.share.name, provenance(job.share.design)) for job in played]
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for _, said in of_jobs for key in said):
        texts: dict[str, list[str]] = {}
        for name, said in of_jobs:
            if key in said:
                texts.setdefault(said[key], []).append(name)
        named = [f"{text} ({', '.join(names)})" for text, names in texts.items()]
        found[key] = next(iter(texts)) if len(texts) == 1 else "; ".join(named)
    return found


def _program(job: PlayedJob) -> Program | None:
    """What a job repeats; None of a single collective."""
    program = program_of(job.share.design)
    return None if program.single else program


def _job_result(design: Design, job: PlayedJob) -> JobResult:
    own, program, timing = job.share.design, _program(job), job.together
    seconds, spent, memory = timing.total / PICOSECONDS, spent_fields(timing), memory_needed(own)
    rate = None if program is None or not program.tokens else program.tokens / seconds
    peak = own.cluster.npus * own.cluster.npu.rate(own.workload.precision) if program else 0.0
    figures = _figures_of(design, job, program)
    return JobResult(
        name=job.share.name,
        npus=own.cluster.npus,
        nodes=job.share.places,
        iteration_time_s=seconds,
        alone_s=job.alone.total / PICOSECONDS,
        iterations=job.iterations,
        throughput_tokens_per_s=rate,
        throughput_counts="tokens" if program is None else program.counts,
        mfu=program.model_flops / (seconds * peak) if program else None,
        memory_reserved_bytes=None if memory is None else memory.reserved,
        fits=memory is None or fits(own, memory),
        compute_s=spent["compute_s"],
        exposed_communication_s=spent["exposed_communication_s"].total,
        bubble_s=spent["bubble_s"],
        cost=figures.capital,
        goodput=figures.goodput,
        time_to_train_s=figures.time_to_train,
        cost_to_train=figures.cost_to_train,
    )


def _figures_of(design: Design, job: PlayedJob, program: Program | None) -> Figures:
    """The figures of a job: prices, staff and draw are its share of a cluster that does what it does."""
    own, seconds, cost = job.share.design, job.together.total / PICOSECONDS, cluster_cost(design)
    share = own.cluster.npus / design.cluster.npus
    drawn = draw_of(design, activity_in(own, job.together, program))
    prices = own.cost.model_copy(update={"staff": share * own.cost.staff})
    return Figures.of(
        own.model_copy(update={"cost": prices}),
        seconds=seconds,
        power=share * drawn.mean,
        energy=share * drawn.mean * seconds,
        capital=share * cost.capital,
        peak=share * drawn.peak,
        network=share * cost.network,
        samples=None if program is None else program.tokens,
        flops=None if program is None else program.model_flops,
    )


def _made(jobs: Sequence[JobResult], seconds: float) -> float | None:
    """Tokens (or samples) of all jobs in so many seconds; None where one makes none, or not all make the same."""
    rates = [job.throughput_tokens_per_s for job in jobs]
    alike = len({job.throughput_counts for job in jobs}) == 1
    return sum(rate for rate in rates if rate) * seconds if alike and all(rates) else None


def _flops(played: Sequence[PlayedJob], seconds: float) -> float | None:
    """What the models of all jobs ask of so many seconds [FLOP]; None where jobs compute in different precisions."""
    programs = [(job, program) for job in played if (program := _program(job)) is not None]
    precisions = {job.share.design.workload.precision for job, _ in programs}
    if len(programs) < len(played) or len(precisions) > 1:
        return None
    return sum(program.model_flops * seconds * PICOSECONDS / job.together.total for job, program in programs)


def _mean_activity(design: Design, played: Sequence[PlayedJob]) -> Activity:
    """What an NPU of the cluster does in a second on average; those of no job idle."""
    parts: dict[str, float] = {field.name: 0.0 for field in fields(Activity)}
    for job in played:
        share = job.share.design.cluster.npus / design.cluster.npus
        does = activity_in(job.share.design, job.together, _program(job))
        for name in parts:
            parts[name] += share * getattr(does, name) / does.seconds
    free = 1.0 - sum(job.share.design.cluster.npus for job in played) / design.cluster.npus
    return Activity(**{**parts, "idle": parts["idle"] + free})


def _utilization(design: Design, played: Sequence[PlayedJob]) -> float:
    """The share of all NPUs' bandwidth that jobs use."""
    sent = sum(
        job.share.design.cluster.npus * sum(job.together.sent) * PICOSECONDS / job.together.total for job in played
    )
    return min(1.0, sent / (design.cluster.npus * sum(each.bandwidth for each in design.cluster.dimensions)))
