"""Proven bounds: what no simulation of a design, or of any completion of a partial one, can beat.

For a complete design (degrees, network, policies given), each beside its reason:

- a stage computes and waits for its blocking collectives one after the other: m x (F + B) of all its chunks;
- before it, the first microbatch passes the stages in front; after it, the last one passes them back: the bubble;
- a collective takes at least what its busiest dimension serves, and at least one chunk's way through;
- a dimension serves one phase at a time: the sum of its serializations, and of those that begin with the gradients;
- ZeRO-3's gathers follow one another; what waits for a gradient bucket waits for all of it;
- memory and cost do not depend on timing: they are exact.

For a partial design (keys left out may be anything): model FLOPs over the NPUs' peak, model states over all NPUs, the
price of the NPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcore.bound_iteration import IterationBound, collectives
from simcore.compute import Roofline
from simcore.cost.price import cluster_cost, energy
from simcore.design import CollectiveWorkload, Design, TransformerWorkload
from simcore.engine.lower import Lowering, lower_schedule
from simcore.memory.footprint import footprint, model_states
from simcore.program import Compute, Program
from simcore.spec import BYTES, Npu, PriceList, Transformer, preset
from simcore.system.chunks import PICOSECONDS
from simcore.system.placement import place, whole
from simcore.workload.transformer import forward_flops, transformer_program

Bounds = dict[str, float | None]

_TRIVIAL: Bounds = {
    "mfu": 1.0,
    "network_utilization": 1.0,
    "fits": 1.0,
    "bubble": 0.0,
    "exposed_communication": 0.0,
}
"""What holds for every design."""


def bound(design: Design | Mapping[str, Any]) -> Bounds:
    """The best value that each metric can take, by name: the least of one to be minimised, the most of the others.

    `design` is a checked design, or a partial document (see the module); a metric without a proven bound is None.
    Raises `ValueError` where a partial document lacks its workload or its NPUs.
    """
    if isinstance(design, Design):
        return _bound_design(design)
    return _bound_partial(design)


def _bound_design(design: Design) -> Bounds:
    if isinstance(design.workload, CollectiveWorkload):
        lowering = Lowering(design, {"all": whole(design)}, Roofline(design.cluster.npu, "fp32"))
        lowering.collective(design.workload.collective, "all", design.workload.size)
        return _metrics(design, max(collectives(lowering)[0]) / PICOSECONDS, 0.0, None)
    program = transformer_program(design)
    lowering = Lowering(design, place(design)[0], Roofline(design.cluster.npu, design.workload.precision))
    programs = lower_schedule(lowering, program)
    time = max(IterationBound(program, lowering, programs.tolist(), *collectives(lowering)).sums())
    least_busy = _least_compute(program, lowering)
    return _metrics(design, time / PICOSECONDS, least_busy / PICOSECONDS, program)


def _least_compute(program: Program, lowering: Lowering) -> int:
    """Compute time of the stage that computes least [ps]."""
    of_part = []
    for part in program.parts:
        total = 0
        for segments in (part.forward, part.backward):
            for segment in segments:
                own = sum(lowering.duration(op) for op in segment.operators if isinstance(op, Compute))
                total += own * segment.repeat
        of_part.append(total * program.microbatches)
    p = program.stages
    return min(sum(of_part[program.part_of[k]] for k in range(s, len(program.part_of), p)) for s in range(p))


def _metrics(design: Design, seconds: float, busy: float, program: Program | None) -> Bounds:
    cost = cluster_cost(design)
    share = min(1.0, busy / seconds)
    idle = energy(design, 0.0, seconds)
    memory = footprint(design, program) if program else None
    throughput = program.tokens / seconds if program else None
    return {
        "iteration_time": seconds,
        "throughput": throughput,
        "memory.peak": memory.peak if memory else None,
        "memory.capacity": design.cluster.npu.memory.capacity,
        "cost.total": cost.total,
        "cost.network": cost.network,
        "cost.npu": cost.npu,
        "cost.memory": cost.memory,
        "power": idle.power,
        "energy": energy(design, share, seconds).energy,
        "perf_per_cost": throughput / cost.total if throughput and cost.total else None,
        "npus": float(design.cluster.npus),
        **_TRIVIAL,
    }


def _bound_partial(document: Mapping[str, Any]) -> Bounds:
    for path in (("workload",), ("cluster",), ("cluster", "npu"), ("cluster", "npus")):
        holder: Any = document if len(path) == 1 else document["cluster"]
        if not isinstance(holder, Mapping) or path[-1] not in holder:
            raise ValueError(f"{'.'.join(path)}: expected this key in a partial design, got nothing")
    workload = TransformerWorkload.model_validate(document["workload"])
    cluster = document["cluster"]
    npus, npu, prices = int(cluster["npus"]), _of(Npu, "npus", cluster["npu"]), document.get("cost", "libra")
    price_list = _of(PriceList, "prices", prices)
    peak = npu.peak[workload.precision] * npu.gemm.limit
    seconds = 3 * forward_flops(workload) / (npus * peak)
    states = model_states(
        _parameters(workload.model) / npus, 1, 0, BYTES[workload.precision], BYTES[workload.gradient_precision]
    )
    price = 0.0 if price_list.free_npus else price_list.npu.get(npu.name, npu.price or 0.0)
    throughput = workload.global_batch * workload.sequence / seconds
    return {
        "iteration_time": seconds,
        "throughput": throughput,
        "memory.peak": states.weights + states.gradients + states.optimizer,
        "cost.total": npus * price,
        "cost.npu": npus * price,
        "perf_per_cost": throughput / (npus * price) if price else None,
        "npus": float(npus),
        **_TRIVIAL,
    }


def _of(spec: type[Npu] | type[PriceList], section: str, value: Any) -> Any:
    return preset(section, value) if isinstance(value, str) else spec.model_validate(value)


def _parameters(model: Transformer) -> float:
    """Parameters of the whole model, with one embedding matrix."""
    matrices = 2 * model.hidden**2 + 2 * model.hidden * model.kv_width
    matrices += (3 if model.gated else 2) * model.hidden * model.ffn
    return float(model.layers * matrices + model.vocabulary * model.hidden)
