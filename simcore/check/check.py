"""What a design must satisfy beyond its form: degrees that fill the network, sizes that divide, prices that exist.

Each rule is one function from a design to the problems it finds; `check` runs them all, so that every problem is
reported at once. Inside the simulator a checked design is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simcore.check.compute import compute_problems
from simcore.check.network import network_problems
from simcore.check.sharding import sharding_problems
from simcore.collective import named
from simcore.cost.price import price_problems
from simcore.design.algorithm import CUSTOM
from simcore.design.design import CollectiveWorkload, Design, TransformerWorkload
from simcore.document.field import MOST_NPUS
from simcore.document.form import shown
from simcore.document.problem import Path, Problem
from simcore.engine.fast.state import MAX_CHUNKS
from simcore.memory.expanded import memory_problems
from simcore.network import TOPOLOGIES
from simcore.schedule import SCHEDULES
from simcore.schedule.base import WEIGHTS
from simcore.system.placement import place
from simcore.workload.registry import KINDS
from simcore.workload.transformer.check import divides, transformer_problems


def check(design: Design) -> list[Problem]:
    """Every problem of a well-formed design; empty where it can be simulated."""
    rules: tuple[Callable[[Design], Iterator[Problem]], ...] = (
        _network,
        _system,
    )
    kind = KINDS.get(type(design.workload))
    if kind is not None:
        rules += (_degrees, _batch, sharding_problems, kind.problems)
    elif isinstance(design.workload, TransformerWorkload):
        rules += (_degrees, _model, _batch, _schedule, _precision, sharding_problems, transformer_problems)
    problems = [problem for rule in rules for problem in rule(design)]
    problems += memory_problems(design)
    problems += network_problems(design) + price_problems(design)
    return problems or compute_problems(design)


def _network(design: Design) -> Iterator[Problem]:
    if design.cluster.npus > MOST_NPUS:
        yield Problem(("cluster", "dimensions"), f"at most {MOST_NPUS:,} NPUs", f"{design.cluster.npus:,}")
    if isinstance(design.workload, CollectiveWorkload) and design.cluster.npus < 2:
        yield Problem(("cluster", "dimensions"), "at least 2 NPUs for a collective", str(design.cluster.npus))
    for index, dimension in enumerate(design.cluster.dimensions):
        path: Path = ("cluster", "dimensions", index)
        if dimension.size < 2 and len(design.cluster.dimensions) > 1:
            yield Problem((*path, "size"), "at least 2 NPUs", str(dimension.size), "leave the dimension out")
        if dimension.bandwidth <= 0:
            yield Problem((*path, "bandwidth"), "a bandwidth above 0", f"{dimension.bandwidth:g} B/s")
        if dimension.latency < 0:
            yield Problem((*path, "latency"), "a latency of 0 or more", f"{dimension.latency:g} s")
        its = TOPOLOGIES[dimension.topology]
        if not its.switched and dimension.oversubscription > 1:
            yield Problem((*path, "oversubscription"), "1 on what is no switch", f"{dimension.oversubscription:g}")
        if not its.reduces and dimension.in_network:
            yield Problem((*path, "in_network"), "false on what is no switch", "true")
        name = design.algorithms[index]
        needed = None if name.startswith(CUSTOM) else named(name).needs(dimension.size)
        if needed:
            yield Problem(
                ("system", "collective", index),
                f"an algorithm for the {dimension.size} NPUs of cluster.dimensions[{index}]",
                f"'{name}', which needs {needed}",
                "use ring, direct or double_binary_tree there",
                rule=f"{name} needs {needed}",
            )


def _system(design: Design) -> Iterator[Problem]:
    listed, dimensions = design.system.collective, design.cluster.dimensions
    if listed is not None and len(listed) != len(dimensions):
        yield Problem(
            ("system", "collective"),
            f"one algorithm for each of the {len(dimensions)} dimensions",
            f"{len(listed)}",
            "list them innermost first",
        )
    if listed is not None:
        for index, dimension in enumerate(dimensions):
            if dimension.collective is not None and dimension.collective != (*listed, *dimensions)[index]:
                path: Path = ("cluster", "dimensions", index, "collective")
                yield Problem(path, "the algorithm in one place", "another in system.collective", "drop one of the two")
    if design.system.chunks >= MAX_CHUNKS:
        yield Problem(("system", "chunks"), f"fewer than {MAX_CHUNKS} chunks", str(design.system.chunks))
    active = design.system.active_chunks
    if active != "overlap" and active >= MAX_CHUNKS:
        yield Problem(("system", "active_chunks"), f"fewer than {MAX_CHUNKS} chunks", shown(active))
    placement = design.cluster.placement
    if sorted(placement) != ["context", "data", "pipeline", "tensor"]:
        yield Problem(("cluster", "placement"), "each of tensor, context, data, pipeline once", ", ".join(placement))


def _degrees(design: Design) -> Iterator[Problem]:
    p, npus = design.parallelism, design.cluster.npus
    inner = p.tensor * p.context * p.pipeline
    if inner * design.data != npus:
        degrees = f"tensor {p.tensor} x context {p.context} x pipeline {p.pipeline}"
        given = f" x data {p.data}" if p.data else ""
        yield Problem(
            ("parallelism",),
            f"degrees whose product is the {npus} NPUs of cluster.dimensions",
            f"{degrees}{given} = {inner * (p.data or 1)}",
            f"choose degrees that {'multiply to' if p.data else 'divide'} {npus}",
            rule="degrees multiply to the NPUs",
        )
    else:
        yield from place(design)[1]


def _model(design: Design) -> Iterator[Problem]:
    workload, p = design.workload, design.parallelism
    assert isinstance(workload, TransformerWorkload)
    model = workload.model
    tensor: Path = ("parallelism", "tensor")
    rule = "tensor divides the heads"
    if not model.head_dim and not model.latent_attention:
        yield from divides(model.heads, model.hidden, ("workload", "model"), "heads", "the hidden size", "heads")
    yield from divides(p.tensor, model.heads, tensor, "a degree", "the attention heads", rule)
    kv = model.key_heads
    yield from divides(kv, model.heads, ("workload", "model"), "key-value heads", "the heads", "key-value heads")
    if kv != model.heads and kv % p.tensor and p.tensor % kv:
        yield Problem(
            tensor, f"a degree that divides the {kv} key-value heads, or is a multiple", str(p.tensor), rule=rule
        )
    yield from divides(p.tensor, model.ffn, tensor, "a degree", "the feed-forward width", rule)
    if p.sequence_parallel and p.context == 1:
        what = "tensor divides the sequence"
        yield from divides(p.tensor, workload.sequence, tensor, "a degree", "the sequence length", what)
    stages = p.pipeline * p.interleave
    given = [layers for layers in (p.first_stage_layers, p.last_stage_layers) if layers is not None]
    if stages - (len(given) if p.interleave > 1 else 0) > model.layers:  # a chunk at either end may have no layer
        yield Problem(
            ("parallelism", "pipeline"),
            f"at most {model.layers} stages, one a layer",
            f"{p.pipeline}" + (f" x interleave {p.interleave} = {stages}" if p.interleave > 1 else ""),
            "use fewer stages",
            rule="stages have layers",
            violation=stages / model.layers - 1,
        )
    elif p.interleave > 1 and not given and model.layers % stages:
        yield Problem(
            ("parallelism", "interleave"),
            f"pipeline x interleave that divides the layers ({model.layers})",
            str(stages),
            f"choose a divisor of {model.layers}, or give first_stage_layers or last_stage_layers",
            rule="interleaved stages divide the layers",
        )
    if model.position == "learned" and workload.sequence > model.sequence_length:
        most = f"at most {model.sequence_length}"
        yield Problem(("workload", "sequence_length"), most, str(workload.sequence), rule="positions")


def _batch(design: Design) -> Iterator[Problem]:
    workload = design.workload
    assert not isinstance(workload, CollectiveWorkload)
    together = design.data * design.microbatch
    if together and workload.global_batch % together:
        yield Problem(
            ("parallelism", "microbatch"),
            f"data x microbatch that divides the global batch ({workload.global_batch})",
            f"{design.data} x {design.microbatch} = {together}",
            "choose another microbatch, data degree or global batch",
            rule="microbatches fill the batch",
            violation=max(together / workload.global_batch - 1, 0.1),
        )


def _schedule(design: Design) -> Iterator[Problem]:
    p = design.parallelism
    path: Path = ("parallelism", "interleave")
    if p.interleave == 1:
        return
    if p.interleave >= WEIGHTS:
        yield Problem(path, f"less than {WEIGHTS}", str(p.interleave), rule="interleaving")
        return
    if p.pipeline == 1:
        yield Problem(
            path, "1 without pipeline parallelism", str(p.interleave), "use pipeline >= 2", rule="interleaving"
        )
    elif not SCHEDULES[p.schedule].interleaves:
        yield Problem(
            path, f"1 with schedule {p.schedule}", str(p.interleave), "use schedule 1f1b", rule="interleaving"
        )
    elif design.data and design.microbatches % p.pipeline:
        yield Problem(
            path,
            f"microbatches ({design.microbatches}) in whole rounds of the {p.pipeline} stages",
            f"interleave {p.interleave}",
            "use interleave 1, or a batch that gives a multiple",
            rule="interleaving",
        )


def _precision(design: Design) -> Iterator[Problem]:
    workload, npu = design.workload, design.cluster.npu
    assert isinstance(workload, TransformerWorkload)
    if workload.precision not in npu.peak:
        yield Problem(
            ("workload", "precision"),
            f"one that {npu.name or 'the NPU'} computes in: {', '.join(npu.peak)}",
            workload.precision,
        )
