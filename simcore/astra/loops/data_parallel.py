"""Replicas of the whole model."""

from __future__ import annotations

from simcore.astra.loops.base import (
    FORWARD,
    INPUT_GRAD,
    STEP_NS,
    WEIGHT_GRAD,
    Loop,
    LoopTarget,
    PartKind,
    Preference,
    TrainingLoop,
)


class OverWeights(TrainingLoop):
    """Weight gradients are reduced over all dimensions."""

    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        """See `TrainingLoop.spans`."""
        return (part is WEIGHT_GRAD,) * dimensions


class MicroBenchmark(OverWeights):
    """The first layer's weight-gradient collective once a pass, all at once."""

    def play(self, target: LoopTarget) -> Loop:
        """See `TrainingLoop.play`."""
        for _ in range(target.passes):
            target.issue(0, WEIGHT_GRAD, Preference.POLICY)
        yield from ()


class DataParallel(OverWeights):
    """Weight gradients, each layer's collective in the background, then input gradients."""

    def play(self, target: LoopTarget) -> Loop:
        """See `TrainingLoop.play`."""
        layers = range(len(target.workload.layers))
        for _ in range(target.passes):
            for layer in layers:
                yield from target.wait_for(layer, WEIGHT_GRAD)
                yield from target.compute(layer, FORWARD)
                yield STEP_NS
            for layer in reversed(layers):
                yield from target.compute(layer, WEIGHT_GRAD)
                target.issue(layer, WEIGHT_GRAD, Preference.POLICY)
                yield STEP_NS
                if layer > 0:
                    yield from target.compute(layer, INPUT_GRAD)
                    yield STEP_NS
