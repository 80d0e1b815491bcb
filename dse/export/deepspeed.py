"""DeepSpeed: the JSON configuration that `deepspeed.initialize` takes.

Keys as of DeepSpeed 0.19 (`deepspeed/runtime/config.py`, `deepspeed/runtime/zero/config.py`). The configuration says
how data, states, tensors and sequences are split; the model and its pipeline are those of the training script.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from dse.export.base import Said, Target
from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.document.problem import InputError, Problem
from simcore.workload.transformer.document import TransformerWorkload


class DeepSpeed(Target):
    """DeepSpeed with ZeRO, tensor parallelism of its own and Ulysses."""

    name = "deepspeed"
    file = "ds_config.json"
    software = ("deepspeed",)
    elsewhere: ClassVar = {
        "workload.model": "the training script builds the model",
        "workload.sequence_length": "the training script feeds sequences",
        "parallelism.pipeline": "the training script gives its layers to PipelineModule(num_stages=...)",
        "parallelism.stages": "the training script divides its layers: PipelineModule(partition_method=...)",
        "parallelism.recompute": "the training script calls deepspeed.checkpointing",
        "parallelism.flash_attention": "the training script chooses its attention",
        "parallelism.cross_entropy_fusion": "the training script computes the loss",
        "parallelism.expert": "the training script gives deepspeed.moe.layer.MoE its ep_size",
    }

    def write(self, design: Design) -> str:
        """See `Target.write`."""
        workload, p = TransformerWorkload.of(design.workload), design.parallelism
        if p.pipeline > 1 and p.zero >= 2:
            problem = Problem(
                ("parallelism", "zero"),
                "0 or 1 with a pipeline, as DeepSpeed has it",
                str(p.zero),
                "choose another design",
            )
            raise InputError([problem])
        config: dict[str, Any] = {
            "train_batch_size": workload.global_batch,
            "train_micro_batch_size_per_gpu": design.microbatch,
            "gradient_accumulation_steps": design.microbatches,
        }
        if workload.precision in ("bf16", "fp16"):
            config[workload.precision] = {"enabled": True}
        config["data_types"] = {"grad_accum_dtype": _gradients(workload)}
        config["communication_data_type"] = _gradients(workload)
        config["zero_optimization"] = {
            "stage": p.zero,
            "reduce_bucket_size": round(p.bucket / BYTES[workload.gradient_precision]),
            "overlap_comm": bool(p.data_overlap),
        }
        if p.tensor > 1:
            config["tensor_parallel"] = {"autotp_size": p.tensor, "tp_overlap_comm": p.tensor_overlap}
        if p.context > 1 and p.context_communication == "all_to_all":
            config["sequence_parallel_size"] = p.context
        return json.dumps(config, indent=2) + "\n"

    def read(self, text: str) -> Said:
        """See `Target.read`."""
        config = json.loads(text)
        zero, tensor = config["zero_optimization"], config.get("tensor_parallel", {})
        precision = next((name for name in ("bf16", "fp16") if name in config), "fp32")
        gradients = "fp32" if config["data_types"]["grad_accum_dtype"] == "fp32" else "fp16"
        context = config.get("sequence_parallel_size", 1)
        batch, each = config["train_batch_size"], config["train_micro_batch_size_per_gpu"]
        keys = {
            "tensor": tensor.get("autotp_size", 1),
            "tensor_overlap": tensor.get("tp_overlap_comm", False),
            "context": context,
            "context_communication": "all_to_all" if context > 1 else "ring",
            "data": batch // each // config["gradient_accumulation_steps"],
            "microbatch": each,
            "zero": zero["stage"],
            "data_overlap": zero["overlap_comm"],
            "bucket": f"{zero['reduce_bucket_size'] * BYTES[gradients]:.0f} B",
        }
        return Said(keys, {"global_batch": batch, "precision": precision, "gradient_precision": gradients})

    def notes(self, design: Design) -> Iterator[str]:
        """See `Target.notes`."""
        p, found = design.parallelism, design.document()
        for path, where in self.elsewhere.items():
            section, key = path.split(".")
            if path != "workload.model" and getattr(type(p), key, None) is None:
                value = found[section].get(key)
                if value is True or value not in (None, 1, "none"):
                    yield f"{path} ({value}): {where}"
        yield "the model, the data and the optimizer are the training script's"


def _gradients(workload: TransformerWorkload) -> str:
    return "fp32" if workload.gradient_precision == "fp32" else "fp16" if workload.precision == "fp16" else "bf16"
