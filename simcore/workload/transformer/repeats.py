"""Layers that repeat, as what a smaller design of a transformer has fewer of."""

from __future__ import annotations

from simcore.design.parallelism import Parallelism
from simcore.workload.base import Repeated
from simcore.workload.transformer.model import Transformer


def layers_repeated(model: Transformer, p: Parallelism) -> Repeated:
    """The layers of a model, as many on every virtual stage."""
    spelled = model.model_dump(mode="json", exclude_defaults=True)
    path, unit = ("workload", "model"), p.pipeline * p.interleave
    return Repeated(model.layers, path, unit, lambda count: {**spelled, "layers": count})


def with_layers(steps: tuple[tuple[str, int], ...], p: Parallelism) -> tuple[tuple[str, int], ...]:
    """The usual steps (`WorkloadKind.reductions`), and before each half of them fewer layers: two a stage, then one."""
    stages = p.pipeline * p.interleave
    return (("layers", 2 * stages), *steps[:3], ("layers", stages), *steps[3:])
