"""Recommenders: an embedding that is spread over all NPUs, and MLPs that are replicated."""

from __future__ import annotations

from simcore.astra.files.system import Collective
from simcore.astra.loops.base import FORWARD, INPUT_GRAD, STEP_NS, WEIGHT_GRAD, Loop, LoopTarget, Preference
from simcore.astra.loops.data_parallel import OverWeights


class Dlrm(OverWeights):
    """The embedding's all-to-alls overlap with the bottom MLP."""

    has_bottom = True
    waits_backward = True
    """Whether a layer waits for the collective of its input gradients."""

    def play(self, target: LoopTarget) -> Loop:
        """See `TrainingLoop.play`."""
        for _ in range(target.passes):
            yield from self._run_forward(target)
            yield from self._run_backward(target)

    def _run_forward(self, target: LoopTarget) -> Loop:
        workload = target.workload
        for layer in range(len(workload.layers)):
            yield from target.wait_for(layer, WEIGHT_GRAD)
            yield from target.compute(layer, FORWARD)
            if workload.layers[layer].forward.kind is Collective.ALL_TO_ALL:
                target.issue(layer, FORWARD, Preference.HIGHEST)
            elif layer == workload.last_bottom:
                yield from target.wait_for(0, FORWARD)
            yield STEP_NS

    def _run_backward(self, target: LoopTarget) -> Loop:
        workload = target.workload
        for layer in reversed(range(len(workload.layers))):
            yield from target.compute(layer, WEIGHT_GRAD)
            target.issue(layer, WEIGHT_GRAD, Preference.POLICY)
            if self.waits_backward:
                yield from target.wait_for(layer, INPUT_GRAD)
            yield STEP_NS
            if layer > 0:
                yield from target.compute(layer, INPUT_GRAD)
                if layer == workload.last_bottom + 1:
                    target.issue(0, INPUT_GRAD, Preference.HIGHEST)
                yield STEP_NS


class EnhancedDlrm(Dlrm):
    """The backward pass never waits for the embedding's gradients."""

    waits_backward = False
