"""A training loop for text workloads: after the backward pass gradients are reduced, one layer after the other."""

from simcore.astra.loops.base import (
    FORWARD,
    INPUT_GRAD,
    WEIGHT_GRAD,
    Loop,
    LoopTarget,
    PartKind,
    Preference,
    TrainingLoop,
)


class Unoverlapped(TrainingLoop):
    """Data parallelism without overlap: against DATA it says what overlap is worth."""

    def play(self, target: LoopTarget) -> Loop:
        layers = range(len(target.workload.layers))
        for _ in range(target.passes):
            for layer in layers:
                yield from target.compute(layer, FORWARD)
            for layer in reversed(layers):
                yield from target.compute(layer, WEIGHT_GRAD)
                yield from target.compute(layer, INPUT_GRAD)
            for layer in reversed(layers):
                yield from target.issue_and_wait(layer, WEIGHT_GRAD, Preference.POLICY)

    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        return (part is WEIGHT_GRAD,) * dimensions


UNOVERLAPPED = Unoverlapped()
