"""Which arguments Megatron-LM has for a design's keys, and which of them it refuses together.

From `megatron/training/arguments.py`, `megatron/core/transformer/transformer_config.py` and
`megatron/core/model_parallel_config.py` of August 2026. Messages say what the design has to change; what Megatron-LM
takes but does otherwise is found by reading the script back (`dse.export.compare`).

Sends between stages have no key of a design: in the model they block, as Megatron-LM's batched sends and receives do.
With interleaved stages it sends beside the computation, which is faster, unless told `BATCHED`; that it takes for more
than two stages only, since between two both directions would share a batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from dse.export.command_line import Arguments
from simcore.document.problem import Problem

DEGREES = {
    "tensor": "--tensor-model-parallel-size",
    "pipeline": "--pipeline-model-parallel-size",
    "context": "--context-parallel-size",
    "expert": "--expert-model-parallel-size",
}
ENDS = {
    "first_stage_layers": "--decoder-first-pipeline-num-layers",
    "last_stage_layers": "--decoder-last-pipeline-num-layers",
}
SWITCHES = {
    "sequence_parallel": "--sequence-parallel",
    "tensor_overlap": "--tp-comm-overlap",
    "data_overlap": "--overlap-grad-reduce",
    "cross_entropy_fusion": "--cross-entropy-loss-fusion",
    "expert_overlap": "--overlap-moe-expert-parallel-comm",
}
IN_GROUP = ("sequence_parallel", "tensor_overlap")
"""Switches that Megatron-LM refuses, or takes back, without a tensor group in which sequences are cut."""
LAYOUT = "--pipeline-model-parallel-layout"
INTERLEAVED = "--num-virtual-stages-per-pipeline-rank"
BATCHED = "--no-overlap-p2p-communication"
OFFLOAD = "--optimizer-cpu-offload"
SHARDED = {2: "optim_grads", 3: "optim_grads_params"}
RINGS = {"ring": "p2p", "all_to_all": "a2a"}
NARROW = {"fp8": "tensorwise", "fp8_block": "blockwise"}
_BEFORE_PRODUCTS = {"layernorm", "moe_act"}
"""Modules whose results are cast to 8 bits, with delayed scaling by a history that a second pass would move."""
_EXPERT_OVERLAP = ("parallelism", "expert_overlap")


def refusals(said: Arguments) -> Iterator[Problem]:
    """What Megatron-LM refuses of the arguments that say a design, each by the design's key, with what to change."""
    modules = set(said.get("--recompute-modules", ()))
    if said.word("--fp8-recipe") == "delayed" and (wrong := sorted(modules & _BEFORE_PRODUCTS)):
        expected = "modules that delayed scaling lets be recomputed in 8 bits: no layernorm, no moe_act"
        yield Problem(("parallelism", "recompute_modules"), expected, ", ".join(wrong), "recompute others, or 16 bits")
    if OFFLOAD in said and "--fp8-param-gather" in said and said.word("--fp8-recipe") != "delayed":
        expected = "no optimizer beside weights that are gathered in 8 bits, unless scaling is delayed"
        fix = "set software.fp8.gather: false"
        yield Problem(("cluster", "memory", "expanded", "place"), expected, "optimizer", fix)
    if "--num-experts" in said and (said.number(DEGREES["tensor"]) or 1) > 1 and "--sequence-parallel" not in said:
        expected = "true where experts are trained in a tensor group"
        yield Problem(("parallelism", "sequence_parallel"), expected, "false", "cut sequences, or take tensor: 1")
    if SWITCHES["expert_overlap"] in said:
        if "moe" in modules:
            yield Problem(_EXPERT_OVERLAP, "false where experts are recomputed", "true", "recompute other modules")
        if not {"--bf16", "--fp16"} & said.keys():
            yield Problem(_EXPERT_OVERLAP, "weights in 16 bits", "fp32", "set it false, or precision: bf16")
        if (said.number("--mtp-num-layers") or 0) > 1:
            further = said.word("--mtp-num-layers") or ""
            yield Problem(_EXPERT_OVERLAP, "at most one layer that predicts further tokens", further, "set it false")
    if said.number("--mtp-num-layers") and said.word("--position-embedding-type") == "learned_absolute":
        found = "learned positions"
        yield Problem(("workload", "model"), "rotary positions where layers predict further tokens", found)


def overlaps_sends(said: Arguments) -> bool:
    """Whether Megatron-LM sends between the stages beside the computation: of interleaved ones, unless told not to."""
    return _chunks(said) > 1 and BATCHED not in said


def can_batch(said: Arguments) -> bool:
    """Whether it takes `BATCHED`: interleaved stages of more than two NPUs; of others it sends in batches anyway."""
    return _chunks(said) > 1 and (said.number(DEGREES["pipeline"]) or 1) > 2


def _chunks(said: Arguments) -> int:
    """Model chunks of each stage."""
    if (layout := said.word(LAYOUT)) is not None:
        return (layout.count("|") + 1) // (said.number(DEGREES["pipeline"]) or 1)
    return said.number(INTERLEAVED) or 1
