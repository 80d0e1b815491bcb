"""A section of `docs/accuracy-details.md`, memory: what Megatron's authors publish of four models, and predictions."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.memory.footprint import stage_memory
from simcore.program import Program
from simcore.workload.transformer.program import transformer_program

TABLE = Path(__file__).parents[1] / "simcore" / "data" / "megatron2022_memory_fig1.csv"
GIB = 2.0**30
JOBS = {
    # case of the table: model, tensor, pipeline, interleave, microbatch, global batch (arXiv 2205.05198, Table 3)
    "megatron-22B": ("megatron-22b", 8, 1, 1, 4, 4),
    "gpt3-175B": ("gpt3-175b", 8, 8, 3, 1, 64),
    "turing-530B": ("mt-nlg-530b", 8, 35, 3, 1, 280),
    "megatron-1T": ("transformer-1t", 8, 64, 1, 1, 512),
}
SELECTIVE = {"recompute": "selective", "sequence_parallel": True}


def memory_section() -> Iterator[str]:
    """States averaged over stages, and activations of the first stage, against the published figure."""
    yield "## Memory of Megatron's models\n"
    yield "GiB per NPU, against Korthikanti et al. 2022 (arXiv 2205.05198, Figure 1). Nothing is fitted. *States*:"
    yield "model states, 18 bytes a parameter, averaged over the stages. *Activations*: of the first stage, without"
    yield "recomputation. *Selective*: the same with selective recomputation and sequence parallelism. With one stage"
    yield "logits are left out, as in the paper.\n"
    yield "| model | states | published | error | activations | published | error | selective | published | error |"
    yield "|---|" + "--:|" * 9
    with TABLE.open(newline="") as stream:
        for row in csv.DictReader(stream):
            found = states(row["model"]), activations(row["model"]), activations(row["model"], **SELECTIVE)
            said = (float(row[name]) for name in ("param_opt_GiB", "act_none_GiB", "act_seqsel_GiB"))
            cells = (f"{a:.2f} | {b:.2f} | {100 * (a / b - 1):+.1f} %" for a, b in zip(found, said, strict=True))
            yield f"| {row['model']} | " + " | ".join(cells) + " |"
    yield ""


def states(case: str) -> float:
    """Weights, gradients and optimizer states, averaged over stages [GiB]."""
    design, program = _job(case)
    memory = [stage_memory(design, program, stage) for stage in range(program.stages)]
    return sum(m.weights + m.gradients + m.optimizer for m in memory) / len(memory) / GIB


def activations(case: str, **saving: Any) -> float:
    """Activations of the first stage [GiB]."""
    design, program = _job(case, **saving)
    kept = stage_memory(design, program, 0).activations
    if program.stages == 1:
        kept = program.parts[0].activations - _logits(design)
    return kept / GIB


def _job(case: str, **saving: Any) -> tuple[Design, Program]:
    name, tensor, pipeline, interleave, microbatch, batch = JOBS[case]
    degrees = {"tensor": tensor, "pipeline": pipeline, "interleave": interleave, "microbatch": microbatch, "data": 1}
    unfused = {"flash_attention": False, "cross_entropy_fusion": False}  # as it was published
    design = design_from(
        {
            "workload": {"model": name, "global_batch": batch, "gradient_precision": "fp32"},
            "parallelism": {**degrees, **unfused, **saving},
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": tensor * pipeline},
        }
    )
    return design, transformer_program(design)


def _logits(design: Design) -> float:
    """What the last stage keeps beside its layers [B]."""
    document = design.document()
    model = design.workload.model.model_dump(mode="json", exclude_defaults=True)  # type: ignore[union-attr]
    workload = document.pop("workload")
    one, two = (
        transformer_program(design_from({**document, "workload": {**workload, "model": {**model, "layers": count}}}))
        for count in (1, 2)
    )
    return 2 * one.parts[0].activations - two.parts[0].activations
