"""The door: ASTRA-sim's files in, nanoseconds out.

Where all NPUs do the same, one of them is worked out and stands for all; otherwise each is simulated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcore.astra.algorithms.collective import Chunk, Planner, Request
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.groups import load_groups
from simcore.astra.files.network import Generation, Network, load_network
from simcore.astra.files.remote_memory import MemoryPorts, RemoteMemory, load_remote_memory
from simcore.astra.files.result import AstraResult, DimensionBytes, OperationTimes
from simcore.astra.files.system import SystemSettings, load_system
from simcore.astra.files.text_workload import load_text_workload
from simcore.astra.files.trace import Action, OperationTrace
from simcore.astra.files.workload import load_traces
from simcore.astra.loops.workload import TextWorkload

if TYPE_CHECKING:
    from simcore.astra.engine.phase_time import PhaseTimer
    from simcore.astra.files.graph import NpuGraph

MAX_COUNT = 10_000
"""Most queues per dimension, and passes."""

MAX_FINISH_NS = 1 << 60
"""Latest finish: times stay inside 64 bits."""

MAX_SCALE = 1e6
"""Bound on the scales."""

BACKENDS = ("unaware", "aware")


@dataclass(frozen=True)
class Case:
    """Everything a run needs, read and checked."""

    network: Network
    system: SystemSettings
    workload: tuple[OperationTrace, ...] | TextWorkload
    memory: RemoteMemory = field(default_factory=RemoteMemory)
    aware: bool = False
    queues: int = 1
    rendezvous: bool = False
    passes: int = 1
    warnings: tuple[str, ...] = ()


def run(
    network: str | Path,
    system: str | Path,
    workload: str | Path,
    *,
    comm_groups: str | Path | None = None,
    remote_memory: str | Path | None = None,
    backend: str = "unaware",
    compute_scale: float = 1.0,
    comm_scale: float = 1.0,
    num_passes: int = 1,
    num_queues: int = 1,
    injection_scale: float = 1.0,
    rendezvous: bool = False,
) -> AstraResult:
    """Run ASTRA-sim's own input files and return the times ASTRA-sim would give.

    Parameters
    ----------
    network
        Network file: 2.x `.yml`, or 1.0 `.json`.
    system
        System file: 2.x `.json`, or 1.0 `.txt`.
    workload
        Prefix of `<prefix>.<rank>.et`, one `.et` file for every NPU, or a 1.0 text workload.
    comm_groups, remote_memory
        2.x files, where the workload needs them.
    backend
        `unaware` or `aware` of congestion.
    compute_scale, comm_scale, num_passes
        1.0 only; 2.x accepts and ignores the scales.
    num_queues
        Queues per dimension.
    injection_scale
        Factor on the endpoint delay.
    rendezvous
        Whether receives ask for their data first.

    Raises
    ------
    AstraInputError
        If the files are malformed, or ASTRA-sim would hang, abort or never report an NPU.
    """
    case = load(
        network,
        system,
        workload,
        comm_groups=comm_groups,
        remote_memory=remote_memory,
        backend=backend,
        compute_scale=compute_scale,
        comm_scale=comm_scale,
        num_passes=num_passes,
        num_queues=num_queues,
        injection_scale=injection_scale,
        rendezvous=rendezvous,
    )
    return simulate(case)


def load(
    network: str | Path,
    system: str | Path,
    workload: str | Path,
    *,
    comm_groups: str | Path | None = None,
    remote_memory: str | Path | None = None,
    backend: str = "unaware",
    compute_scale: float = 1.0,
    comm_scale: float = 1.0,
    num_passes: int = 1,
    num_queues: int = 1,
    injection_scale: float = 1.0,
    rendezvous: bool = False,
) -> Case:
    """Read and check the files of a run; parameters and errors as for `run`."""
    _check_counts({"num_queues": num_queues, "num_passes": num_passes})
    scales = {"compute_scale": compute_scale, "comm_scale": comm_scale}
    _check_scales({**scales, "injection_scale": injection_scale})
    if backend not in BACKENDS:
        raise AstraInputError(f"backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    fabric = load_network(Path(network))
    settings = load_system(Path(system), injection_scale)
    if settings.one == (fabric.generation is Generation.TWO):
        raise AstraInputError(f"{system}: expected a system file of ASTRA-sim {fabric.generation.value}, as {network}")
    options = Case(fabric, settings, (), aware=backend == "aware", queues=num_queues, rendezvous=rendezvous)
    if settings.one:
        if options.aware:
            raise AstraInputError("backend: expected unaware for 1.0 input; ASTRA-sim 1.0 has no other")
        text = load_text_workload(Path(workload), compute_scale, comm_scale, fabric.generation is Generation.TUTORIAL)
        return replace(options, workload=text, passes=num_passes)
    groups = load_groups(None if comm_groups is None else Path(comm_groups), fabric.npus)
    ignored = [name for name, value in {**scales, "num_passes": num_passes}.items() if value != 1]
    return replace(
        options,
        workload=load_traces(Path(workload), settings, groups, fabric.npus),
        memory=load_remote_memory(None if remote_memory is None else Path(remote_memory)),
        warnings=tuple(f"{name} is ignored, as by ASTRA-sim 2.x" for name in ignored),
    )


def _check_counts(counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        if not 1 <= count <= MAX_COUNT:
            raise AstraInputError(f"{name}: expected 1 to {MAX_COUNT}, got {count}")


def _check_scales(scales: Mapping[str, float]) -> None:
    for name, scale in scales.items():
        if not 0 <= scale < MAX_SCALE:
            raise AstraInputError(f"{name}: expected a factor of at least 0, got {scale}")


def simulate(case: Case) -> AstraResult:
    """Run a loaded case; errors as for `run`."""
    start = time.perf_counter()
    if isinstance(case.workload, tuple):
        result = _run_traces(case, case.workload)
    else:
        from simcore.astra.engine.training import run_training

        result = run_training(case.network, case.system, case.workload, case.passes, case.queues, case.rendezvous)
    elapsed = time.perf_counter() - start
    return replace(result, warnings=case.warnings, simulation_seconds=elapsed)


def _run_traces(case: Case, traces: tuple[OperationTrace, ...]) -> AstraResult:
    from simcore.astra.engine.engine import Engine, Everyone, Meeting, Planners
    from simcore.astra.engine.machine import Machine
    from simcore.astra.engine.phase_time import PhaseTimer
    from simcore.astra.files.graph import NpuGraph, run_graphs

    network, system, queues = case.network, case.system, case.queues
    planners = Planners(lambda: Planner(network, system, queues), shared=queues == 1 and not system.has_trees)
    timer = PhaseTimer(network, system, queues, case.aware, case.rendezvous)
    queueing = case.memory.is_shared and any(_has_action(trace, Action.MEMORY) for trace in traces)
    alike = len(traces) == 1 and not queueing and _is_alike(traces[0], network, planners.peek, timer)
    engine: Engine
    if (case.aware and not alike) or queueing:  # the order of NPUs within an instant decides
        engine = Everyone(Machine(network, system, queues, case.aware, case.rendezvous), planners)
    else:
        ordered = any(_has_action(trace, Action.SEND) for trace in traces)
        engine = Meeting(
            network, system, planners, timer, queues, rendezvous=case.rendezvous, alike=alike, ordered=ordered
        )
    memory = MemoryPorts(case.memory, engine.wait)
    graphs = [
        NpuGraph(npu, traces[npu if len(traces) > 1 else 0], engine, memory)
        for npu in range(1 if alike else network.npus)
    ]
    run_graphs(graphs, engine)
    return _summarize(graphs, network, planners.peek)


def _has_action(trace: OperationTrace, action: Action) -> bool:
    return any(operation.action is action for operation in trace.operations)


def _is_alike(
    trace: OperationTrace, network: Network, peek: Callable[[Request], Sequence[Chunk]], timer: PhaseTimer
) -> bool:
    """Return whether one NPU can stand for all that run this trace."""
    if _has_action(trace, Action.SEND) or _has_action(trace, Action.RECEIVE):
        return False
    for request in {operation.request for operation in trace.operations if operation.request is not None}:
        if request.group is not None and len(request.group.members) != network.npus:
            return False
        try:
            phases = {id(phase): phase for chunk in peek(request) for phase in chunk}
            if not all(timer.is_alike(phase) for phase in phases.values()):
                return False
        except AstraInputError:
            return True  # NPU 0 will run into the same, and name its node
    return True


def _summarize(graphs: Sequence[NpuGraph], network: Network, plan: Callable[[Request], Sequence[Chunk]]) -> AstraResult:
    """Return the result of graphs that have run; a single one stands for all NPUs."""
    from simcore.astra.engine.sent import SentBytes

    npus = network.npus
    worst = max(graphs, key=lambda graph: graph.finish_ns - graph.compute_ns)
    last = max(graphs, key=lambda graph: graph.finish_ns)
    if last.finish_ns >= MAX_FINISH_NS:
        raise AstraInputError(f"finish: expected less than {MAX_FINISH_NS} ns; check latency, bandwidth and sizes")
    alike = len(graphs) < npus
    counted = list(map(SentBytes(network, last.npu, plan).of, last.trace.operations))
    each = [last.finish_ns] if alike else [graph.finish_ns for graph in graphs]
    return AstraResult(
        finish_ns=last.finish_ns,
        finish_ns_per_npu=np.resize(np.array(each, np.int64), npus),
        compute_ns=worst.compute_ns,
        exposed_communication_ns=worst.finish_ns - worst.compute_ns,
        layers=tuple(
            OperationTimes(operation.name, operation.id, operation.action.name.lower(), start, end, bytes_)
            for operation, start, end, bytes_ in zip(
                last.trace.operations, last.starts, last.ends, counted, strict=True
            )
        ),
        dimensions=tuple(
            DimensionBytes(
                f"{dimension.block.value}({dimension.size})",
                total,
                total / (dimension.total_bandwidth * last.finish_ns) if last.finish_ns else 0.0,
            )
            for dimension, total in zip(network.dimensions, map(sum, zip(*counted, strict=True)), strict=True)
        )
        if counted
        else (),
    )
