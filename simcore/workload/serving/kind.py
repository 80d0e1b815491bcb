"""Serving a transformer: a kind of workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.program import Program
from simcore.workload.base import Repeated, Sample, Totals, WorkloadKind
from simcore.workload.serving.check import serving_problems
from simcore.workload.serving.document import InferenceWorkload
from simcore.workload.serving.program import (
    sample_program,
    served_flops,
    served_parameters,
    served_weights,
    serving_program,
)
from simcore.workload.transformer.repeats import layers_repeated, with_layers

UNMODELLED = {
    "static": "requests that come one by one: here all of a batch begin together; `workload.batching: continuous` lets "
    "new ones in as others end",
    "continuous": "requests that wait for their turn: a first token takes its own prompt alone; a mean time between "
    "tokens has the prompts of others in it",
}
"""What is said of every served model, by its `batching`."""


class Serving(WorkloadKind):
    """Serving a transformer."""

    section = InferenceWorkload
    exact = True
    keys = frozenset({"prompt_length", "output_length"})
    catalogue = "models"
    trained = False
    jobs_by = "tokens"

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        return serving_problems(design)

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        return serving_program(design)

    def sample(self, design: Design) -> Sample | None:
        """See `WorkloadKind.sample`."""
        return sample_program(design)

    def unmodelled(self, design: Design) -> tuple[str, ...]:
        """See `WorkloadKind.unmodelled`."""
        return (UNMODELLED[InferenceWorkload.of(design.workload).batching],)

    def totals(self, workload: Any) -> Totals:
        """See `WorkloadKind.totals`."""
        made = workload.global_batch * workload.output_length
        flops, parameters = served_flops(workload, flash=True), served_parameters(workload)
        return Totals(flops, made, parameters, weights=served_weights(workload))

    def repeated(self, design: Design) -> dict[str, Repeated]:
        """See `WorkloadKind.repeated`: also layers and output tokens."""
        workload = InferenceWorkload.of(design.workload)
        outputs = Repeated(workload.output_length, ("workload", "output_length"))
        layers = layers_repeated(workload.model, design.parallelism)
        return {**super().repeated(design), "layers": layers, "output tokens": outputs}

    def reductions(self, design: Design) -> tuple[tuple[str, int], ...]:
        """See `WorkloadKind.reductions`: output tokens go first, and the last of them last."""
        steps = with_layers(super().reductions(design), design.parallelism)
        return (("output tokens", 4), *steps, ("output tokens", 1))


KIND = Serving()
