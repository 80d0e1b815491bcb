"""What the layers of the first pipeline stage hold, known before there is a Program: less than the fullest stage does.

Embeddings, heads and transient buffers are left out, and so are all operators. A search asks it of jobs that are far
too large for their NPUs, which are many.
"""

from __future__ import annotations

from functools import lru_cache

from simcore.design.design import Design
from simcore.program import ModelPart, Program
from simcore.schedule import SCHEDULES
from simcore.workload.data_parallel import Amount
from simcore.workload.transformer.program import Alike, PartBuilder, alike_of, shapes_of
from simcore.workload.transformer.stages import Runs, stage_runs


def first_stage_of(design: Design) -> Program:
    """The Program of a checked design whose stages are not to be solved, as far as its first stage holds layers."""
    p, parts = design.parallelism, _parts(alike_of(design))
    return Program(
        parts=parts,
        part_of=tuple(place // p.pipeline for place in range(p.pipeline * p.interleave)),
        stages=p.pipeline,
        chunks=p.interleave,
        microbatches=design.microbatches,
        schedule=p.schedule,
        send_bytes=0.0,
        final=(),
        model_flops=0.0,
        tokens=0,
    )


@lru_cache(maxsize=512)
def _parts(alike: Alike) -> tuple[ModelPart, ...]:
    """The first stage's chunks."""
    p, workload = alike.parallelism, alike.workload
    design = alike.design.model_copy(update={"workload": workload})
    builder = PartBuilder(design, shapes_of(design))
    runs = stage_runs(workload.model, p, workload.sequence)
    path = SCHEDULES[p.schedule].path(p.pipeline, p.interleave).tolist()
    own = sorted((place, number) for number, place in enumerate(path) if place % p.pipeline == 0)
    return tuple(_part(builder, runs[number]) for _, number in own)


def _part(builder: PartBuilder, runs: Runs) -> ModelPart:
    held = Amount.sum_of(builder.held(kind).times(count) for kind, count in runs)
    return ModelPart(
        forward=(),
        backward=(),
        last_backward=(),
        parameters=held.total,
        activations=builder.kept(runs),
        working=0.0,
        expert_parameters=held.experts,
        apart=builder.data.shards_apart(held),
        most_kept=0.0,
    )
