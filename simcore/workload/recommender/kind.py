"""Training a recommendation model: a kind of workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.document.problem import Problem
from simcore.program import Program
from simcore.workload.base import READ, Totals, WorkloadKind
from simcore.workload.recommender.document import RecommenderWorkload
from simcore.workload.recommender.program import ROW_STATE, recommender_flops, recommender_program
from simcore.workload.rules import batch_problems, precision_problems, unused_problems
from simcore.workload.servers import server_problems
from simcore.workload.sharding import sharding_problems

_UNUSED = (
    "tensor",
    "pipeline",
    "context",
    "expert",
    "expert_tensor",
    "interleave",
    "recompute",
    "sequence_parallel",
    "attention_split",
)


class RecommenderTraining(WorkloadKind):
    """Training of a recommendation model, whose embedding tables are spread over all NPUs."""

    section = RecommenderWorkload
    exact = True
    uneven = "uneven tables: all have as many lookups here, and in training all wait for the NPU of the hottest"
    catalogue = "recommenders"
    feeding = READ
    same_group = {"expert": "data"}  # noqa: RUF012
    jobs_by = "programs"

    def describes(self, model: Mapping[str, Any]) -> bool:
        """See `WorkloadForm.describes`."""
        return "tables" in model

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        yield from batch_problems(design)
        yield from sharding_problems(design)
        yield from unused_problems(design, _UNUSED)
        yield from server_problems(design)
        yield from precision_problems(design)

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        return recommender_program(design)

    def totals(self, workload: Any) -> Totals:
        """See `WorkloadKind.totals`; `parameters` are those of the MLPs."""
        parameters = float(workload.model.dense_parameters)
        beside = float(workload.model.rows) * (workload.model.embedding * BYTES[workload.precision] + ROW_STATE)
        return Totals(recommender_flops(workload), workload.global_batch, parameters, kept_beside=beside)


KIND = RecommenderTraining()
