"""`simulate(design, engine) -> Result`: one design, end to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simcore.check.check import check
from simcore.cost.orderable import order_of
from simcore.cost.price import cluster_cost, racks
from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.design.jobs import shares_of
from simcore.design.parallelism import Parallelism
from simcore.document.problem import InputError, Path, Problem, Refusal
from simcore.engine.fast.iteration import LOG_ROWS, Timing, Trace, time_collective, time_program
from simcore.engine.flow import run as flow
from simcore.engine.flow.classes import find_classes
from simcore.engine.flow.links import find_sharing, links_of
from simcore.engine.flow.spans import FlowLog
from simcore.engine.graph.run import time_graph
from simcore.engine.outcome import activity_in, exposed_in, use_in
from simcore.engine.registry import BUILT_IN
from simcore.graph import Graph
from simcore.jobs.play import log_jobs, play_jobs
from simcore.jobs.result import result_of_jobs
from simcore.layout.settle import settle, solved_keys
from simcore.memory.expanded import capacity, fits
from simcore.memory.plan import memory_needed, program_of
from simcore.metrics import Figures, with_measured
from simcore.power.draw import draw_of
from simcore.prediction_interval import interval
from simcore.program import Category, Program
from simcore.provenance import provenance
from simcore.reliability.counts import mtbf_of
from simcore.reliability.goodput import checkpoint_interval
from simcore.result import Result
from simcore.schedule import SCHEDULES
from simcore.system.chunks import PICOSECONDS
from simcore.system.meetings import meetings
from simcore.system.placement import find_crossing, place
from simcore.system.trees import fallback_notes
from simcore.workload.base import kind_of
from simcore.workload.penalties import unmodelled_penalties
from simcore.workload.pruned.kind import crossing_of
from simcore.workload.staleness import staleness_of

Engine = Callable[[Design], Result]
_NOTHING_SHARED = "every group has its links to itself, and all NPUs of a stage do the same"


def simulate(design: Design, engine: str | Engine = "auto") -> Result:
    """Time, breakdown, memory, cost and energy of one valid design (see `check`).

    `engine` is `"fast"` (one NPU of each stage), `"flow"` (one of each class of NPUs, which share links), `"auto"`
    (`fast` where that is exact, else `flow`), `"packets"` (every packet through every switch), `"reference"` (every
    NPU, phase level), `"reference_links"` (every message over every link), or any callable from a design to a result.
    Raises `InputError` where the engine cannot play the design, and `EventBudgetError` where `packets` or a reference
    engine would take too long.
    """
    if callable(engine):
        return with_measured(design, engine(design))
    if engine not in BUILT_IN:
        known = ", ".join(f"'{name}'" for name in BUILT_IN)
        raise Refusal(f"{known}, or a callable Design -> Result", f"'{engine}'", where="engine")
    settled = settle(design)
    result = _simulate_settled(settled, engine)
    return result if settled is design else replace(result, solved=solved_keys(settled))


def _simulate_settled(design: Design, engine: str) -> Result:
    """The result of a design with nothing left to be solved, of an engine of `BUILT_IN`."""
    if design.jobs is not None:
        return _simulate_jobs(design, engine)
    if engine == "auto":
        return _simulate_by_choice(design)
    if engine == "fast":
        return simulate_traced(design, trace=False)[0]
    if engine == "flow":
        return _simulate_flow(design)
    if engine in ("reference", "reference_links"):
        return _simulate_reference(design, engine)
    return _simulate_packets(design)


def _simulate_jobs(design: Design, engine: str) -> Result:
    """The result of several jobs; `auto` plays them apart where they share no links and need no other engine."""
    reason = None
    if engine == "auto":
        met = [f"{one.name} and {other.name} share links" for one, other in meetings(design)[:1]]
        why = [*met, *(why for share in shares_of(design)[0] for why in find_sharing(share.design)[:1])]
        why += ["links have failed, or carry less"] if design.cluster.failed_links else []
        engine, reason = "flow" if why else "fast", why[0] if why else "no jobs share links, and " + _NOTHING_SHARED
    _refuse_unplayable(design, engine)
    return replace(result_of_jobs(design, play_jobs(design, engine), engine), engine_reason=reason)


def _simulate_by_choice(design: Design) -> Result:
    """The result of the fast engine where it is exact, else of the flow engine; and why."""
    graph = program_of(design).graph
    if graph is not None:
        _refuse_shared_links(design, graph)
    reasons = find_sharing(design) if graph is None else ()
    if reasons:
        return _simulate_flow(design, "; ".join(reasons))
    return _simulate_fast(design, False, _NOTHING_SHARED)[0]


def _simulate_flow(design: Design, reason: str | None = None) -> Result:
    """The result of the flow engine; what finds no shared link is played by the code of the fast one."""
    _refuse_unplayable(design, "flow")
    program, shared = program_of(design), links_of(design)
    if not shared.links and not design.cluster.stragglers:
        return replace(_simulate_fast(design, False, reason)[0], engine="flow")
    classes = find_classes(design, place(design)[0])
    timing, _ = flow.time_job(flow.Job(design, program, classes), shared)
    if program.single is not None:
        return _result(design, timing, None, "flow", reason=reason)
    first = None
    if program.serves:
        first = flow.time_job(flow.Job(design, program.keep_chunks(1), classes), shared)[0].total
    return _result(design, timing, program, "flow", first, reason)


def _simulate_reference(design: Design, engine: str) -> Result:
    from simcore.engine import reference  # imports SimPy, which no other engine needs

    links = engine == "reference_links"
    _refuse_unplayable(design, engine)
    reference.check_budget(design, check, links)
    program = program_of(design)
    if (single := program.single) is not None:
        return _result(design, reference.time_collective(design, single, links), None, engine)
    if program.graph is not None:
        return _result(design, reference.time_graph(design, program.graph), program, engine)
    placement = place(design)[0]
    timing = reference.time_program(design, program, placement, links)
    first = (
        None if not program.serves else reference.time_program(design, program.keep_chunks(1), placement, links).total
    )
    return _result(design, timing, program, engine, first)


def _simulate_packets(design: Design) -> Result:
    from simcore.engine.packets.simulate import time_design  # loads its kernels

    _refuse_unplayable(design, "packets")
    program = program_of(design)
    timing, traffic, first = time_design(design, program, check)
    its = None if program.single is not None else program
    return replace(_result(design, timing, its, "packets", first), traffic=traffic)


def find_unplayable(design: Design, engine: str) -> list[Problem]:
    """What an engine cannot play of a design: one NPU must speak for its stage, a phase for its links."""
    if engine == "packets":
        if problems := _unplayable_graph(design, engine):
            return problems
        from simcore.engine.packets.unplayable import packet_problems  # loads its kernels

        return [*packet_problems(design), *_unplayable_schedules(design, engine), *_unplayable_servers(design, engine)]
    problems = _unplayable_jobs(design, engine) if design.jobs is not None else _unplayable_graph(design, engine)
    problems += [*_unplayable_schedules(design, engine), *_unplayable_servers(design, engine)]
    if engine == "fast" and design.cluster.stragglers:
        slow = ", ".join(str(straggler.npu) for straggler in design.cluster.stragglers)
        expected = "NPUs of a stage that all do the same (engine 'fast' plays one of them)"
        found = f"NPUs slower than the others ({slow})"
        problems.append(Problem(("cluster", "stragglers"), expected, found, "use engine 'flow' or 'reference'"))
    if engine not in ("reference_links", "flow") and design.cluster.failed_links:
        expected = f"links that all work (engine '{engine}' plays phases, not messages)"
        found = f"{len(design.cluster.failed_links)} failed links"
        problems.append(Problem(("cluster", "failed_links"), expected, found, "use engine 'reference_links'"))
    if engine != "reference_links" and design.cluster.switching != "cut_through":
        expected = f"'cut_through' (engine '{engine}' plays phases, not messages)"
        path: Path = ("cluster", "switching")
        problems.append(Problem(path, expected, f"'{design.cluster.switching}'", "use engine 'reference_links'"))
    if engine == "reference_links":
        alone = [share.design for share in shares_of(design)[0]] if design.jobs is not None else [design]
        for group, index in (crossing for each in alone for crossing in find_crossing(each)):
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


def _unplayable_schedules(design: Design, engine: str) -> list[Problem]:
    """Pipelines that never empty, on engines that play one batch."""
    if engine in ("fast", "reference") or (engine == "reference_links" and design.jobs is None):
        return []
    told: list[tuple[Path, Parallelism]] = [((), design.parallelism)] if design.jobs is None else []
    told += [(("jobs", number), job.parallelism) for number, job in enumerate(design.jobs or ())]
    expected = f"a schedule that flushes (engine '{engine}' plays one batch)"
    return [
        Problem((*path, "parallelism", "schedule"), expected, p.schedule, "use 1f1b, or engine 'fast' or 'reference'")
        for path, p in told
        if not SCHEDULES[p.schedule].flushes
    ]


def _unplayable_servers(design: Design, engine: str) -> list[Problem]:
    """Parameter servers, on engines that play what NPUs send each other."""
    if design.parallelism.parameter_server is None or engine in ("fast", "reference"):
        return []
    expected = f"all_reduce (engine '{engine}' plays no servers)"
    path: Path = ("parallelism", "gradients")
    return [Problem(path, expected, "parameter_server", "use engine 'fast' or 'reference'")]


def _unplayable_jobs(design: Design, engine: str) -> list[Problem]:
    """Jobs that meet on links of which an engine knows nothing."""
    if engine in ("flow", "reference_links"):
        return []
    expected = f"jobs that share no links (engine '{engine}' plays each alone)"
    return [
        Problem(("jobs",), expected, f"{one.name} and {other.name}, which do", "use engine 'flow'")
        for one, other in meetings(design)
    ]


def _unplayable_graph(design: Design, engine: str) -> list[Problem]:
    """What keeps an engine from playing an explicit graph."""
    if design.jobs is not None or not kind_of(design.workload).explicit:
        return []
    path, graph = ("workload", "trace"), program_of(design).graph
    if engine not in ("fast", "reference"):
        expected = f"a workload that is no trace (engine '{engine}' plays no explicit graphs)"
        return [Problem(path, expected, "a trace", "use engine 'fast' or 'reference'")]
    if engine == "fast" and graph is not None and graph.uneven:
        expected = "groups whose ranks all do the same (engine 'fast' plays one of them)"
        return [Problem(path, expected, graph.uneven, "use engine 'reference'")]
    return []


def _refuse_shared_links(design: Design, graph: Graph) -> None:
    """Raise `InputError` where NPUs that do different things share links of a graph's cluster."""
    shared = [number for number, d in enumerate(design.cluster.dimensions) if block_of(d).shares]
    if len(graph.classes) > 1 and shared:
        expected = "links of its own for each NPU where ranks of a trace do different things"
        found = f"links that NPUs share in cluster.dimensions[{shared[0]}]"
        fix = "use another topology, or engine 'fast', which counts every phase as if it had them alone"
        raise InputError([Problem(("cluster", "dimensions", shared[0]), expected, found, fix)])


def _refuse_unplayable(design: Design, engine: str) -> None:
    """Raise `InputError` for what an engine cannot play."""
    if problems := find_unplayable(design, engine):
        raise InputError(problems)


def simulate_traced(design: Design, trace: bool = True) -> tuple[Result, Trace | None]:
    """The result of the fast engine, and the log of what happened when; raises `InputError` as `simulate` does."""
    return _simulate_fast(design, trace, None)


def _simulate_fast(design: Design, trace: bool, reason: str | None) -> tuple[Result, Trace | None]:
    _refuse_unplayable(design, "fast")
    design = settle(design)
    program = program_of(design)
    if (single := program.single) is not None:
        return _result(design, time_collective(design, single), None, "fast", reason=reason), None
    if program.graph is not None:
        return _result(design, time_graph(design, program.graph), program, "fast", reason=reason), None
    placement, _ = place(design)
    timing, log = time_program(design, program, placement, trace)
    first = None if not program.serves else time_program(design, program.keep_chunks(1), placement)[0].total
    return _result(design, timing, program, "fast", first, reason), log


def log_flows(design: Design) -> FlowLog | None:
    """What happens when in the flow engine, everything played; None where the fast engine's code plays it all.

    Of several jobs what those do side by side that share links. Raises `InputError` as `simulate` does.
    """
    _refuse_unplayable(design, "flow")
    if design.jobs is not None:
        return log_jobs(design)
    shared = links_of(design)
    if not shared.links and not design.cluster.stragglers:
        return None
    classes = find_classes(design, place(design)[0])
    return flow.log_jobs([flow.Job(design, program_of(design), classes)], shared, [1], [""], LOG_ROWS)


def _result(
    design: Design,
    timing: Timing,
    program: Program | None,
    engine: str,
    first_token: int | None = None,
    reason: str | None = None,
) -> Result:
    """The result of a run; `first_token` [ps] is when every request has its first token, where a model is served.

    `reason`: why `auto` took the engine.
    """
    further = 0 if program is None or first_token is None else program.chunks - 1
    seconds = timing.total / PICOSECONDS
    spent = {category: time / PICOSECONDS for category, time in timing.spent.items()}
    memory = memory_needed(design)
    order = order_of(design.cluster)
    drawn, cost = draw_of(design, activity_in(design, timing, program, spent)), cluster_cost(design)
    figures = Figures.of(
        design,
        seconds=seconds,
        power=drawn.mean,
        energy=drawn.mean * seconds,
        capital=cost.total,
        peak=drawn.peak,
        network=cost.network,
        samples=None if program is None else _known(program, program.tokens),
        flops=None if program is None else _known(program, program.model_flops),
    )
    result = Result(
        iteration_time_s=seconds,
        iteration_time_interval_s=None if program is None or program.graph else interval(design, seconds),
        throughput_tokens_per_s=figures.throughput,
        mfu=figures.mfu,
        compute_s=spent.get(Category.COMPUTE, 0.0),
        exposed_communication_s=exposed_in(spent),
        bubble_s=timing.bubble / PICOSECONDS,
        optimizer_s=spent.get(Category.OPTIMIZER, 0.0),
        other_s=spent.get(Category.OTHER, 0.0),
        memory_bytes=memory,
        memory_capacity_bytes=capacity(design),
        fits=None if kind_of(design.workload).explicit else memory is None or fits(design, memory),
        network=use_in(design, timing, seconds),
        network_utilization=min(
            1.0, sum(timing.sent) / (seconds * sum(d.bandwidth for d in design.cluster.dimensions))
        ),
        cost=replace(cost, total=figures.total),
        power_w=drawn.mean,
        energy_j=drawn.mean * seconds,
        power=drawn,
        perf_per_cost=figures.perf_per_cost,
        engine=engine,
        stage=None if program is None or program.stages == 1 else timing.stage,
        engine_reason=reason,
        npus=design.cluster.npus,
        racks=racks(design),
        time_to_first_token_s=None if first_token is None else first_token / PICOSECONDS,
        time_per_output_token_s=(timing.total - (first_token or 0)) / PICOSECONDS / further if further else None,
        throughput_counts="tokens" if program is None else program.counts,
        provenance=provenance(design),
        not_modelled=unmodelled_penalties(design),
        staleness=staleness_of(design),
        crossing=crossing_of(design),
        fallbacks=fallback_notes(design),
        orderable=order.orderable,
        order_notes=order.notes,
        **_owned(figures),
        **_trained(design, figures, seconds),
    )
    return with_measured(design, result)


def _known(program: Program, figure: float) -> float | None:
    """A figure of a Program; of a graph, which may not say it, None instead of 0."""
    return None if program.graph is not None and not figure else figure


def _owned(figures: Figures) -> dict[str, Any]:
    """What it costs to own the cluster, and a token with it."""
    return {
        "electricity_cost": figures.electricity,
        "yearly_cost": figures.owned.yearly,
        "ownership_cost": figures.owned.tco,
        "energy_per_token_j": figures.energy_per_token,
        "cost_per_token": figures.cost_per_token,
    }


def _trained(design: Design, figures: Figures, seconds: float) -> dict[str, Any]:
    """What the whole training takes, with its failures."""
    needed = design.workload.tokens_needed
    return {
        "goodput": figures.goodput,
        "mtbf_s": mtbf_of(design),
        "checkpoint_interval_s": checkpoint_interval(design, seconds),
        "time_to_train_s": figures.time_to_train,
        "cost_to_train": figures.cost_to_train,
        "tokens_to_train": None if needed is None else needed.tokens,
        "tokens_to_train_interval": None if needed is None else needed.interval,
    }
