"""Layers that model-parallel NPUs share."""

from __future__ import annotations

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


class HybridParallel(TrainingLoop):
    """Blocking forward collectives; input gradients overlap with the weight gradient of their layer.

    Model parallelism has the first dimension, and data parallelism the rest.
    """

    reduces_weights = True
    """Whether replicas have weight gradients to reduce."""

    def play(self, target: LoopTarget) -> Loop:
        """See `TrainingLoop.play`."""
        layers = range(len(target.workload.layers))
        for _ in range(target.passes):
            for layer in layers:
                yield from run_forward(target, layer)
            for layer in reversed(layers):
                yield from target.compute(layer, INPUT_GRAD)
                if layer > 0:
                    target.issue(layer, INPUT_GRAD, Preference.NEWEST_FIRST)
                yield STEP_NS
                yield from run_weight_grad(target, layer, self.reduces_weights)

    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        """See `TrainingLoop.spans`."""
        weight = part is WEIGHT_GRAD
        return (not weight,) + (weight,) * (dimensions - 1)


class ModelWithinData(HybridParallel):
    """Data parallelism has the first dimension, and model parallelism the rest."""

    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        """See `TrainingLoop.spans`."""
        return tuple(not spans for spans in super().spans(part, dimensions, model))


class ModelParallel(HybridParallel):
    """All NPUs share every layer."""

    reduces_weights = False

    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        """See `TrainingLoop.spans`."""
        return (part is not WEIGHT_GRAD,) * dimensions


class DistributedInference(ModelParallel):
    """Forward passes with a blocking collective after each layer."""

    def play(self, target: LoopTarget) -> Loop:
        """See `TrainingLoop.play`."""
        for _ in range(target.passes):
            for layer in range(len(target.workload.layers)):
                yield from run_forward(target, layer)


class Customized(HybridParallel):
    """Every layer names the loop whose dimensions it takes."""

    has_layer_loops = True

    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        """See `TrainingLoop.spans`: of a layer that names this loop once more, as a transformer's without a group."""
        return (part is WEIGHT_GRAD,) * dimensions
