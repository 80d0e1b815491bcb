"""ASTRA-sim 1.0's training loops, as generators of delays.

A loop computes, issues collectives and waits through a `Trainer`, and yields the nanoseconds (or the wait)
before it goes on. Every change of state takes one nanosecond. Weight-gradient collectives run in the
background; the next pass waits for them layer by layer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from enum import Enum
from typing import Protocol

from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.system import Collective
from simcore.astra.files.text_workload import TextLayer, TextWorkload

STEP_NS = 1
"""Time of a change of state [ns]."""


class PartKind(Enum):
    """The three parts of a layer."""

    FORWARD = "fwd"
    INPUT_GRAD = "input_grad"
    WEIGHT_GRAD = "weight_grad"


class Preference(Enum):
    """How a loop wants a collective to be queued."""

    POLICY = 0
    OLDEST_FIRST = 1
    NEWEST_FIRST = 2
    HIGHEST = 3


FORWARD, INPUT_GRAD, WEIGHT_GRAD = PartKind.FORWARD, PartKind.INPUT_GRAD, PartKind.WEIGHT_GRAD

Loop = Iterator[int]
"""Yields delays [ns]; a delay of -1 waits to be woken."""


class LoopTarget(Protocol):
    """What a loop drives."""

    workload: TextWorkload
    passes: int

    def compute(self, layer: int, part: PartKind) -> Loop:
        """Compute a part of a layer."""

    def issue(self, layer: int, part: PartKind, preference: Preference) -> None:
        """Start a part's collective in the background."""

    def issue_and_wait(self, layer: int, part: PartKind, preference: Preference) -> Loop:
        """Start a part's collective and wait for it."""

    def wait_for(self, layer: int, part: PartKind) -> Loop:
        """Wait until a part has no collective under way."""


def micro_benchmark(trainer: LoopTarget) -> Loop:
    """Issue the first layer's weight-gradient collective once a pass, all at once."""
    for _ in range(trainer.passes):
        trainer.issue(0, WEIGHT_GRAD, Preference.POLICY)
    yield from ()


def data_parallel(trainer: LoopTarget) -> Loop:
    """Weight gradients, each layer's collective in the background, then input gradients."""
    layers = range(len(trainer.workload.layers))
    for _ in range(trainer.passes):
        for layer in layers:
            yield from trainer.wait_for(layer, WEIGHT_GRAD)
            yield from trainer.compute(layer, FORWARD)
            yield STEP_NS
        for layer in reversed(layers):
            yield from trainer.compute(layer, WEIGHT_GRAD)
            trainer.issue(layer, WEIGHT_GRAD, Preference.POLICY)
            yield STEP_NS
            if layer > 0:
                yield from trainer.compute(layer, INPUT_GRAD)
                yield STEP_NS


def distributed_inference(trainer: LoopTarget) -> Loop:
    """Forward passes with a blocking collective after each layer."""
    for _ in range(trainer.passes):
        for layer in range(len(trainer.workload.layers)):
            yield from _run_forward(trainer, layer)


def hybrid_parallel(trainer: LoopTarget) -> Loop:
    """Blocking forward collectives; input gradients overlap with the weight gradient of their layer."""
    model_only = trainer.workload.loop == "MODEL"
    layers = range(len(trainer.workload.layers))
    for _ in range(trainer.passes):
        for layer in layers:
            yield from _run_forward(trainer, layer)
        for layer in reversed(layers):
            yield from trainer.compute(layer, INPUT_GRAD)
            if layer > 0:
                trainer.issue(layer, INPUT_GRAD, Preference.NEWEST_FIRST)
            yield STEP_NS
            yield from _run_weight_grad(trainer, layer, issues=not model_only)


def transformer(trainer: LoopTarget) -> Loop:
    """With checkpoints, parts of the forward pass are run again.

    Input-gradient collectives block in the tutorials; the release lets the weight gradient overlap.
    """
    workload = trainer.workload
    for _ in range(trainer.passes):
        for layer in range(len(workload.layers)):
            yield from _run_forward(trainer, layer)
        layer = len(workload.layers) - 1
        while layer >= 0:
            if layer in workload.restarts:
                layer = yield from _rerun_forward(trainer, layer)
            yield from trainer.compute(layer, INPUT_GRAD)
            if workload.tutorial:
                yield from trainer.issue_and_wait(layer, INPUT_GRAD, Preference.NEWEST_FIRST)
            else:
                trainer.issue(layer, INPUT_GRAD, Preference.NEWEST_FIRST)
            yield STEP_NS
            yield from _run_weight_grad(trainer, layer, issues=True)
            layer -= 1


def dlrm(trainer: LoopTarget) -> Loop:
    """The embedding's all-to-alls overlap with the bottom MLP; HYBRID_DLRM_ENHANCED never waits for them."""
    workload = trainer.workload
    layers = range(len(workload.layers))
    for _ in range(trainer.passes):
        for layer in layers:
            yield from trainer.wait_for(layer, WEIGHT_GRAD)
            yield from trainer.compute(layer, FORWARD)
            if workload.layers[layer].forward.kind is Collective.ALL_TO_ALL:
                trainer.issue(layer, FORWARD, Preference.HIGHEST)
            elif layer == workload.last_bottom:
                yield from trainer.wait_for(0, FORWARD)
            yield STEP_NS
        for layer in reversed(layers):
            yield from trainer.compute(layer, WEIGHT_GRAD)
            trainer.issue(layer, WEIGHT_GRAD, Preference.POLICY)
            if workload.loop == "HYBRID_DLRM":
                yield from trainer.wait_for(layer, INPUT_GRAD)
            yield STEP_NS
            if layer > 0:
                yield from trainer.compute(layer, INPUT_GRAD)
                if layer == workload.last_bottom + 1:
                    trainer.issue(0, INPUT_GRAD, Preference.HIGHEST)
                yield STEP_NS


def _run_forward(trainer: LoopTarget, layer: int) -> Loop:
    yield from trainer.wait_for(layer, WEIGHT_GRAD)
    yield from trainer.compute(layer, FORWARD)
    yield from trainer.issue_and_wait(layer, FORWARD, Preference.POLICY)
    yield STEP_NS


def _rerun_forward(trainer: LoopTarget, layer: int) -> Generator[int, None, int]:
    """Run forward from the checkpoint at or below `layer` up to the next layer that restarts; return that."""
    workload = trainer.workload
    layer = max(point for point in workload.checkpoints if point <= layer)
    yield STEP_NS
    while True:
        yield from _run_forward(trainer, layer)
        layer += 1
        if layer in workload.restarts:
            return layer
        if layer == len(workload.layers):
            raise AstraInputError(f"{workload.path}: checkpoint_initiates: expected layers above their checkpoint")


def _run_weight_grad(trainer: LoopTarget, layer: int, issues: bool) -> Loop:
    yield from trainer.compute(layer, WEIGHT_GRAD)
    if issues:
        trainer.issue(layer, WEIGHT_GRAD, Preference.OLDEST_FIRST)
    yield from trainer.wait_for(layer, INPUT_GRAD)
    yield STEP_NS


TRAINING_LOOPS: dict[str, Callable[[LoopTarget], Loop]] = {
    "MICRO": micro_benchmark,
    "DATA": data_parallel,
    "MODEL": hybrid_parallel,
    "HYBRID_DATA_MODEL": hybrid_parallel,
    "HYBRID_MODEL_DATA": hybrid_parallel,
    "HYBRID_CUSTOMIZED": hybrid_parallel,
    "HYBRID_TRANSFORMER": transformer,
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD": transformer,
    "HYBRID_DLRM": dlrm,
    "HYBRID_DLRM_ENHANCED": dlrm,
    "DISTRIBUTED_INFERENCE": distributed_inference,
}


def logical_sizes(workload: TextWorkload, sizes: tuple[int, ...], boost: bool) -> tuple[tuple[int, ...], int]:
    """Return the logical dimensions, and how many of the lowest are model-parallel (transformer loops).

    A model-parallel group takes the lowest dimensions until their product reaches it; the last of them is
    broken in two where it is too large, rounding down. NPUs that then are in no whole group make ASTRA-sim abort,
    but for its `boost` mode, which plays only the NPUs that stand for all.

    Raises
    ------
    AstraInputError
        If NPUs are left over without `boost`.
    """
    if not workload.loop.startswith("HYBRID_TRANSFORMER") or workload.group == 1:
        return sizes, 0
    product = 1
    for index, size in enumerate(sizes):
        if product * size >= workload.group:
            inner = workload.group // product
            if size % inner and not boost:
                raise AstraInputError(
                    f"{workload.path}: model_parallel_NPU_group: expected a group that breaks dimension {index} "
                    f"evenly, got {workload.group}, parts of {inner} of its {size} NPUs; "
                    "ASTRA-sim aborts, but not with boost-mode: 1"
                )
            broken = (inner,) if inner == size else (inner, size // inner)
            return sizes[:index] + broken + sizes[index + 1 :], index + 1
        product *= size
    return sizes, 0


def involved_dimensions(layer: TextLayer, part: PartKind, count: int, model: int) -> tuple[bool, ...]:
    """Return which of `count` logical dimensions a collective spans; the lowest `model` are model-parallel."""
    weight = part is WEIGHT_GRAD
    if layer.loop == "ALL":
        return (True,) * count
    if layer.loop in ("DATA", "MICRO", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED"):
        return (weight,) * count
    if layer.loop in ("MODEL", "DISTRIBUTED_INFERENCE"):
        return (not weight,) * count
    if layer.loop == "HYBRID_MODEL_DATA":
        return (weight,) + (not weight,) * (count - 1)
    if layer.loop == "HYBRID_DATA_MODEL":
        return (not weight,) + (weight,) * (count - 1)
    return (not weight,) * model + (weight,) * (count - model)
