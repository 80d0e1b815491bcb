"""How a document spells a workload that is neither a transformer's training nor a single collective: one file each."""

from simcore.workload_spec.inference import InferenceWorkload
from simcore.workload_spec.kind import TAGS, workload_kind
from simcore.workload_spec.recommender import Recommender, RecommenderWorkload
from simcore.workload_spec.table import Layer, LayerTable, LayerWorkload

__all__ = [
    "TAGS",
    "InferenceWorkload",
    "Layer",
    "LayerTable",
    "LayerWorkload",
    "Recommender",
    "RecommenderWorkload",
    "workload_kind",
]
