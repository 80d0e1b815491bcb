"""What an engine cannot play of a design."""

from __future__ import annotations

from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.design.jobs import shares_of
from simcore.design.parallelism import Parallelism
from simcore.document.problem import InputError, Path, Problem
from simcore.graph import Graph
from simcore.memory.plan import program_of
from simcore.schedule import SCHEDULES
from simcore.system.meetings import meetings
from simcore.system.placement import find_crossing
from simcore.workload.base import kind_of


def find_unplayable(design: Design, engine: str) -> list[Problem]:
    """What an engine cannot play of a design: one NPU must speak for its stage, a phase for its links."""
    if engine == "packets":
        if problems := _unplayable_graph(design, engine):
            return problems
        from simcore.engine.packets.unplayable import packet_problems  # loads its kernels

        problems = [*packet_problems(design), *_unplayable_schedules(design, engine)]
        return [*problems, *_unplayable_servers(design, engine), *_unplayable_memory(design, engine)]
    problems = _unplayable_jobs(design, engine) if design.jobs is not None else _unplayable_graph(design, engine)
    problems += [*_unplayable_schedules(design, engine), *_unplayable_servers(design, engine)]
    problems += _unplayable_memory(design, engine)
    if engine == "fast" and design.cluster.stragglers:
        slow = ", ".join(str(straggler.npu) for straggler in design.cluster.stragglers)
        expected = "NPUs of a stage that all do the same (engine 'fast' plays one of them)"
        found = f"NPUs slower than the others ({slow})"
        problems.append(Problem(("cluster", "stragglers"), expected, found, "use engine 'flow' or 'reference'"))
    if engine not in ("reference_links", "flow") and design.cluster.failed_links:
        expected = f"links that all work (engine '{engine}' plays phases, not messages)"
        found = f"{len(design.cluster.failed_links)} failed links"
        problems.append(Problem(("cluster", "failed_links"), expected, found, "use engine 'flow' or 'reference_links'"))
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


def _unplayable_memory(design: Design, engine: str) -> list[Problem]:
    """Weights that stream in from a memory, on engines that play messages over links."""
    if design.streamed is None or engine not in ("packets", "reference_links"):
        return []
    expected = f"no weights in it (engine '{engine}' plays messages between NPUs)"
    path: Path = ("cluster", "memory", "expanded", "place")
    found, fix = ", ".join(design.streamed.place), "use engine 'fast', 'flow' or 'reference'"
    return [Problem(path, expected, found, fix)]


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


def refuse_shared_links(design: Design, graph: Graph) -> None:
    """Raise `InputError` where NPUs that do different things share links of a graph's cluster."""
    shared = [number for number, d in enumerate(design.cluster.dimensions) if block_of(d).shares]
    if len(graph.classes) > 1 and shared:
        expected = "links of its own for each NPU where ranks of a trace do different things"
        found = f"links that NPUs share in cluster.dimensions[{shared[0]}]"
        fix = "use another topology, or engine 'fast', which counts every phase as if it had them alone"
        raise InputError([Problem(("cluster", "dimensions", shared[0]), expected, found, fix)])


def refuse_unplayable(design: Design, engine: str) -> None:
    """Raise `InputError` for what an engine cannot play."""
    if problems := find_unplayable(design, engine):
        raise InputError(problems)
