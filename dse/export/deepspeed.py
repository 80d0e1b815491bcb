"""DeepSpeed: the JSON configuration that `deepspeed.initialize` takes.

Keys as of DeepSpeed 0.19 (`deepspeed/runtime/config.py`, `deepspeed/runtime/zero/config.py`). The configuration says
how data, states, tensors and sequences are split; the model and its pipeline are those of the training script.

What it makes of them is in `deepspeed/__init__.py` and `deepspeed/runtime/engine.py`. Tensor groups of its own (AutoTP)
and Ulysses take neighbouring ranks, each as if there were nothing but data parallelism beside them. Only its ZeRO
optimizers reduce gradients beside computation; ZeRO-0 does not, nor what it takes for ZeRO-1 with bf16 weights and fp32
gradients, nor a pipeline. Without ZeRO gradients are summed in the precision of the weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dse.export.base import STEPPED_THERE, Said, Target, offloaded
from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.document.problem import InputError, Problem
from simcore.workload.transformer.document import TransformerWorkload

_ELSEWHERE = {
    "workload.model": "the training script builds the model",
    "workload.sequence_length": "the training script feeds sequences",
    "parallelism.pipeline": "the training script gives its layers to PipelineModule(num_stages=...)",
    "parallelism.stages": "the training script divides its layers: PipelineModule(partition_method=...)",
    "parallelism.recompute": "the training script calls deepspeed.checkpointing",
    "parallelism.flash_attention": "the training script chooses its attention",
    "parallelism.cross_entropy_fusion": "the training script computes the loss",
    "parallelism.expert": "the training script gives deepspeed.moe.layer.MoE its ep_size",
}
_OFFLOADED = {"optimizer": "offload_optimizer", "weights": "offload_param"}
"""What ZeRO keeps in the host's memory, by what it is called in a design."""
_IN_PIPELINE = {
    "parallelism.tensor": "its own tensor groups know no pipeline: the training script gives PipelineModule a topology "
    "with them, and layers that are cut",
    "parallelism.tensor_overlap": "the training script cuts the layers",
    "parallelism.sequence_parallel": "the training script cuts the layers",
}


class DeepSpeed(Target):
    """DeepSpeed with ZeRO, tensor parallelism of its own and Ulysses."""

    name = "deepspeed"
    file = "ds_config.json"
    software = ("deepspeed",)

    def elsewhere(self, design: Design) -> Mapping[str, str]:
        """See `Target.elsewhere`."""
        p = design.parallelism
        return _ELSEWHERE | (_IN_PIPELINE if p.pipeline > 1 and p.tensor > 1 else {})

    def write(self, design: Design) -> str:
        """See `Target.write`."""
        workload, p = TransformerWorkload.of(design.workload), design.parallelism
        if problems := list(_refusals(design)):
            raise InputError(problems)
        config: dict[str, Any] = {"train_batch_size": workload.global_batch}
        if _counts_all(design):
            config = {"data_parallel_size": design.data}
        config["train_micro_batch_size_per_gpu"] = design.microbatch
        config["gradient_accumulation_steps"] = design.microbatches
        if (weights := _weights(workload)) != "fp32":
            config[weights] = {"enabled": True}
        sums = _sums(workload, p.zero)
        config["data_types"] = {"grad_accum_dtype": sums}
        config["communication_data_type"] = sums
        config["zero_optimization"] = {
            "stage": p.zero,
            "reduce_bucket_size": round(p.bucket / BYTES["fp32" if sums == "fp32" else "fp16"]),
            "overlap_comm": bool(p.data_overlap) and _can_overlap(design, sums),
        }
        for part, key in _OFFLOADED.items():
            if part in offloaded(design) and p.zero:
                config["zero_optimization"][key] = {"device": "cpu", "pin_memory": True}
        if p.tensor > 1 and p.pipeline == 1:
            config["tensor_parallel"] = {"autotp_size": p.tensor, "tp_overlap_comm": p.tensor_overlap}
        if p.context > 1:
            config |= {"data_parallel_size": design.data, "sequence_parallel_size": p.context}
        return json.dumps(config, indent=2) + "\n"

    def read(self, text: str) -> Said:
        """See `Target.read`."""
        config = json.loads(text)
        zero, tensor = config["zero_optimization"], config.get("tensor_parallel", {})
        precision = next((name for name in ("bf16", "fp16") if name in config), "fp32")
        gradients = "fp32" if config["data_types"]["grad_accum_dtype"] == "fp32" else "fp16"
        context = config.get("sequence_parallel_size", 1)
        each = config["train_micro_batch_size_per_gpu"]
        step = each * config["gradient_accumulation_steps"]
        data = config.get("data_parallel_size") or config["train_batch_size"] // step
        keys = {
            "tensor": tensor.get("autotp_size", 1),
            "tensor_overlap": tensor.get("tp_overlap_comm", False),
            "context": context,
            "context_communication": "all_to_all" if context > 1 else "ring",
            "data": data,
            "microbatch": each,
            "zero": zero["stage"],
            "data_overlap": zero["overlap_comm"],
            "bucket": f"{zero['reduce_bucket_size'] * BYTES[gradients]:.0f} B",
        }
        workload = {"global_batch": data * step, "precision": precision, "gradient_precision": gradients}
        return Said(keys, workload, offloaded=tuple(part for part, key in _OFFLOADED.items() if key in zero))

    def notes(self, design: Design) -> Iterator[str]:
        """See `Target.notes`."""
        p, found = design.parallelism, design.document()
        for path, where in self.elsewhere(design).items():
            section, key = path.split(".")
            if path != "workload.model" and getattr(type(p), key, None) is None:
                value = found[section].get(key)
                quiet = value is False and path in _IN_PIPELINE
                if value is True or (value not in (None, 1, "none") and not quiet):
                    yield f"{path} ({value}): {where}"
        if p.zero and "optimizer" in offloaded(design):
            yield STEPPED_THERE
        if _counts_all(design):
            yield "train_batch_size is left out: beside tensor groups of its own DeepSpeed counts a batch for every NPU"
        yield "the model, the data and the optimizer are the training script's"


def _refusals(design: Design) -> Iterator[Problem]:
    """What no configuration of DeepSpeed starts, with what to change."""
    p, fix = design.parallelism, "choose another design"
    if p.pipeline > 1 and p.zero >= 2:
        yield Problem(("parallelism", "zero"), "0 or 1 with a pipeline, as DeepSpeed has it", str(p.zero), fix)
    if p.zero == 3 and TransformerWorkload.of(design.workload).model.mixture_of_experts is not None:
        yield Problem(("parallelism", "zero"), "0 to 2 with experts: its MoE layers refuse ZeRO-3", "3", fix)
    if p.context == 1:
        return
    context = ("parallelism", "context")
    if p.context_communication != "all_to_all":
        expected = "1, or context_communication: all_to_all, which is its Ulysses"
        yield Problem(context, expected, f"{p.context} ({p.context_communication})", fix)
    beside = {"tensor": p.tensor, "pipeline": p.pipeline}
    if said := ", ".join(f"{name} {degree}" for name, degree in beside.items() if degree > 1):
        expected = "1 beside tensor groups or a pipeline: its Ulysses takes all ranks that data parallelism leaves"
        yield Problem(context, expected, f"{p.context} beside {said}", fix)


def _counts_all(design: Design) -> bool:
    """Whether a batch is one sample for every NPU, so that `train_batch_size` has no right value."""
    return design.parallelism.tensor > 1 and design.parallelism.pipeline == 1


def _can_overlap(design: Design, sums: str) -> bool:
    """Whether the optimizer that DeepSpeed takes reduces gradients beside computation."""
    p, weights = design.parallelism, _weights(TransformerWorkload.of(design.workload))
    return p.pipeline == 1 and (p.zero >= 2 or (p.zero == 1 and (weights, sums) != ("bf16", "fp32")))


def _weights(workload: TransformerWorkload) -> str:
    """What weights are in: of products in 8 or 4 bits it has none."""
    return workload.precision if workload.precision in ("fp16", "fp32") else "bf16"


def _sums(workload: TransformerWorkload, zero: int) -> str:
    """What gradients are summed in."""
    weights = _weights(workload)
    return "fp32" if zero > 0 and workload.gradient_precision == "fp32" else weights
