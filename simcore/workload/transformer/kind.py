"""Training a transformer: a kind of workload."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simcore.design.design import Design
from simcore.design.once import once_for
from simcore.design.same import Same
from simcore.document.problem import Problem
from simcore.program import Operator, Program
from simcore.workload.base import LayersAlone, Repeated, Totals, WorkloadKind
from simcore.workload.transformer.check import transformer_problems
from simcore.workload.transformer.counts import forward_flops, further_parameters, model_parameters
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.first_stage import first_stage_of
from simcore.workload.transformer.huggingface.read import read_configuration
from simcore.workload.transformer.known_layers import Layers
from simcore.workload.transformer.layer import LayerKind
from simcore.workload.transformer.program import shapes_of, transformer_program
from simcore.workload.transformer.repeats import layers_repeated, with_layers
from simcore.workload.transformer.stages import open_kinds, stage_runs
from simcore.workload.transformer.ways import ways_of


def _asked(design: Design) -> Hashable | None:
    """What the rules of most jobs look at; None of others, which also look at what is around the NPUs."""
    cluster = design.cluster
    if design.jobs is not None or cluster.memory is not None or cluster.stragglers:
        return None
    job = design.workload, design.parallelism, design.data, design.microbatch
    return *job, Same(design.software), Same(cluster.npu), cluster.npus, cluster.placement


@once_for(_asked, 4096)
def _problems(design: Design) -> tuple[Problem, ...]:
    """Every problem of a job; a search asks for the same ones on many networks."""
    return tuple(transformer_problems(design))


class TransformerTraining(WorkloadKind):
    """Training of a transformer."""

    section = TransformerWorkload
    catalogue = "models"
    jobs_by = "layers"
    exact = True

    def model_from(self, file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
        """See `WorkloadForm.model_from`: a Hugging Face configuration."""
        read = read_configuration(file)
        return read.shape, read.not_modelled

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        yield from _problems(design)

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        return transformer_program(design)

    def inner_groups(self, design: Design) -> Mapping[str, tuple[str, int]]:
        """See `WorkloadKind.inner_groups`: neighbours of a tensor group may share heads."""
        sharing = design.parallelism.query_npus(TransformerWorkload.of(design.workload).model.heads)
        return {"query": ("tensor", sharing)} if sharing > 1 else {}

    def totals(self, workload: Any) -> Totals:
        """See `WorkloadKind.totals`: designs differ in whether attention skips the masked half of the scores."""
        tokens = workload.global_batch * workload.sequence
        least, most = 3 * forward_flops(workload, flash=True), 3 * forward_flops(workload)
        parameters = model_parameters(workload.model) + further_parameters(workload.model)
        return Totals(least, tokens, float(parameters), most)

    def layers(self, design: Design) -> LayersAlone:
        """See `WorkloadKind.layers`."""
        workload = TransformerWorkload.of(design.workload)
        model, sequence = workload.model, workload.sequence
        ways, p = ways_of(design, shapes_of(design)), design.parallelism
        known = ways[None].layers
        if p.solves:
            plain = {kind for listed in open_kinds(model, p, sequence) for kind in listed}
            return LayersAlone(model.layers, 0, tuple((known, kind) for kind in sorted(plain, key=repr)), _operators)
        runs = dict.fromkeys(stage_runs(model, p, sequence))
        kinds = dict.fromkeys((ways[kind.degrees].layers, kind) for run in runs for kind, _ in run)
        fewest = min(sum(count for _, count in run) for run in runs)
        return LayersAlone(model.layers, fewest, tuple(kinds), _operators)

    def first_stage(self, design: Design) -> Program | None:
        """See `WorkloadKind.first_stage`."""
        return None if design.parallelism.solves else first_stage_of(design)

    def repeated(self, design: Design) -> dict[str, Repeated]:
        """See `WorkloadKind.repeated`: also layers."""
        model = TransformerWorkload.of(design.workload).model
        return {**super().repeated(design), "layers": layers_repeated(model, design.parallelism)}

    def reductions(self, design: Design) -> tuple[tuple[str, int], ...]:
        """See `WorkloadKind.reductions`."""
        return with_layers(super().reductions(design), design.parallelism)


def _operators(layer: tuple[Layers, LayerKind]) -> tuple[Operator, ...]:
    known, kind = layer
    return (*known[kind].forward, *known[kind].backward)


KIND = TransformerTraining()
