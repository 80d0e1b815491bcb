"""Designs of the rows of `b200.csv`: Megatron-core with Transformer Engine, as the SimuMax project measured it.

Flash attention and the fused cross-entropy loss are on, context parallelism exchanges heads (all-to-all), experts take
their even share of the tokens (capacity factor 1), and DeepSeek models have one dense layer.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from simcore.check.load import design_from
from simcore.design.design import Design

Row = dict[str, str]

MODELS: dict[str, dict[str, Any]] = {
    "deepseekv2": {"base": "deepseek-v2"},
    "deepseekv3": {"base": "deepseek-v3", "mixture_of_experts": {"dense_layers": 1}},
}
DEGREES = ("tensor", "pipeline", "data", "context", "expert", "zero", "microbatch", "interleave")


def rows(path: Path) -> list[Row]:
    """The rows of a table of measured iterations."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measured_document(row: Row) -> dict[str, Any]:
    """The document of a row."""
    model = {**MODELS.get(row["model"], {"base": row["model"]}), "layers": int(row["layers"])}
    return {
        "workload": {
            "model": model,
            "global_batch": int(row["global_batch"]),
            "sequence_length": int(row["seq"]),
            "precision": row["precision"],
            "gradient_precision": row["gradient_precision"],
        },
        "parallelism": {
            **{name: int(row[name]) for name in DEGREES},
            "recompute": row["recompute"],
            "sequence_parallel": row["sequence_parallel"] == "true",
            "flash_attention": True,
            "cross_entropy_fusion": True,
            "context_communication": "all_to_all",
        },
        "cluster": {"npu": row["device"], "fabric": row["fabric"], "npus": int(row["npus"])},
    }


def measured_design(row: Row) -> Design:
    """The design of a row."""
    return design_from(measured_document(row))
