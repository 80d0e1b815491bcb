"""`simulate(design, engine) -> Result`: one design, end to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simcore.cost.price import cluster_cost, energy
from simcore.cost.running import electricity, per_token, racks, with_electricity
from simcore.design import CollectiveWorkload, Design
from simcore.engine.fast import Timing, Trace, time_collective, time_program
from simcore.interval import interval
from simcore.memory.expanded import capacity, fits
from simcore.plan import memory_needed, program_of
from simcore.problem import InputError, Path, Problem
from simcore.program import Category, Program
from simcore.result import DimensionUse, ExposedCommunication, Result
from simcore.system.chunks import PICOSECONDS
from simcore.system.placement import crossing, place

Engine = Callable[[Design], Result]


def simulate(design: Design, engine: str | Engine = "fast") -> Result:
    """Time, breakdown, memory, cost and energy of one valid design (see `check`).

    `engine` is `"fast"`, `"reference"` (every NPU, phase level), `"reference_links"` (every message over every link),
    or any callable from a design to a result. Raises `InputError` where the fast engine cannot play the design, and
    `EventBudgetError` where the reference engine would take too long.
    """
    if callable(engine):
        return engine(design)
    if engine == "fast":
        return traced(design, trace=False)[0]
    if engine in ("reference", "reference_links"):
        return _reference(design, engine)
    known = "'fast', 'reference', 'reference_links'"
    raise ValueError(f"engine: expected {known}, or a callable Design -> Result, got '{engine}'")


def _reference(design: Design, engine: str) -> Result:
    from simcore.engine import reference  # imports SimPy, which no other engine needs

    links = engine == "reference_links"
    _refuse(design, engine)
    reference.within_budget(design, links)
    if isinstance(design.workload, CollectiveWorkload):
        return _result(design, reference.time_collective(design, links), None, engine)
    program = program_of(design)
    placement = place(design)[0]
    timing = reference.time_program(design, program, placement, links)
    first = None if program.trained else reference.time_program(design, program.until(1), placement, links).total
    return _result(design, timing, program, engine, first)


def unplayable(design: Design, engine: str) -> list[Problem]:
    """What an engine cannot play of a design: one NPU must speak for its stage, a phase for its links."""
    problems = []
    if engine == "fast" and design.cluster.stragglers:
        slow = ", ".join(str(straggler.npu) for straggler in design.cluster.stragglers)
        expected = "NPUs of a stage that all do the same (engine 'fast' plays one of them)"
        found = f"NPUs slower than the others ({slow})"
        problems.append(Problem(("cluster", "stragglers"), expected, found, "use engine 'reference'"))
    if engine != "reference_links" and design.cluster.failed_links:
        expected = f"links that all work (engine '{engine}' plays phases, not messages)"
        found = f"{len(design.cluster.failed_links)} failed links"
        problems.append(Problem(("cluster", "failed_links"), expected, found, "use engine 'reference_links'"))
    if engine != "reference_links" and design.cluster.switching != "cut_through":
        expected = f"'cut_through' (engine '{engine}' plays phases, not messages)"
        path: Path = ("cluster", "switching")
        problems.append(Problem(path, expected, f"'{design.cluster.switching}'", "use engine 'reference_links'"))
    if engine == "reference_links":
        for group, index in crossing(design):
            expected = f"affinity 1 (engine '{engine}' plays messages, which do not know whose rings cross)"
            found = f"{design.cluster.dimensions[index].affinity:g}, and group '{group}' crosses"
            problems.append(
                Problem(("cluster", "dimensions", index, "affinity"), expected, found, "use engine 'reference'")
            )
    if engine == "reference_links" and design.system.active_chunks != "overlap":
        expected = "'overlap' (engine 'reference_links' lets every chunk send when it can)"
        found = str(design.system.active_chunks)
        problems.append(Problem(("system", "active_chunks"), expected, found, "use engine 'reference'"))
    return problems


def _refuse(design: Design, engine: str) -> None:
    """Raise `InputError` for what an engine cannot play."""
    if problems := unplayable(design, engine):
        raise InputError(problems)


def traced(design: Design, trace: bool = True) -> tuple[Result, Trace | None]:
    """The result of the fast engine, and the log of what happened when; raises `InputError` as `simulate` does."""
    _refuse(design, "fast")
    if isinstance(design.workload, CollectiveWorkload):
        return _result(design, time_collective(design), None, "fast"), None
    program = program_of(design)
    placement, _ = place(design)
    timing, log = time_program(design, program, placement, trace)
    first = None if program.trained else time_program(design, program.until(1), placement)[0].total
    return _result(design, timing, program, "fast", first), log


def _result(
    design: Design, timing: Timing, program: Program | None, engine: str, first_token: int | None = None
) -> Result:
    """The result of a run; `first_token` [ps] is when every request has its first token, where a model is served."""
    seconds = timing.total / PICOSECONDS
    spent = {category: timing.spent.get(category, 0) / PICOSECONDS for category in Category}
    tokens = None if program is None else program.tokens
    throughput = None if tokens is None else tokens / seconds
    memory = None if program is None else memory_needed(design)
    drawn = energy(design, (spent[Category.COMPUTE] + spent[Category.OPTIMIZER]) / seconds, seconds)
    price = cluster_cost(design)
    each = per_token(design.cost, design.workload, price.total, drawn.energy, seconds, tokens)
    cost = with_electricity(design, price, drawn.power)
    return Result(
        iteration_time_s=seconds,
        iteration_time_interval_s=None if program is None else interval(design.cluster, seconds),
        throughput_tokens_per_s=throughput,
        mfu=None if program is None else _mfu(design, program, seconds),
        compute_s=spent[Category.COMPUTE],
        exposed_communication_s=_exposed(spent),
        bubble_s=timing.bubble / PICOSECONDS,
        optimizer_s=spent[Category.OPTIMIZER],
        other_s=0.0,
        memory_bytes=memory,
        memory_capacity_bytes=capacity(design),
        fits=memory is None or fits(design, memory),
        network=_network_use(design, timing, seconds),
        network_utilization=_network_utilization(design, timing, seconds),
        cost=cost,
        power_w=drawn.power,
        energy_j=drawn.energy,
        perf_per_cost=throughput / cost.total if throughput is not None and cost.total > 0 else None,
        engine=engine,
        npus=design.cluster.npus,
        racks=racks(design),
        electricity_cost=electricity(design, drawn.power),
        energy_per_token_j=each.energy,
        cost_per_token=each.cost,
        time_to_train_s=each.time_to_train,
        cost_to_train=each.cost_to_train,
        time_to_first_token_s=None if first_token is None else first_token / PICOSECONDS,
        time_per_output_token_s=_time_per_further_token(timing, program, first_token),
        throughput_counts="tokens" if program is None else program.counts,
    )


def _mfu(design: Design, program: Program, seconds: float) -> float:
    """FLOPs of the model over those that all NPUs could have done."""
    assert not isinstance(design.workload, CollectiveWorkload)
    peak = design.cluster.npu.peak[design.workload.precision]
    return program.model_flops / (seconds * design.cluster.npus * peak)


def _exposed(spent: Mapping[Category, float]) -> ExposedCommunication:
    return ExposedCommunication(
        tensor=spent[Category.TENSOR],
        data=spent[Category.DATA],
        pipeline=spent[Category.PIPELINE],
        expert=spent[Category.EXPERT],
        context=spent[Category.CONTEXT],
    )


def _time_per_further_token(timing: Timing, program: Program | None, first_token: int | None) -> float | None:
    """Time of each token after the first [s], where a model is served and there are any."""
    if program is None or first_token is None or program.chunks == 1:
        return None
    return (timing.total - first_token) / PICOSECONDS / (program.chunks - 1)


def _network_utilization(design: Design, timing: Timing, seconds: float) -> float:
    """Bytes sent over those that all dimensions together could have sent."""
    return min(1.0, sum(timing.sent) / (seconds * sum(d.bandwidth for d in design.cluster.dimensions)))


def _network_use(design: Design, timing: Timing, seconds: float) -> tuple[DimensionUse, ...]:
    return tuple(
        DimensionUse(
            dimension=f"{index}: {dimension.topology}({dimension.size})",
            bytes_per_npu=sent,
            busy_s=busy / PICOSECONDS,
            utilization=min(1.0, sent / (dimension.bandwidth * seconds)),  # picoseconds round times of small phases
        )
        for index, (dimension, busy, sent) in enumerate(
            zip(design.cluster.dimensions, timing.busy, timing.sent, strict=True)
        )
    )
