"""Transformers: model-parallel groups on the lowest dimensions, and recomputation from checkpoints."""

from __future__ import annotations

from collections.abc import Generator

from simcore.astra.files.errors import AstraInputError
from simcore.astra.loops.base import (
    INPUT_GRAD,
    STEP_NS,
    WEIGHT_GRAD,
    Loop,
    LoopTarget,
    PartKind,
    Preference,
    TrainingLoop,
    run_forward,
    run_weight_grad,
)


class Transformer(TrainingLoop):
    """Input-gradient collectives block in the tutorials; the release lets the weight gradient overlap."""

    has_group = True

    def play(self, target: LoopTarget) -> Loop:
        """See `TrainingLoop.play`."""
        workload = target.workload
        for _ in range(target.passes):
            for layer in range(len(workload.layers)):
                yield from run_forward(target, layer)
            layer = len(workload.layers) - 1
            while layer >= 0:
                if layer in workload.restarts:
                    layer = yield from _rerun_forward(target, layer)
                yield from target.compute(layer, INPUT_GRAD)
                if workload.tutorial:
                    yield from target.issue_and_wait(layer, INPUT_GRAD, Preference.NEWEST_FIRST)
                else:
                    target.issue(layer, INPUT_GRAD, Preference.NEWEST_FIRST)
                yield STEP_NS
                yield from run_weight_grad(target, layer, issues=True)
                layer -= 1

    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        """See `TrainingLoop.spans`."""
        weight = part is WEIGHT_GRAD
        return (not weight,) * model + (weight,) * (dimensions - model)


class CheckpointedTransformer(Transformer):
    """Parts of the forward pass are run again."""

    has_checkpoints = True


def _rerun_forward(target: LoopTarget, layer: int) -> Generator[int, None, int]:
    """Run forward from the checkpoint at or below `layer` up to the next layer that restarts; return that."""
    workload = target.workload
    layer = max(point for point in workload.checkpoints if point <= layer)
    yield STEP_NS
    while True:
        yield from run_forward(target, layer)
        layer += 1
        if layer in workload.restarts:
            return layer
        if layer == len(workload.layers):
            raise AstraInputError(f"{workload.path}: checkpoint_initiates: expected layers above their checkpoint")
