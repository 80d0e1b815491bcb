"""Megatron-LM: a shell script that calls `pretrain_gpt.py` with the arguments of a design.

Arguments as of Megatron-LM's `megatron/training/arguments.py` of August 2026. Megatron-LM shards optimizer states
(ZeRO-1) by its distributed optimizer, gradients and parameters (ZeRO-2 and 3) by Megatron-FSDP, which reduces gradients
into shards in each microbatch and gathers parameters before each pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.export.base import STEPPED_THERE, Said, Target, offloaded, stages_of
from dse.export.command_line import Arguments, processes, read_script, script, torchrun
from dse.export.described import describe
from dse.export.megatron_model import give_model, read_model
from dse.export.megatron_rules import (
    BATCHED,
    DEGREES,
    ENDS,
    IN_GROUP,
    INTERLEAVED,
    LAYOUT,
    NARROW,
    OFFLOAD,
    RINGS,
    SHARDED,
    SWITCHES,
    can_batch,
    overlaps_sends,
    refusals,
)
from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.document.problem import InputError
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.stages import Runs, stage_layers

_PIPELINE_FIRST = ("tensor", "context", "pipeline", "data")


class Megatron(Target):
    """Megatron-LM on Megatron-core."""

    name = "megatron"
    file = "megatron.sh"
    software = ("megatron-core",)

    def write(self, design: Design) -> str:
        """See `Target.write`."""
        workload = TransformerWorkload.of(design.workload)
        said = Arguments()
        give_model(workload.model, said, workload.sequence)
        said.give("--seq-length", workload.sequence)
        said.give("--global-batch-size", workload.global_batch)
        said.give("--micro-batch-size", design.microbatch)
        _give_precision(said, design, workload)
        _give_parallelism(said, design)
        _give_sharding(said, design, workload)
        _give_graphs(said, design, workload)
        _give_recomputation(said, design)
        if problems := list(refusals(said)):
            raise InputError(problems, "Megatron-LM")
        return script(describe(design, self), [*torchrun(design), "pretrain_gpt.py"], said, exports=_exports(design))

    def read(self, text: str) -> Said:
        """See `Target.read`."""
        said, _ = read_script(text)
        keys: dict[str, Any] = {key: said.number(flag) for flag, key in _flipped(DEGREES).items()}
        keys |= {key: number for key, flag in ENDS.items() if (number := said.number(flag)) is not None}
        if (folded := said.number("--expert-tensor-parallel-size")) is not None:
            keys["expert_tensor"] = folded
        keys |= {key: flag in said for key, flag in SWITCHES.items()}
        keys["microbatch"] = said.number("--micro-batch-size")
        keys["interleave"] = said.number(INTERLEAVED) or 1
        if (layout := said.word(LAYOUT)) is not None:
            keys["stages"] = [stage.count("t") for stage in layout.split("|")]
            keys["interleave"] = len(keys["stages"]) // keys["pipeline"]
        keys["flash_attention"] = said.word("--attention-backend") == "flash"
        keys["context_communication"] = _flipped(RINGS)[said.word("--cp-comm-type")]
        if "--moe-token-dispatcher-type" in said:
            keys["dispatch"] = "node" if said.word("--moe-token-dispatcher-type") == "flex" else "rank"
        precision, gradients = _read_precision(said)
        keys |= _read_sharding(said, BYTES[gradients]) | _read_recomputation(said)
        workload = {
            "model": read_model(said),
            "sequence_length": said.number("--seq-length"),
            "global_batch": said.number("--global-batch-size"),
            "precision": precision,
            "gradient_precision": gradients,
        }
        usual = ("tensor", "context", "data", "pipeline")
        placement = _PIPELINE_FIRST if "--use-tp-pp-dp-mapping" in said else usual
        return Said(keys, workload, placement, ("optimizer",) if OFFLOAD in said else ())

    def notes(self, design: Design) -> Iterator[str]:
        """See `Target.notes`."""
        yield (
            "data, tokenizer, normalization, rotary base, learning rate, iterations and checkpoints are yours: "
            "add them after the script's name; --swiglu stands for any gate"
        )
        if design.parallelism.layers is not None and _recomputes_unevenly(design):
            yield "each stage recomputes as many layers as the one with most: slower than the design, and it fits"
        if design.parallelism.tensor_overlap:
            yield "--tp-comm-overlap wants user buffers: Megatron-LM's --tp-comm-overlap-cfg tunes them"
        if design.running_software.execution == "graph" and not _replays_graphs(design):
            yield "whole layers are recomputed: kernels are launched one by one, where the prediction replays graphs"
        said, _ = read_script(self.write(design))
        if overlaps_sends(said):
            batched = f"{BATCHED} gives what was predicted" if can_batch(said) else "for two stages it has nothing else"
            yield f"sends of interleaved stages go beside computation, where the prediction waits for them; {batched}"
        if "--overlap-param-gather" in said:
            yield "--overlap-param-gather hides a part of the gather of parameters; the prediction waits for all of it"
        heads = TransformerWorkload.of(design.workload).model.key_heads
        if design.parallelism.tensor > heads:
            yield (
                f"{heads:,} key-value heads on a tensor group of {design.parallelism.tensor:,}: Megatron-core refuses "
                "that before 0.16, and gathers them over the group since, as the prediction does"
            )
        if OFFLOAD in said:
            yield STEPPED_THERE
        if design.parallelism.zero >= 2:
            yield "Megatron-FSDP wants CUDA_DEVICE_MAX_CONNECTIONS above 1, or unset"


def _exports(design: Design) -> list[str]:
    """The environment: tensor and context parallelism want kernels launched in order, Megatron-FSDP does not."""
    p = design.parallelism
    return ["CUDA_DEVICE_MAX_CONNECTIONS=1"] if p.zero < 2 and max(p.tensor, p.context) > 1 else []


def _give_precision(said: Arguments, design: Design, workload: TransformerWorkload) -> None:
    precision = workload.precision
    if precision in ("bf16", "fp16"):
        said.give(f"--{precision}")
    elif precision in NARROW:
        delayed = precision == "fp8" and design.software.fp8.recipe == "delayed"
        said.give("--bf16")
        said.give("--fp8-format", "hybrid")
        said.give("--fp8-recipe", "delayed" if delayed else NARROW[precision])
        said.switch("--fp8-param-gather", design.software.fp8.gather and design.parallelism.zero > 0)
    elif precision == "nvfp4":
        said.give("--bf16")
        said.give("--fp4-format", "e2m1")
    if workload.gradient_precision == "fp32":
        said.switch("--accumulate-allreduce-grads-in-fp32", precision == "fp16")
    else:
        said.switch("--grad-reduce-in-bf16", precision != "fp16")


def _read_precision(said: Arguments) -> tuple[str, str]:
    """The precision of products and that of gradients."""
    if "--fp16" in said:
        return "fp16", "fp32" if "--accumulate-allreduce-grads-in-fp32" in said else "fp16"
    precision = "bf16" if "--bf16" in said else "fp32"
    if "--fp8-format" in said:
        precision = "fp8_block" if said.word("--fp8-recipe") == "blockwise" else "fp8"
    elif "--fp4-format" in said:
        precision = "nvfp4"
    return precision, "fp16" if "--grad-reduce-in-bf16" in said else "fp32"


def _give_parallelism(said: Arguments, design: Design) -> None:
    p = design.parallelism
    for key, flag in DEGREES.items():
        said.give(flag, getattr(p, key))
    for key, flag in SWITCHES.items():
        said.switch(flag, getattr(p, key) and (key not in IN_GROUP or (p.tensor > 1 and p.sequence_parallel)))
    if p.expert_tensor is not None:
        said.give("--expert-tensor-parallel-size", p.expert_tensor)
    _give_stages(said, design)
    if design.cluster.placement == _PIPELINE_FIRST:
        said.give("--use-tp-pp-dp-mapping")
    said.give("--cp-comm-type", RINGS[p.context_communication])
    said.give("--attention-backend", "flash" if p.flash_attention else "unfused")
    if p.expert > 1:
        said.give("--moe-token-dispatcher-type", "flex" if p.dispatch == "node" else "alltoall")
        if p.dispatch == "node":
            said.give("--moe-flex-dispatcher-backend", design.running_software.exchange or "deepep")


def _give_graphs(said: Arguments, design: Design, workload: TransformerWorkload) -> None:
    """Recorded graphs of all in a layer but routed experts."""
    if _replays_graphs(design):
        dense = workload.model.mixture_of_experts is None
        said.give("--cuda-graph-impl", "transformer_engine")
        said.give("--cuda-graph-scope", "attn", *(("mlp",) if dense else ("moe_router", "moe_preprocess")))
        said.give("--te-rng-tracker")


def _replays_graphs(design: Design) -> bool:
    """Whether graphs are replayed; a layer that is recomputed whole has none of its own."""
    return design.running_software.execution == "graph" and design.parallelism.recompute != "full"


def _give_stages(said: Arguments, design: Design) -> None:
    """Layers of the stages: Megatron-LM's even ones, its shorter ends, or where these do not do, each one's."""
    workload, p = TransformerWorkload.of(design.workload), design.parallelism
    ends = {flag: number for key, flag in ENDS.items() if (number := getattr(p, key)) is not None}
    layers = stage_layers(workload.model, p)
    middle = layers[p.first_stage_layers is not None : len(layers) - (p.last_stage_layers is not None)]
    if (p.pipeline > 1 and len(set(middle)) > 1) or (ends and p.interleave > 1):
        said.give(LAYOUT, _layout(layers, workload.model.multi_token_prediction))
        return
    for flag, number in ends.items():
        said.give(flag, number)
    if p.interleave > 1:
        said.give(INTERLEAVED, p.interleave)


def _layout(layers: list[int], further: int) -> str:
    """Letters for what each virtual stage has, bars between: embedding, layers, those that predict more, loss."""
    stages = ["t" * count for count in layers]
    return "|".join(["E" + stages[0], *stages[1:-1], stages[-1] + "m" * further + "L"])


def _give_sharding(said: Arguments, design: Design, workload: TransformerWorkload) -> None:
    p = design.parallelism
    if p.zero in SHARDED:
        said.give("--use-megatron-fsdp")
        said.give("--data-parallel-sharding-strategy", SHARDED[p.zero])
        said.give("--ckpt-format", "fsdp_dtensor")
    if p.zero:
        said.give("--use-distributed-optimizer")
        said.switch("--overlap-param-gather", bool(p.data_overlap))
        if design.sharding_npus != design.copies:
            said.give("--num-distributed-optimizer-instances", design.copies // design.sharding_npus)
    if p.zero == 1 and "optimizer" in offloaded(design):
        said.give(OFFLOAD)
        said.give("--optimizer-offload-fraction", 1.0)
        said.give("--overlap-cpu-optimizer-d2h-h2d")
        said.give("--use-precision-aware-optimizer")
    if p.zero < 2:
        said.give("--ddp-bucket-size", round(p.bucket / BYTES[workload.gradient_precision]))


def _read_sharding(said: Arguments, width: float) -> dict[str, Any]:
    strategy = said.word("--data-parallel-sharding-strategy")
    zero = _flipped(SHARDED)[strategy] if strategy else int("--use-distributed-optimizer" in said)
    keys: dict[str, Any] = {"zero": zero}
    if zero >= 2:
        keys["accumulate"] = "sharded"
    if zero == 3:
        keys["gather"] = "twice"
    if (instances := said.number("--num-distributed-optimizer-instances")) is not None:
        split = (said.number(DEGREES["tensor"]) or 1) * (said.number(DEGREES["pipeline"]) or 1) * instances
        keys["shard_group"] = processes(said) // split
    if (elements := said.number("--ddp-bucket-size")) is not None:
        keys["bucket"] = f"{elements * width:.0f} B"
    return keys


def _give_recomputation(said: Arguments, design: Design) -> None:
    """What is recomputed. Megatron-LM has one number of layers for all stages: where they differ, the largest one."""
    p = design.parallelism
    modules, most = p.recomputed_modules, p.recompute_layers
    how = p.recompute
    if p.layers is not None:
        runs = stages_of(design)
        kinds = [kind for its in runs for kind, _ in its]
        how = next(way for way in ("full", "selective", "none") if any(kind.recompute == way for kind in kinds))
        most = max(map(_recomputed, runs))
        modules = frozenset().union(*(k.modules or modules for k in kinds if k.recompute == "selective"))
    if how == "full":
        said.give("--recompute-granularity", "full")
        said.give("--recompute-method", "uniform" if most is None else "block")
        said.give("--recompute-num-layers", most or 1)
    elif how == "selective":
        said.give("--recompute-granularity", "selective")
        said.give("--recompute-modules", *sorted(modules))


def _recomputes_unevenly(design: Design) -> bool:
    """Whether stages recompute fewer layers than the one with most does, of those that they have."""
    runs = stages_of(design)
    most = max(map(_recomputed, runs))
    return any(_recomputed(its) < min(most, sum(count for _, count in its)) for its in runs)


def _recomputed(runs: Runs) -> int:
    """Layers of a stage that recompute all."""
    return sum(count for kind, count in runs if kind.recompute == "full")


def _read_recomputation(said: Arguments) -> dict[str, Any]:
    keys: dict[str, Any] = {"recompute": said.word("--recompute-granularity") or "none"}
    if said.word("--recompute-method") == "block":
        keys["recompute_layers"] = said.number("--recompute-num-layers")
    if "--recompute-modules" in said:
        keys["recompute_modules"] = list(said["--recompute-modules"])
    return keys


def _flipped(table: Mapping[Any, Any]) -> dict[Any, Any]:
    return {there: here for here, there in table.items()}
