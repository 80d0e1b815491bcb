"""What a design that serves a transformer must satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.field import BYTES, NARROW
from simcore.document.problem import Path, Problem
from simcore.schedule.base import MOST_CHUNKS
from simcore.workload.rules import batch_problems, precision_problems, stack_problems, unused_problems
from simcore.workload.serving.document import InferenceWorkload
from simcore.workload.serving.weights import WEIGHT_BYTES
from simcore.workload.sharding import sharding_problems
from simcore.workload.transformer.check import expert_problems
from simcore.workload.transformer.moe import BLOCK

_UNUSED = (
    "context",
    "zero",
    "accumulate",
    "gather",
    "shard_group",
    "schedule",
    "gradients",
    "interleave",
    "recompute",
    "recompute_layers",
    "recompute_modules",
    "expert_overlap",
    "sequence_parallel",
    "attention_split",
    "tensor_overlap",
    "first_stage_layers",
    "last_stage_layers",
)
"""Keys of `parallelism` that serving has no use for."""


def serving_problems(design: Design) -> Iterator[Problem]:
    """Every problem of a design that serves a transformer."""
    workload, p = InferenceWorkload.of(design.workload), design.parallelism
    model = workload.model
    yield from batch_problems(design)
    yield from _pass_problems(design)
    yield from sharding_problems(design)
    yield from unused_problems(design, _UNUSED)
    yield from precision_problems(design)
    yield from stack_problems(design)
    yield from expert_problems(design, model)
    yield from _cache_problems(design)
    yield from _whole_expert_problems(design)
    yield from _block_problems(design)
    if workload.precision in NARROW and "bf16" not in design.cluster.npu.peak:
        known = ", ".join(design.cluster.npu.peak)
        expected = f"one that the NPU computes in ({known}); attention stays in bf16 beside {workload.precision}"
        yield Problem(("workload", "precision"), expected, workload.precision)
    held = workload.weight_precision
    if held not in (None, workload.precision) and WEIGHT_BYTES[held] >= BYTES[workload.precision]:
        expected = f"fewer bits than products compute in ({workload.precision})"
        yield Problem(("workload", "weight_precision"), expected, held, "leave it out, or choose 4 bits")
    path: Path = ("parallelism", "tensor")
    kv = model.key_heads
    for whole, what in ((model.heads, "attention heads"), (model.ffn, "feed-forward width")):
        if whole % p.tensor:
            expected = f"a degree that divides the {what} ({whole})"
            yield Problem(path, expected, str(p.tensor), rule="tensor divides the heads")
    if kv != model.heads and kv % p.tensor and p.tensor % kv:
        expected = f"a degree that divides the {kv} key-value heads, or is a multiple"
        yield Problem(path, expected, str(p.tensor), rule="tensor divides the heads")
    if (model.hidden % model.heads and not (model.head_dim or model.latent_attention)) or model.heads % kv:
        yield Problem(("workload", "model"), "heads that divide the hidden size, and kv_heads the heads", model.name)
    if p.pipeline > model.layers:
        expected, rule = f"at most {model.layers} stages, one a layer", "stages have layers"
        yield Problem(("parallelism", "pipeline"), expected, str(p.pipeline), rule=rule)
    if workload.output_length > MOST_CHUNKS:
        expected = f"at most {MOST_CHUNKS:,} tokens"
        yield Problem(("workload", "output_length"), expected, f"{workload.output_length:,}")
    length = workload.prompt_length + workload.output_length
    if model.position == "learned" and length > model.sequence_length:
        expected = f"prompt and output of at most {model.sequence_length} tokens together"
        yield Problem(("workload", "prompt_length"), expected, str(length), rule="positions")


def _cache_problems(design: Design) -> Iterator[Problem]:
    """Keys and values are held in 16 bits, in fp8, or in nvfp4 where the NPU computes in it (vLLM, TensorRT-LLM)."""
    held, peak = InferenceWorkload.of(design.workload).cache_precision, design.cluster.npu.peak
    if held in ("fp8_block", "int8") or (held == "nvfp4" and held not in peak):
        expected = "bf16, fp16 or fp8" + (" or nvfp4" if "nvfp4" in peak else "") + ", in which servers hold a cache"
        yield Problem(("workload", "cache_precision"), expected, held)


def _whole_expert_problems(design: Design) -> Iterator[Problem]:
    """Experts that a tensor group does not cut are whole on its NPUs, an even share on each."""
    p = design.parallelism
    if p.folded and not (p.folds == 1 and p.expert == p.tensor):
        expected = f"{p.tensor}, the tensor degree, or 1 beside as many experts' NPUs (expert: {p.tensor})"
        fix = "leave it out, or give each NPU of the tensor group whole experts"
        path: Path = ("parallelism", "expert_tensor")
        yield Problem(path, expected, f"{p.folds} beside expert {p.expert}", fix, rule="expert tensor divides tensor")


def _block_problems(design: Design) -> Iterator[Problem]:
    """A tensor group cuts weights between their blocks: servers refuse others (vllm, issue 17569)."""
    workload, p = InferenceWorkload.of(design.workload), design.parallelism
    if workload.precision != "fp8_block":
        return
    model, moe = workload.model, workload.model.mixture_of_experts
    widths = [("feed-forward width", model.ffn if model.dense_layers or moe is None else 0, p.tensor)]
    if moe is not None:
        held = workload.weight_precision is None
        widths.append(("width of experts", moe.feed_forward if held else 0, p.folds))
        widths.append(("width of shared experts", moe.shared_feed_forward, p.tensor))
    for what, width, degree in widths:
        if degree > 1 and width % (BLOCK * degree) and width % degree == 0:
            expected = f"a degree that cuts the {what} ({width}) into multiples of the blocks' {BLOCK}"
            may_be_whole = what == "width of experts" and width % BLOCK == 0
            whole = f"expert: {p.tensor} with expert_tensor: 1, " if may_be_whole else ""
            fix = f"choose a smaller one, {whole}or fp8, whose scales are of whole tensors"
            path: Path = ("parallelism", "tensor")
            yield Problem(path, expected, str(degree), fix, rule="tensor divides the blocks")


def _pass_problems(design: Design) -> Iterator[Problem]:
    """A pass is one that a server makes: of all requests that wait for it, and of whole prompts."""
    workload, stages = InferenceWorkload.of(design.workload), design.parallelism.pipeline
    groups = workload.global_batch // max(1, design.data * design.microbatch)
    if groups > stages:
        yield Problem(
            ("parallelism", "microbatch"),
            f"no more groups of a replica's requests than stages ({stages}): a server decodes together what waits",
            f"{groups} groups of {design.microbatch}",
            "leave it out; workload.prefill_tokens says how many prompts are read together",
            rule="requests decoded together",
            violation=groups / stages - 1,
        )
    path: Path = ("workload", "prefill_tokens")
    read = workload.prefill_tokens
    if read is not None and workload.batching == "static":
        yield Problem(path, "nothing beside static batching, which reads all prompts together", str(read))
    elif read is not None and read < workload.prompt_length:
        expected = f"at least the prompt_length ({workload.prompt_length}): a pass reads whole prompts"
        short = workload.prompt_length / read - 1
        yield Problem(path, expected, str(read), rule="passes of whole prompts", violation=short)
