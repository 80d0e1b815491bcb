"""TorchTitan: a shell script that calls `torchtitan.train` with a configuration of its own and a design's arguments.

Arguments as of TorchTitan 0.3 (`torchtitan/config/configs.py`). FSDP shards parameters, gradients and optimizer states
at once (ZeRO-3); its parameters are gathered before each pass, or kept from the forward to the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.export.base import Said, Target, offloaded
from dse.export.command_line import Arguments, read_script, script, torchrun
from dse.export.described import describe
from simcore.catalog.preset import preset
from simcore.design.design import Design
from simcore.design.parallelism import Parallelism
from simcore.document.field import NARROW
from simcore.document.problem import InputError, Problem
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer

_MODELS = {
    "llama3-8b": ("llama3", "llama3_8b", "bf16"),
    "llama3-70b": ("llama3", "llama3_70b", "bf16"),
    "llama3-405b": ("llama3", "llama3_405b", "fp8"),
    "deepseek-v3": ("deepseek_v3", "deepseek_v3_671b", "bf16"),
    "qwen3-30b-a3b": ("qwen3", "qwen3_30b_a3b", "bf16"),
    "gpt-oss-20b": ("gpt_oss", "gpt_oss_20b", "bf16"),
    "gpt-oss-120b": ("gpt_oss", "gpt_oss_120b", "bf16"),
}
"""Models of the catalogue -> module, configuration and precision of the products in TorchTitan."""
_SCHEDULES = {
    ("1f1b", False): "1F1B",
    ("1f1b", True): "Interleaved1F1B",
    ("gpipe", False): "GPipe",
    ("gpipe", True): "LoopedBFS",
    ("zbv", True): "ZBVZeroBubble",
    ("dualpipe-v", True): "DualPipeV",
}
"""Schedules, each without and with several virtual stages on an NPU."""
_DEGREES = {
    "tensor": "--parallelism.tensor-parallel-degree",
    "pipeline": "--parallelism.pipeline-parallel-degree",
    "context": "--parallelism.context-parallel-degree",
    "expert": "--parallelism.expert-parallel-degree",
}
_SHARD = "--parallelism.data-parallel-shard-degree"
_REPLICATE = "--parallelism.data-parallel-replicate-degree"
_RESHARD = "--parallelism.fsdp-reshard-after-forward"
_OFFLOAD = "--training.enable-cpu-offload"
_ALL_OFFLOADED = ("optimizer", "weights")
"""What FSDP keeps in the host's memory where it is told to."""
_STAGE = "--parallelism.pipeline-parallel-layers-per-stage"
_LESS = {
    "first_stage_layers": "--parallelism.pipeline-parallel-first-stage-less-layers",
    "last_stage_layers": "--parallelism.pipeline-parallel-last-stage-less-layers",
}
_CHECKPOINTING = "activation-checkpoint:"


class TorchTitan(Target):
    """TorchTitan on PyTorch's FSDP."""

    name = "torchtitan"
    file = "torchtitan.sh"
    software = ("pytorch-fsdp", "pytorch-fsdp-compile")

    def write(self, design: Design) -> str:
        """See `Target.write`."""
        workload, p = TransformerWorkload.of(design.workload), design.parallelism
        module, config, _ = _MODELS[_known(workload.model)]
        said = Arguments()
        said.give("--module", module)
        said.give("--config", config)
        said.give("--training.seq-len", workload.sequence)
        said.give("--training.global-batch-size", workload.global_batch)
        in_pipeline = design.microbatches if p.pipeline > 1 else 1
        said.give("--training.local-batch-size", design.microbatch * in_pipeline)
        said.give("--training.mixed-precision-param", "float32" if workload.precision == "fp32" else "bfloat16")
        for key, flag in _DEGREES.items():
            said.give(flag, getattr(p, key))
        said.give(f"--parallelism.{'' if p.sequence_parallel else 'no-'}enable-sequence-parallel")
        _give_sharding(said, design)
        if p.pipeline > 1:
            _give_pipeline(said, design, workload.model)
        said.switch("--training.disable-cuda-graphs", design.running_software.execution != "graph" or p.pipeline > 1)
        said.switch("--compile.enable", design.running_software.execution == "compiled" or p.tensor_overlap)
        said.switch("--compile.enable-async-tensor-parallel", p.tensor_overlap)
        comments, last = describe(design, self), [_CHECKPOINTING + _recomputed(p)]
        return script(comments, [*torchrun(design), "-m", "torchtitan.train"], said, last)

    def read(self, text: str) -> Said:
        """See `Target.read`."""
        said, bare = read_script(text)
        keys: dict[str, Any] = {key: said.number(flag) for key, flag in _DEGREES.items()}
        keys["sequence_parallel"] = "--parallelism.enable-sequence-parallel" in said
        keys["tensor_overlap"] = "--compile.enable-async-tensor-parallel" in said
        keys["recompute"] = next(word.removeprefix(_CHECKPOINTING) for word in bare if _CHECKPOINTING in word)
        keys["microbatch"] = said.number("--training.local-batch-size")
        if keys["expert"] > 1:
            keys["expert_tensor"] = 1
        name, precision = _configured(said)
        keys |= _read_sharding(said, keys["pipeline"] > 1)
        if keys["pipeline"] > 1:
            keys |= _read_pipeline(said, preset(Transformer, "models", name))
        wide = said.word("--training.mixed-precision-param") == "float32"
        workload = {
            "model": name,
            "sequence_length": said.number("--training.seq-len"),
            "global_batch": said.number("--training.global-batch-size"),
            "precision": "fp32" if wide else precision,
            "gradient_precision": "fp32",
        }
        return Said(keys, workload, offloaded=_ALL_OFFLOADED if _OFFLOAD in said else ())

    def elsewhere(self, design: Design) -> Mapping[str, str]:
        """See `Target.elsewhere`."""
        asked, configured = design.workload.precision, _MODELS[_known(TransformerWorkload.of(design.workload).model)][2]
        converted = asked in NARROW and asked != configured
        return {"workload.precision": "a converter of the model's configuration (float8)"} if converted else {}

    def notes(self, design: Design) -> Iterator[str]:
        """See `Target.notes`."""
        yield "data, tokenizer, optimizer and checkpoints are those of the named configuration unless you add your own"
        for path, where in self.elsewhere(design).items():
            yield f"{path} ({design.workload.precision}): {where}"
        if design.parallelism.recompute == "selective":
            yield (
                "TorchTitan's selective checkpointing keeps the results of products; the design recomputes "
                + ", ".join(sorted(design.parallelism.recomputed_modules))
            )


def _recomputed(p: Parallelism) -> str:
    """The way in which all layers recompute, so that memory holds: where they differ, that of those which do most."""
    ways = {p.recompute, *(its.recompute for its in p.layers or () if its.recompute)}
    return next(way for way in ("full", "selective", "none") if way in ways)


def _known(model: Transformer) -> str:
    """The name in the catalogue of a model that TorchTitan has.

    Raises `InputError` where it has none of this shape.
    """
    for name in _MODELS:
        if _shape(preset(Transformer, "models", name)) == _shape(model):
            return name
    sizes = f"{model.name or 'a model'} of {model.layers} layers, hidden size {model.hidden}"
    fix = "register it there, or export for megatron"
    raise InputError([Problem(("workload", "model"), f"one of TorchTitan's: {', '.join(_MODELS)}", sizes, fix)])


def _shape(model: Transformer) -> tuple[Any, ...]:
    """The sizes by which two models are the same one; norms, biases and ties are the configuration's."""
    experts = model.mixture_of_experts
    routed = None if experts is None else (experts.experts, experts.top_k, experts.feed_forward, experts.dense_layers)
    widths = (model.hidden, model.layers, model.heads, model.key_heads, model.qk_head_dim, model.vocabulary)
    return *widths, routed, model.ffn if model.dense_layers else None


def _configured(said: Arguments) -> tuple[str, str]:
    config = said.word("--config")
    return next((name, precision) for name, (_, known, precision) in _MODELS.items() if known == config)


def _give_sharding(said: Arguments, design: Design) -> None:
    p = design.parallelism
    over = max(1, design.sharding_npus // p.context) if p.zero else 1
    said.give(_SHARD, over)
    said.give(_REPLICATE, design.data // over)
    if p.zero:
        said.give(_RESHARD, "always" if p.gathers == "twice" else "never")
        said.switch(_OFFLOAD, offloaded(design) == _ALL_OFFLOADED)


def _read_sharding(said: Arguments, pipelined: bool) -> dict[str, Any]:
    shard, replicate, context = (said.number(flag) or 1 for flag in (_SHARD, _REPLICATE, _DEGREES["context"]))
    keys: dict[str, Any] = {"data": shard * replicate, "zero": 0, "data_overlap": True}
    if _RESHARD in said:
        kept = "once" if pipelined else "microbatch"
        keys |= {"zero": 3, "gather": "twice" if said.word(_RESHARD) == "always" else kept}
        keys["accumulate"] = "local" if pipelined else "sharded"
        if replicate > 1:
            keys["shard_group"] = shard * context
    return keys


def _give_pipeline(said: Arguments, design: Design, model: Transformer) -> None:
    p = design.parallelism
    known = _SCHEDULES.get((p.schedule, p.interleave > 1))
    if known is None:
        expected = f"one of {', '.join(sorted({name for name, _ in _SCHEDULES}))}, as TorchTitan has them"
        raise InputError([Problem(("parallelism", "schedule"), expected, p.schedule, "choose another design")])
    said.give("--parallelism.pipeline-parallel-schedule", known)
    said.give("--parallelism.pipeline-parallel-microbatch-size", design.microbatch)
    virtual = p.pipeline * p.interleave
    ends = [layers for layers in (p.first_stage_layers, p.last_stage_layers) if layers is not None]
    middle = -(-(model.layers - sum(ends)) // (virtual - len(ends)))
    less = sum(middle - layers for layers in ends)
    if -(-(model.layers + less) // middle) != virtual:
        expected = f"layers that fill {virtual} virtual stages with {middle} each, but for the last one"
        fix = "choose another number of stages, or export for megatron"
        raise InputError([Problem(("parallelism", "pipeline"), expected, f"{model.layers} layers", fix)])
    said.give(_STAGE, middle)
    for key, flag in _LESS.items():
        given = getattr(p, key)
        said.give(flag, 0 if given is None else middle - given)


def _read_pipeline(said: Arguments, model: Transformer) -> dict[str, Any]:
    schedule = said.word("--parallelism.pipeline-parallel-schedule")
    name = next(ours for (ours, _), theirs in _SCHEDULES.items() if theirs == schedule)
    middle, stages = said.number(_STAGE) or 1, said.number(_DEGREES["pipeline"]) or 1
    less = {key: said.number(flag) or 0 for key, flag in _LESS.items()}
    virtual = -(-(model.layers + sum(less.values())) // middle)
    keys: dict[str, Any] = {key: middle - fewer for key, fewer in less.items() if fewer}
    keys["interleave"] = virtual // stages
    keys["schedule"] = name
    keys["microbatch"] = said.number("--parallelism.pipeline-parallel-microbatch-size")
    return keys
