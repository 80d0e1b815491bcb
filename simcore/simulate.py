"""`simulate(design, engine) -> Result`: one design, end to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simcore.check.check import check
from simcore.design.design import Design
from simcore.design.jobs import shares_of
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.engine.fast.iteration import LOG_ROWS, Trace, time_collective, time_program
from simcore.engine.finish import result_of_run
from simcore.engine.flow import run as flow
from simcore.engine.flow.classes import find_classes
from simcore.engine.flow.links import find_sharing, links_of, needs_flow
from simcore.engine.flow.spans import FlowLog
from simcore.engine.graph.run import time_graph
from simcore.engine.registry import BUILT_IN
from simcore.engine.unplayable import refuse_shared_links, refuse_unplayable
from simcore.jobs.play import log_jobs, play_jobs
from simcore.jobs.result import result_of_jobs
from simcore.layout.settle import settle, solved_keys
from simcore.memory.plan import program_of
from simcore.metrics import with_measured
from simcore.result import Result
from simcore.system.meetings import meetings
from simcore.system.placement import place

Engine = Callable[[Design], Result]
_NOTHING_SHARED = "every group has its links to itself, and all NPUs of a stage do the same"


def simulate(design: Design, engine: str | Engine = "auto") -> Result:
    """Time, breakdown, memory, cost and energy of one valid design (see `check`).

    `engine` is `"fast"` (one NPU of each stage), `"flow"` (one of each class of NPUs, which share links), `"auto"`
    (`fast` where that is exact, else `flow`), `"packets"` (every packet through every switch), `"reference"` (every
    NPU, phase level), `"reference_links"` (every message over every link), or any callable from a design to a result.
    Raises `InputError` for an unknown engine and where the engine cannot play the design, and `EventBudgetError` where
    `packets` or a reference engine would take too long.
    """
    if callable(engine):
        return with_measured(design, engine(design))
    if engine not in BUILT_IN:
        known = ", ".join(f"'{name}'" for name in BUILT_IN)
        fix = suggest_nearest(engine, BUILT_IN)
        raise InputError([Problem(("engine",), f"{known}, or a callable Design -> Result", f"'{engine}'", fix)])
    if not isinstance(design, Design):
        raise TypeError(f"expected a Design, got a {type(design).__name__}: load_design reads files and mappings")
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
        return _simulate_fast(design, False, None)[0]
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
        apart = "no jobs share links, and " if len(design.jobs or ()) > 1 else ""
        engine, reason = "flow" if why else "fast", why[0] if why else apart + _NOTHING_SHARED
    refuse_unplayable(design, engine)
    return replace(result_of_jobs(design, play_jobs(design, engine), engine), engine_reason=reason)


def _simulate_by_choice(design: Design) -> Result:
    """The result of the fast engine where it is exact, else of the flow engine; and why."""
    graph = program_of(design).graph
    if graph is not None:
        refuse_shared_links(design, graph)
    reasons = find_sharing(design) if graph is None else ()
    if reasons:
        return _simulate_flow(design, "; ".join(reasons))
    return _simulate_fast(design, False, _NOTHING_SHARED)[0]


def _simulate_flow(design: Design, reason: str | None = None) -> Result:
    """The result of the flow engine; what finds no shared link is played by the code of the fast one."""
    refuse_unplayable(design, "flow")
    program, shared = program_of(design), links_of(design)
    if not needs_flow(design.cluster, shared):
        return replace(_simulate_fast(design, False, reason)[0], engine="flow")
    classes = find_classes(design, place(design)[0])
    timing, _ = flow.time_job(flow.Job(design, program, classes), shared)
    if program.single is not None:
        return result_of_run(design, timing, None, "flow", reason=reason)
    first = None
    if program.serves:
        first = flow.time_job(flow.Job(design, program.first_token, classes), shared)[0].total
    return result_of_run(design, timing, program, "flow", first, reason)


def _simulate_reference(design: Design, engine: str) -> Result:
    from simcore.engine import reference  # imports SimPy, which no other engine needs

    links = engine == "reference_links"
    refuse_unplayable(design, engine)
    reference.check_budget(design, check, links)
    program = program_of(design)
    if (single := program.single) is not None:
        return result_of_run(design, reference.time_collective(design, single, links), None, engine)
    if program.graph is not None:
        return result_of_run(design, reference.time_graph(design, program.graph), program, engine)
    placement = place(design)[0]
    timing = reference.time_program(design, program, placement, links)
    first = None if not program.serves else reference.time_program(design, program.first_token, placement, links).total
    return result_of_run(design, timing, program, engine, first)


def _simulate_packets(design: Design) -> Result:
    from simcore.engine.packets.simulate import time_design  # loads its kernels

    refuse_unplayable(design, "packets")
    program = program_of(design)
    timing, traffic, first = time_design(design, program, check)
    its = None if program.single is not None else program
    return replace(result_of_run(design, timing, its, "packets", first), traffic=traffic)


def simulate_traced(design: Design) -> tuple[Result, Trace | None]:
    """The result of the fast engine, and the log of what happened when; raises `InputError` as `simulate` does.

    There is no log of a single collective and of a trace.
    """
    return _simulate_fast(design, True, None)


def _simulate_fast(design: Design, trace: bool, reason: str | None) -> tuple[Result, Trace | None]:
    refuse_unplayable(design, "fast")
    design = settle(design)
    program = program_of(design)
    if (single := program.single) is not None:
        return result_of_run(design, time_collective(design, single), None, "fast", reason=reason), None
    if program.graph is not None:
        return result_of_run(design, time_graph(design, program.graph), program, "fast", reason=reason), None
    placement, _ = place(design)
    timing, log = time_program(design, program, placement, trace)
    first = None if not program.serves else time_program(design, program.first_token, placement)[0].total
    return result_of_run(design, timing, program, "fast", first, reason), log


def log_flows(design: Design) -> FlowLog | None:
    """What happens when in the flow engine, everything played; None where the fast engine's code plays it all.

    Of several jobs what those do side by side that share links, of a lone one what it does. Raises `InputError` as
    `simulate` does.
    """
    refuse_unplayable(design, "flow")
    if design.jobs is not None:
        return log_jobs(design)
    shared = links_of(design)
    if not needs_flow(design.cluster, shared):
        return None
    classes = find_classes(design, place(design)[0])
    return flow.log_jobs([flow.Job(design, program_of(design), classes)], shared, [1], [""], LOG_ROWS)
