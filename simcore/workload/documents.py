"""How a document spells a workload that is neither a transformer's training nor a single collective: one file each."""

from simcore.workload.layer_table.document import Layer, LayerTable, LayerWorkload
from simcore.workload.recommender.document import Recommender, RecommenderWorkload
from simcore.workload.serving.document import InferenceWorkload
from simcore.workload.tag import TAGS, workload_kind

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
