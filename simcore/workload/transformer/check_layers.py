"""What layers that differ, and stages whose layers are given or solved, must satisfy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from simcore.design.design import Design
from simcore.design.layer_range import LayerRange, SolvedStages, write_numbers
from simcore.document.problem import Path, Problem
from simcore.workload.rules import MODULES
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.stages import has_experts

_STAGES: Path = ("parallelism", "stages")
_OF_EXPERTS = ("moe", "moe_act")


def layer_problems(design: Design) -> Iterator[Problem]:
    """Every problem of `parallelism.stages`, of `parallelism.layers` and of what is to be solved."""
    model = TransformerWorkload.of(design.workload).model
    yield from _given_stages(design, model)
    yield from _solved(design)
    yield from _ranges(design, model)


def _given_stages(design: Design, model: Transformer) -> Iterator[Problem]:
    """Each virtual stage has a number of layers, and each layer a stage; only the ends may have none."""
    p = design.parallelism
    if p.stages is None:
        return
    for name in ("first_stage_layers", "last_stage_layers"):
        if (given := getattr(p, name)) is not None:
            path: Path = ("parallelism", name)
            yield Problem(path, "nothing beside stages", str(given), "leave it out", rule="stage layers")
    if isinstance(p.stages, SolvedStages):
        return
    count, listed = p.pipeline * p.interleave, ", ".join(map(str, p.stages))
    rule = "layers of the stages"
    if len(p.stages) != count:
        what = f"pipeline {p.pipeline}" + (f" x interleave {p.interleave}" if p.interleave > 1 else "")
        expected = f"{count} numbers of layers, one a virtual stage ({what})"
        yield Problem(_STAGES, expected, f"{len(p.stages)} ({listed})", rule=rule)
    elif sum(p.stages) != model.layers:
        yield Problem(
            _STAGES, f"numbers that add up to the {model.layers} layers", f"{sum(p.stages)} ({listed})", rule=rule
        )
    elif not all(p.stages[1:-1]):
        expected = "layers on every virtual stage but the first and the last"
        yield Problem(_STAGES, expected, listed, rule=rule)


def _solved(design: Design) -> Iterator[Problem]:
    """What is solved is not said beside, and its memory is the NPU's own."""
    p, memory = design.parallelism, design.cluster.memory
    if not p.solves:
        return
    path: Path
    if p.solves_stages and p.recompute_layers is not None:
        path = ("parallelism", "recompute_layers")
        expected = "nothing beside stages: {solve: true}"
        yield Problem(path, expected, str(p.recompute_layers), "use recompute: solve", rule="what is solved")
    workload = TransformerWorkload.of(design.workload)
    windowed = workload.model.windowed_layers(workload.sequence)
    ways = {p.recompute, *(its.recompute for its in p.layers or ())}
    if "solve" in ways and 0 < windowed < workload.model.layers:
        expected = "a way that is given where some layers have windows: their attention takes less to do again"
        yield Problem(
            ("parallelism", "recompute"), expected, "solve", "use none, selective or full", rule="what is solved"
        )
    if memory is not None and memory.expanded is not None:
        path = _STAGES if p.solves_stages else ("parallelism", "recompute")
        expected = "numbers beside cluster.memory.expanded: stages are solved for the NPU's own memory"
        yield Problem(path, expected, "solve", "give them, or leave the expanded memory out", rule="what is solved")


def _ranges(design: Design, model: Transformer) -> Iterator[Problem]:
    p = design.parallelism
    if p.layers is None:
        return
    path: Path = ("parallelism", "layers")
    times = Counter(i for its in p.layers for first, last in its.spans for i in range(first, last + 1))
    twice = [layer for layer, count in times.items() if count > 1]
    missing = sorted(set(range(model.layers)) - set(times))
    beyond = [layer for layer in times if layer >= model.layers]
    told = ((missing, "in no range"), (twice, "in more than one"), (beyond, "beyond the model"))
    found = [f"{write_numbers(layers)} {what}" for layers, what in told if layers]
    if found:
        expected = f"every layer from 0 to {model.layers - 1} in one range"
        yield Problem(path, expected, "; ".join(found), rule="ranges of layers")
    if p.recompute_layers is not None:
        where: Path = ("parallelism", "recompute_layers")
        yield Problem(where, "nothing beside layers", str(p.recompute_layers), "leave it out", rule="ranges of layers")
    for number, its in enumerate(p.layers):
        yield from _modules(design, model, its, (*path, number))


def _modules(design: Design, model: Transformer, its: LayerRange, path: Path) -> Iterator[Problem]:
    """Modules that a range recomputes are those of its layers."""
    if its.recompute_modules is None:
        return
    where, rule = (*path, "recompute_modules"), MODULES
    if (its.recompute or design.parallelism.recompute) != "selective":
        found = ", ".join(its.recompute_modules)
        yield Problem(where, "nothing unless recompute is selective", found, "use recompute: selective", rule=rule)
        return
    layers = {i for first, last in its.spans for i in range(first, last + 1)}
    experts = any(has_experts(model, layer) for layer in layers)
    for name, lacking in missing_modules(model, frozenset(its.recompute_modules)):
        yield Problem(where, f"modules of the model, which has no {lacking}", name, "leave it out", rule=rule)
    if model.mixture_of_experts and not experts:
        for module in sorted({*_OF_EXPERTS, "shared_experts"} & set(its.recompute_modules)):
            expected = f"modules of layers {its.layers}, which are dense"
            yield Problem(where, expected, module, "leave it out", rule=rule)


def missing_modules(model: Transformer, modules: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Modules to recompute that a model lacks, each with what it would need."""
    moe = model.mixture_of_experts
    for name in sorted(modules):
        if name == "mla_up_proj" and model.latent_attention is None:
            yield name, "latent_attention"
        elif name in _OF_EXPERTS and moe is None:
            yield name, "experts"
        elif name == "shared_experts" and not (moe and moe.shared_feed_forward):
            yield name, "shared experts"
