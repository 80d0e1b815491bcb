"""What must happen: one file per kind of workload, each giving a Program."""

from simcore.design import Design
from simcore.program import Program
from simcore.workload.base import Totals, WorkloadKind
from simcore.workload.inference import InferenceKind
from simcore.workload.network import LayerKind
from simcore.workload.recommender import RecommenderKind
from simcore.workload.transformer import transformer_program
from simcore.workload_spec import InferenceWorkload, LayerWorkload, RecommenderWorkload

KINDS: dict[type, WorkloadKind] = {
    LayerWorkload: LayerKind(),
    RecommenderWorkload: RecommenderKind(),
    InferenceWorkload: InferenceKind(),
}
"""The kinds, by the class of their document form; a transformer's training is `transformer_program`."""


def workload_program(design: Design) -> Program:
    """What a checked design does where memory is no matter (see `simcore.plan`); a single collective has no Program."""
    kind = KINDS.get(type(design.workload))
    return transformer_program(design) if kind is None else kind.program(design)


__all__ = ["KINDS", "Totals", "WorkloadKind", "transformer_program", "workload_program"]
