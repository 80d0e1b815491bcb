"""Proven bounds: what no simulation of a design, or of any completion of a partial one, can beat.

For a complete design (degrees, network, policies given), each beside its reason:

- a stage computes and waits for its blocking collectives one after the other: m x (F + B) of all its chunks;
- before it, the first microbatch passes the stages in front; after it, the last one passes them back: the bubble;
- a collective takes at least what its busiest dimension serves, and at least one chunk's way through;
- a dimension serves one phase at a time: the sum of its serializations;
- memory and cost do not depend on timing: they are exact.

For a partial design (keys left out may be anything): model FLOPs over the NPUs' peak, model states over all NPUs, the
price of the NPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from simcore.compute import operator_times
from simcore.cost.price import cluster_cost, energy
from simcore.cost.running import electricity, per_token, racks, with_electricity
from simcore.design import CollectiveWorkload, Design, TransformerWorkload, Workload
from simcore.engine import pipeline
from simcore.engine.fast import block_counts, block_issues, stage_use
from simcore.engine.lower import Lowering, lower_schedule
from simcore.memory.expanded import capacity, memory_of
from simcore.memory.footprint import model_states
from simcore.plan import program_of
from simcore.program import Compute, Program
from simcore.schedule import ORDERS
from simcore.spec import BYTES, Npu, PriceList, preset
from simcore.system.chunks import ORDERED_KINDS, PICOSECONDS, Chunks, Phase
from simcore.system.placement import place, whole
from simcore.workload import KINDS, Totals
from simcore.workload.counts import forward_flops, model_matrices

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


def collective_least(split: Chunks) -> int:
    """Least time of a collective from issue to completion, whatever else is in flight [ps]."""
    busy: dict[int, int] = {}
    for path, times in split.counted():
        for phase in path:
            busy[phase.dimension] = busy.get(phase.dimension, 0) + times * phase.serialization
    way = min(sum(phase.serialization + phase.latency for phase in path) for path in split.paths)
    return max(way, *busy.values())


def reordered_least(paths: list[list[Phase]], chunks: int) -> int:
    """The same where each chunk may take any of `paths`, as a policy likes [ps].

    A policy chooses orders by the bandwidths it finds, so a bound that may not rise with a bandwidth must hold for all
    orders: each dimension serves at least its smallest share of every chunk.
    """
    least: dict[int, int] = {}
    for path in paths:
        busy: dict[int, int] = {}
        for phase in path:
            busy[phase.dimension] = busy.get(phase.dimension, 0) + phase.serialization
        least = {d: min(least.get(d, time), time) for d, time in busy.items()}
    way = min(sum(phase.serialization + phase.latency for phase in path) for path in paths)
    return max(way, *(chunks * time for time in least.values()))


def _least(lowering: Lowering, key: tuple[Any, ...], split: Chunks) -> int:
    """Least time of a type of collective, by what identifies it [ps]."""
    system = lowering.design.system
    if system.inter_dimension == "baseline" or key[0] not in ORDERED_KINDS:
        return collective_least(split)
    kind, group, size = key
    return reordered_least(lowering.chunker.every_order(kind, lowering.placement[group], size), system.chunks)


def _bound_design(design: Design) -> Bounds:
    if isinstance(design.workload, CollectiveWorkload):
        lowering = Lowering(design, {"all": whole(design)}, operator_times(design.cluster.npu, "fp32"))
        lowering.collective(design.workload.collective, "all", design.workload.size)
        least = max(_least(lowering, key, split) for key, (_, split) in lowering.keyed())
        return _metrics(design, least / PICOSECONDS, 0.0, None)
    program = program_of(design)
    lowering = Lowering(design, place(design)[0], operator_times(design.cluster.npu, design.workload.precision))
    programs = lower_schedule(lowering, program)
    iteration = _IterationBound(program, lowering, programs.tolist())
    least_busy = _least_compute(program, lowering) / PICOSECONDS
    if program.trained:
        return _metrics(design, iteration.least() / PICOSECONDS, least_busy, program)
    found = _metrics(design, iteration.served(program.chunks) / PICOSECONDS, least_busy, program)
    alone = lower_schedule(lowering, program.until(1))  # the last stage does not send the first tokens on
    first = _IterationBound(program.until(1), lowering, alone.tolist())
    found["time_to_first_token"] = first.served(1) / PICOSECONDS
    further = iteration.way(1, program.chunks) / PICOSECONDS
    return found | {"time_per_output_token": further / (program.chunks - 1) if program.chunks > 1 else None}


class _IterationBound:
    """Least time of an iteration [ps]."""

    def __init__(self, program: Program, lowering: Lowering, programs: list[list[list[int]]]) -> None:
        self.program, self.lowering, self.programs = program, lowering, programs
        self._least = [_least(lowering, key, split) for key, (_, split) in lowering.keyed()]
        self._block: dict[int, int] = {}
        self._split = ORDERS[program.schedule].splits

    def block(self, block: int) -> int:
        """Least time of a block: its operators and blocking collectives one after the other."""
        if block not in self._block:
            total = 0
            for segment in range(*self.lowering.blocks[block]):
                first, end, repeat = self.lowering.segments[segment]
                once = 0
                for code, argument, _ in self.lowering.operators[first:end]:
                    if code == pipeline.COMPUTE:
                        once += argument
                    elif code == pipeline.BLOCKING:
                        once += self._least[argument]
                total += once * repeat
            self._block[block] = total
        return self._block[block]

    def least(self) -> int:
        """The largest of the bounds of all stages."""
        p, m = self.program.stages, self.program.microbatches
        best = fill = drain = 0
        final_first = self._after(0)
        for s in range(p):
            chunks = self.programs[s]
            counts = block_counts(chunks, m, self._split)
            work = sum(times * self.block(block) for block, times in counts) - self._after(s)
            # Weight gradients of their own go on while the last microbatch passes back: then nothing follows them.
            passes_back = s > 0 and not self._split
            best = max(best, fill + work + max(self._after(s), drain + final_first if passes_back else 0))
            fill += self.block(chunks[0][pipeline.FORWARD])
            drain += self.block(chunks[0][pipeline.BACKWARD])
            if self.lowering.design.system.inter_dimension == "baseline":
                issues = block_issues(self.lowering, self.programs[s], m, self._split)
                best = max(best, *stage_use(self.lowering, issues, len(self.lowering.design.cluster.dimensions))[0])
        return best

    def way(self, first: int, end: int) -> int:
        """One microbatch through all stages in chunks `first` to `end`, one block after the other (forward only)."""
        return sum(
            self.block(self.programs[s][chunk][pipeline.FORWARD])
            for chunk in range(first, end)
            for s in range(self.program.stages)
        )

    def served(self, chunks: int) -> int:
        """The same where there are only forward passes, of the first `chunks` chunks."""
        blocks = [[self.block(c[pipeline.FORWARD]) for c in stage[:chunks]] for stage in self.programs]
        best = self.way(0, chunks)
        for s, stage in enumerate(blocks):
            fill, drain = sum(b[0] for b in blocks[:s]), sum(b[-1] for b in blocks[s + 1 :])
            best = max(best, fill + self.program.microbatches * sum(stage) + drain)
        return best

    def _after(self, s: int) -> int:
        """What follows a stage's last backward: optimizer and blocking collectives."""
        chunk, part = self.programs[s][0], self.program.parts[self.program.part_of[s]]
        without = self.lowering.block(part.last_weights, None) if self._split else chunk[pipeline.LAST_BACKWARD]
        return self.block(chunk[pipeline.FINAL]) - self.block(without)


def _least_compute(program: Program, lowering: Lowering) -> int:
    """Compute time of the stage that computes least [ps]."""
    of_part = []
    for part in program.parts:
        total = 0
        for segments in (part.forward, part.backward, part.weights):
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
    memory = memory_of(design, program) if program else None
    throughput = program.tokens / seconds if program else None
    least = energy(design, share, seconds).energy
    each = per_token(design.cost, design.workload, cost.total, least, seconds, program.tokens if program else None)
    cost = with_electricity(design, cost, idle.power)
    return {
        "iteration_time": seconds,
        "throughput": throughput,
        "memory.peak": memory.peak if memory else None,
        "memory.capacity": capacity(design),
        "cost.total": cost.total,
        "cost.network": cost.network,
        "cost.npu": cost.npu,
        "cost.memory": cost.memory,
        "power": idle.power,
        "energy": least,
        "energy_per_token": each.energy,
        "cost_per_token": each.cost,
        "time_to_train": each.time_to_train,
        "cost_to_train": each.cost_to_train,
        "cost.electricity": electricity(design, idle.power),
        "racks": float(racks(design)),
        "perf_per_cost": throughput / cost.total if throughput and cost.total else None,
        "npus": float(design.cluster.npus),
        **_TRIVIAL,
    }


def _bound_partial(document: Mapping[str, Any]) -> Bounds:
    for path in (("workload",), ("cluster",), ("cluster", "npu"), ("cluster", "npus")):
        holder: Any = document if len(path) == 1 else document["cluster"]
        if not isinstance(holder, Mapping) or path[-1] not in holder:
            raise ValueError(f"{'.'.join(path)}: expected this key in a partial design, got nothing")
    workload = _WORKLOAD.validate_python(document["workload"])
    totals = _totals(workload)
    cluster = document["cluster"]
    npus, npu, prices = int(cluster["npus"]), _of(Npu, "npus", cluster["npu"]), document.get("cost", "libra")
    price_list = _of(PriceList, "prices", prices)
    if npu.compute is None:
        seconds = totals.flops / (npus * npu.peak[workload.precision] * npu.gemm.limit)
    else:
        seconds = operator_times(npu, workload.precision).least(totals.flops) / npus
    kept = BYTES[workload.gradient_precision] if totals.trained else 0
    states = model_states(totals.parameters / npus, 1, 0, BYTES[workload.precision], kept)
    price = 0.0 if price_list.free_npus else price_list.npu.get(npu.name, npu.price or 0.0)
    throughput = totals.samples / seconds if seconds else None
    idle = npus * npu.power.idle * price_list.pue
    each = per_token(price_list, workload, npus * price, idle * seconds, seconds, totals.samples)
    return {
        "iteration_time": seconds,
        "throughput": throughput,
        "memory.peak": states.weights + (states.gradients + states.optimizer if totals.trained else 0.0),
        "cost.total": npus * price,
        "cost.npu": npus * price,
        "perf_per_cost": throughput / (npus * price) if throughput and price else None,
        "power": idle,
        "energy": idle * seconds,
        "energy_per_token": each.energy,
        "cost_per_token": each.cost,
        "time_to_train": each.time_to_train,
        "cost_to_train": each.cost_to_train,
        "npus": float(npus),
        **_TRIVIAL,
    }


_WORKLOAD: TypeAdapter[Any] = TypeAdapter(Workload)


def _totals(workload: Any) -> Totals:
    kind = KINDS.get(type(workload))
    if kind is not None:
        return kind.totals(workload)
    assert isinstance(workload, TransformerWorkload)
    tokens = workload.global_batch * workload.sequence
    return Totals(3 * forward_flops(workload, flash=True), tokens, model_matrices(workload.model), trained=True)


def _of(spec: type[Npu] | type[PriceList], section: str, value: Any) -> Any:
    return preset(section, value) if isinstance(value, str) else spec.model_validate(value)
