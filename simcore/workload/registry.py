"""What must happen: one file per kind of workload, each giving a Program."""

from simcore.design.design import Design
from simcore.program import Program
from simcore.workload.base import Totals, WorkloadKind
from simcore.workload.documents import InferenceWorkload, LayerWorkload, RecommenderWorkload
from simcore.workload.layer_table.kind import LayerKind
from simcore.workload.recommender.kind import RecommenderKind
from simcore.workload.serving.kind import InferenceKind
from simcore.workload.transformer.kind import transformer_program

KINDS: dict[type, WorkloadKind] = {
    LayerWorkload: LayerKind(),
    RecommenderWorkload: RecommenderKind(),
    InferenceWorkload: InferenceKind(),
}
"""The kinds, by the class of their document form; a transformer's training is `transformer_program`."""


def workload_program(design: Design) -> Program:
    """What a checked design does, memory apart (see `simcore.memory.plan`); a single collective has no Program."""
    kind = KINDS.get(type(design.workload))
    return transformer_program(design) if kind is None else kind.program(design)


__all__ = ["KINDS", "Totals", "WorkloadKind", "transformer_program", "workload_program"]
