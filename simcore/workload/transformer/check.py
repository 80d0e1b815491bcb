"""What a transformer must satisfy: sizes that divide, stages, context and experts, the switches of its execution."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from simcore.design.design import Design
from simcore.design.parallelism import Parallelism
from simcore.document.field import NARROW
from simcore.document.problem import Path, Problem
from simcore.schedule import SCHEDULES
from simcore.schedule.base import MOST_CHUNKS
from simcore.workload.rules import MODULES, NO_EXPERTS, batch_problems, divides, precision_problems, stack_problems
from simcore.workload.servers import server_problems
from simcore.workload.sharding import sharding_problems
from simcore.workload.staleness import unflushed_problems
from simcore.workload.transformer.check_degrees import degree_problems
from simcore.workload.transformer.check_layers import layer_problems, missing_modules
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import MixtureOfExperts, Transformer
from simcore.workload.transformer.split_queries import query_problems
from simcore.workload.transformer.stages import end_layers, fewer_at_ends


def transformer_problems(design: Design) -> Iterator[Problem]:
    """Every problem of a design that trains a transformer."""
    model = _workload(design).model
    rules = (_heads, _even_stages, _positions, batch_problems, _schedule, precision_problems, stack_problems)
    for rule in (*rules, sharding_problems):
        yield from rule(design)
    yield from unflushed_problems(design)
    yield from server_problems(design)
    yield from expert_problems(design, model)
    for rule in (_context, query_problems, _expert_tokens, _stages, layer_problems, _switches):
        yield from rule(design)
    experts = partial(expert_problems, model=model)
    yield from degree_problems(design, (_heads, sharding_problems, experts, _expert_tokens))


def expert_problems(design: Design, model: Transformer) -> Iterator[Problem]:
    """Every problem of latents and of experts, of a transformer that is trained or served."""
    yield from _shape(design, model)
    yield from _experts(design, model)


def _workload(design: Design) -> TransformerWorkload:
    return TransformerWorkload.of(design.workload)


def _heads(design: Design) -> Iterator[Problem]:
    """The degree of tensor parallelism divides heads and widths."""
    workload, p = _workload(design), design.parallelism
    model = workload.model
    tensor: Path = ("parallelism", "tensor")
    rule = "tensor divides the heads"
    if not model.head_dim and not model.latent_attention:
        yield from divides(model.heads, model.hidden, ("workload", "model"), "heads", "the hidden size", "heads")
    kv, split = model.key_heads, p.query_npus(model.heads) > 1
    if not split:
        yield from divides(p.tensor, model.heads, tensor, "a degree", "the attention heads", rule)
    yield from divides(kv, model.heads, ("workload", "model"), "key-value heads", "the heads", "key-value heads")
    if not split and kv != model.heads and kv % p.tensor and p.tensor % kv:
        yield Problem(
            tensor, f"a degree that divides the {kv} key-value heads, or is a multiple", str(p.tensor), rule=rule
        )
    of_ffn = "tensor divides the feed-forward width"
    yield from divides(p.tensor, model.ffn, tensor, "a degree", "the feed-forward width", of_ffn)
    if p.sequence_parallel and p.context == 1:
        what = "tensor divides the sequence"
        yield from divides(p.tensor, workload.sequence, tensor, "a degree", "the sequence length", what)


def _even_stages(design: Design) -> Iterator[Problem]:
    """Every stage has layers, and chunks that are interleaved as many each but for the ends of the model."""
    model, p = _workload(design).model, design.parallelism
    stages = p.pipeline * p.interleave
    given = p.first_stage_layers is not None or p.last_stage_layers is not None
    bare = _bare_stages(p)  # a virtual stage at either end may have no layer
    if stages - bare > model.layers:
        yield Problem(
            ("parallelism", "pipeline"),
            f"at most {model.layers + bare} stages" + (f" for {model.layers} layers" if bare else ", one a layer"),
            f"{p.pipeline}" + (f" x interleave {p.interleave} = {stages}" if p.interleave > 1 else ""),
            "use fewer stages",
            rule="stages have layers",
            violation=stages / model.layers - 1,
        )
    elif p.interleave > 1 and not given and p.stages is None and fewer_at_ends(model.layers, stages) > 2:
        yield Problem(
            ("parallelism", "interleave"),
            f"pipeline x interleave that divides the layers ({model.layers}), or these and one or two more",
            str(stages),
            "choose another, or write stages: {solve: true}, which evens them out",
            rule="interleaved stages divide the layers",
        )


def _bare_stages(p: Parallelism) -> int:
    """Virtual stages that may have no layer: those of the embedding and of the loss."""
    if p.stages is not None:
        return min(p.pipeline * p.interleave - 1, 2)
    if p.interleave == 1:
        return 0
    given = (p.first_stage_layers is not None) + (p.last_stage_layers is not None)
    return given or 2


def _positions(design: Design) -> Iterator[Problem]:
    """Learned positions reach to the end of a sequence."""
    workload = _workload(design)
    model = workload.model
    if model.position == "learned" and workload.sequence > model.sequence_length:
        most = f"at most {model.sequence_length}, the positions that the model has learned"
        fix = "choose a shorter one, or give the model more (sequence_length), or 'position: rotary'"
        yield Problem(("workload", "sequence_length"), most, str(workload.sequence), fix, rule="positions")


def _schedule(design: Design) -> Iterator[Problem]:
    p = design.parallelism
    path: Path = ("parallelism", "interleave")
    schedule, found = SCHEDULES[p.schedule], str(p.interleave)
    if p.interleave > MOST_CHUNKS:
        yield Problem(path, f"at most {MOST_CHUNKS}", found, rule="interleaving")
    elif p.pipeline == 1 and schedule.chunks not in (None, 1):
        expected = f"a pipeline of at least 2 stages for schedule {p.schedule}"
        yield Problem(("parallelism", "pipeline"), expected, "1", "use schedule 1f1b", rule="interleaving")
    elif schedule.chunks not in (None, p.interleave):
        expected = f"{schedule.chunks} with schedule {p.schedule}"
        yield Problem(path, expected, found, f"use interleave {schedule.chunks}", rule="interleaving")
    elif p.pipeline == 1 and p.interleave > 1:
        yield Problem(path, "1 without pipeline parallelism", found, "use pipeline >= 2", rule="interleaving")
    elif p.interleave > 1 and not schedule.interleaves:
        yield Problem(path, f"1 with schedule {p.schedule}", found, "use schedule 1f1b", rule="interleaving")
    elif design.data and design.microbatches % schedule.round(p.pipeline, p.interleave):
        yield Problem(
            path,
            f"microbatches ({design.microbatches}) in whole rounds of the {p.pipeline} stages",
            f"interleave {p.interleave}",
            "use interleave 1, or a batch that gives a multiple",
            rule="interleaving",
        )
    elif design.data and 0 < design.microbatches < schedule.least(p.pipeline):
        least = schedule.least(p.pipeline)
        expected = f"at least {least} microbatches for schedule {p.schedule} on {p.pipeline} stages"
        fix = f"use a larger batch, fewer stages, or schedule {'zbv' if schedule.folds else '1f1b'}"
        where: Path = ("parallelism", "schedule")
        short = least / design.microbatches - 1
        yield Problem(where, expected, str(design.microbatches), fix, rule="fewest microbatches", violation=short)


def _shape(design: Design, model: Transformer) -> Iterator[Problem]:
    path: Path = ("workload", "model")
    if model.latent_attention and (model.kv_heads or model.head_dim):
        given = "kv_heads" if model.kv_heads else "head_dim"
        yield Problem((*path, given), "nothing beside latent_attention", str(getattr(model, given)), "leave it out")
    moe = model.mixture_of_experts
    if moe is None:
        return
    where: Path = (*path, "mixture_of_experts")
    if moe.top_k > moe.experts:
        yield Problem((*where, "top_k"), f"at most the {moe.experts} experts", str(moe.top_k))
    if moe.dense_layers > model.layers:
        yield Problem((*where, "dense_layers"), f"at most the {model.layers} layers", str(moe.dense_layers))
    tensor: Path = ("parallelism", "tensor")
    rule = "tensor divides the experts' width"
    t, folds = design.parallelism.tensor, design.parallelism.folds
    cut: Path = ("parallelism", "expert_tensor") if design.parallelism.folded else tensor
    yield from divides(folds, moe.feed_forward, cut, "a degree", "the width of an expert", rule)
    yield from _groups_of_experts(moe, where)
    if moe.shared_feed_forward:
        yield from divides(t, moe.shared_feed_forward, tensor, "a degree", "the width of the shared experts", rule)


def _groups_of_experts(moe: MixtureOfExperts, where: Path) -> Iterator[Problem]:
    yield from divides(moe.groups, moe.experts, (*where, "groups"), "a number", "the experts", "groups of experts")
    chosen, path = moe.top_groups or moe.groups, (*where, "top_groups")
    if chosen > moe.groups:
        yield Problem(path, f"at most the {moe.groups} groups", str(chosen))
    elif moe.groups > 1 and moe.top_k > moe.experts // moe.groups * chosen:
        yield Problem(path, f"groups that have the {moe.top_k} experts of a token", str(chosen), "use more")


def _context(design: Design) -> Iterator[Problem]:
    workload, p = _workload(design), design.parallelism
    path: Path = ("parallelism", "context")
    if p.context == 1:
        return
    if p.context_communication == "ring" and workload.model.windowed_layers(workload.sequence):
        expected = "context_communication all_to_all where layers have windows: a ring passes every key to everyone"
        found = f"ring with windows of {workload.model.window.tokens} tokens" if workload.model.window else "ring"
        fix = "use context_communication: all_to_all, or context 1"
        yield Problem(("parallelism", "context_communication"), expected, found, fix, rule="windows and rings")
    rule = "context divides the sequence"
    if workload.sequence % p.context:
        yield from divides(p.context, workload.sequence, path, "a degree", "the sequence length", rule)
    elif p.sequence_parallel:
        share = workload.sequence // p.context
        what = f"the tokens of an NPU of the context group, {workload.sequence} / {p.context}"
        yield from divides(p.tensor, share, ("parallelism", "tensor"), "a degree", what, rule)
    if p.context_communication == "all_to_all":
        for heads, name in ((workload.model.heads, "attention heads"), (workload.model.key_heads, "key-value heads")):
            if heads % (p.tensor * p.context):
                yield Problem(
                    path,
                    f"tensor x context that divides the {name} ({heads}) with context_communication all_to_all",
                    f"{p.tensor} x {p.context} = {p.tensor * p.context}",
                    "use fewer, or context_communication ring",
                    rule="context divides the heads",
                )
                return


def _experts(design: Design, model: Transformer) -> Iterator[Problem]:
    p, moe = design.parallelism, model.mixture_of_experts
    path: Path = ("parallelism", "expert")
    yield from _expert_keys(design, model)
    if p.expert == 1:
        return
    if moe is None:
        fix = "use a model with mixture_of_experts"
        yield Problem(path, "1 for a model without experts", str(p.expert), fix, rule=NO_EXPERTS)
        return
    yield from divides(p.expert, moe.experts, path, "a degree", "the experts", "expert divides the experts")
    shared = p.tensor // p.folds if p.folds <= p.tensor else 1
    if design.copies and design.copies * shared % p.expert:
        what = f"data x context ({design.data} x {p.context})"
        if shared > 1:
            what = f"tensor x context x data / expert_tensor ({p.tensor} x {p.context} x {design.data} / {p.folds})"
        fix = f"choose a divisor of {design.copies * shared}"
        expected = f"a degree that divides {what}, whose NPUs it uses"
        yield Problem(path, expected, str(p.expert), fix, rule="expert divides data x context")


def _expert_keys(design: Design, model: Transformer) -> Iterator[Problem]:
    """What else says how experts are spread has experts to spread."""
    p, moe = design.parallelism, model.mixture_of_experts
    path: Path = ("parallelism", "expert_tensor")
    rule = NO_EXPERTS
    if p.expert_tensor is not None:
        if moe is None:
            yield Problem(path, "nothing for a model without experts", str(p.folds), "leave it out", rule=rule)
            return
        rule = "expert tensor divides tensor"
        yield from divides(p.folds, p.tensor, path, "a degree", "the tensor degree", rule)
        if p.folded and not p.sequence_parallel and isinstance(design.workload, TransformerWorkload):  # it trains
            expected = f"the tensor degree ({p.tensor}) without sequence_parallel: NPUs that have the same tokens"
            yield Problem(path, expected, str(p.folds), "use sequence_parallel: true", rule=rule)


def _expert_tokens(design: Design) -> Iterator[Problem]:
    workload, p = _workload(design), design.parallelism
    if workload.model.mixture_of_experts is None or not p.sequence_parallel or p.tensor == 1:
        return
    tokens = p.microbatch * workload.sequence // p.context
    if tokens < p.tensor:
        expected = f"at most {tokens}, the tokens of a microbatch"
        yield Problem(("parallelism", "tensor"), expected, str(p.tensor), rule="tokens for every NPU")


def _stages(design: Design) -> Iterator[Problem]:
    model, p = _workload(design).model, design.parallelism
    given = {"first_stage_layers": p.first_stage_layers, "last_stage_layers": p.last_stage_layers}
    left = model.layers
    for name, layers in given.items():
        if layers is None:
            continue
        path: Path = ("parallelism", name)
        left -= layers
        if p.pipeline == 1:
            yield Problem(
                path, "nothing without pipeline parallelism", str(layers), "leave it out", rule="stage layers"
            )
        if min(end_layers(layers, p)) < 0:
            each = -(-layers // p.interleave)
            expected = f"{p.interleave} chunks of {each}, or up to {each} fewer at the model's end"
            fix = f"choose {each * (p.interleave - 1)} to {each * p.interleave} layers"
            yield Problem(path, expected, str(layers), fix, rule="stage layers")
    named = [name for name, layers in given.items() if layers is not None]
    if not named or p.pipeline == 1:
        return
    virtual = (p.pipeline - len(named)) * p.interleave
    path = ("parallelism", named[0])
    if left < virtual or (not virtual and left):
        expected = f"what leaves {'at least ' if virtual else ''}{virtual} of {model.layers} layers to the other stages"
        yield Problem(path, expected, f"{left} left", "choose other numbers of layers", rule="stage layers")
    elif virtual and p.interleave > 1 and left % virtual:
        expected = f"what leaves a multiple of {virtual} layers to the chunks of the other stages"
        yield Problem(path, expected, f"{left} left", "choose other numbers of layers", rule="stage layers")


def _expert_overlap(design: Design) -> Iterator[Problem]:
    """Two microbatches run at the same time: what Megatron-core asks for."""
    p = design.parallelism
    if not p.expert_overlap:
        return
    path: Path = ("parallelism", "expert_overlap")
    rule, fix = "expert overlap", "leave it out"
    if p.expert == 1:
        yield Problem(path, "false without expert parallelism, whose all-to-alls it overlaps", "true", fix, rule=rule)
    elif SCHEDULES[p.schedule].pairs is None:
        expected = f"false with schedule {p.schedule}, which does not take turns between forward and backward passes"
        yield Problem(path, expected, "true", "use schedule 1f1b or dualpipe-v", rule=rule)
    elif p.pipeline > 1 and p.interleave == 1:
        expected = "false under a pipeline without interleave, where a pass waits for the one before it"
        yield Problem(path, expected, "true", "use interleave >= 2", rule=rule)
    elif _recomputes_whole(p):
        expected = "false with recompute full, whose all-to-alls travel once more"
        yield Problem(path, expected, "true", "use recompute: selective, or none", rule=rule)


def _recomputes_whole(p: Parallelism) -> bool:
    """Whether layers recompute all of themselves, or may."""
    ways = {p.recompute} if p.layers is None else {its.recompute or p.recompute for its in p.layers}
    return "full" in ways or ("solve" in ways and p.recompute_modules is None)


def _recomputed_modules(design: Design) -> Iterator[Problem]:
    """Modules that are recomputed are the model's; where none are, those that are named say nothing."""
    model, p = _workload(design).model, design.parallelism
    if p.recompute_modules is None or not p.recomputes_modules:
        return
    path: Path = ("parallelism", "recompute_modules")
    for name, lacking in missing_modules(model, p.recomputed_modules):
        yield Problem(path, f"modules of the model, which has no {lacking}", name, "leave it out", rule=MODULES)


def _switches(design: Design) -> Iterator[Problem]:
    workload, p = _workload(design), design.parallelism
    if p.recompute_layers is not None and p.recompute != "full":
        path: Path = ("parallelism", "recompute_layers")
        fix, found = "use recompute: full", str(p.recompute_layers)
        yield Problem(path, "nothing unless recompute is full", found, fix, rule="layers to recompute")
    yield from _recomputed_modules(design)
    yield from _expert_overlap(design)
    if p.tensor_overlap and not p.sequence_parallel:
        path = ("parallelism", "tensor_overlap")
        expected = "false without sequence_parallel, whose gathers and reduce-scatters it overlaps"
        yield Problem(path, expected, "true", "use sequence_parallel: true", rule="tensor overlap")
    npu = design.cluster.npu
    if workload.precision in NARROW and "bf16" not in npu.peak:
        expected = f"one that {npu.name or 'the NPU'} computes in; attention stays in bf16 beside {workload.precision}"
        yield Problem(("workload", "precision"), expected, workload.precision, f"known: {', '.join(npu.peak)}")
