"""A training loop of ASTRA-sim 1.0: what an NPU does one after the other, and which dimensions its collectives span.

A loop computes, issues collectives and waits through a `LoopTarget`, and yields the nanoseconds (or the wait) before it
goes on. What a target's `compute`, `issue_and_wait` and `wait_for` give is yielded in turn. Every change of state takes
one nanosecond, `STEP_NS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from typing import Protocol

from simcore.astra.loops.workload import TextWorkload

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
    """What a loop drives: NPUs that simulate it, or a recorder that writes a trace."""

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


class TrainingLoop(ABC):
    """A training loop, by the name that the first word of a text workload gives."""

    has_group = False
    """The text goes on with `model_parallel_NPU_group: n`; these NPUs take the lowest dimensions."""
    has_checkpoints = False
    """Then with `checkpoints: count layer …` and `checkpoint_initiates: count layer …`."""
    has_bottom = False
    """Then with the last layer of the bottom MLP; the first layer's collectives span all dimensions."""
    has_layer_loops = False
    """Every layer's line ends with the name of a loop, whose dimensions the layer's collectives span."""

    @abstractmethod
    def play(self, target: LoopTarget) -> Loop:
        """All passes. What is still under way when it ends is waited for."""

    @abstractmethod
    def spans(self, part: PartKind, dimensions: int, model: int) -> tuple[bool, ...]:
        """Which of so many dimensions the collective of a part spans; the lowest `model` are model-parallel."""


def run_forward(target: LoopTarget, layer: int) -> Loop:
    """Compute forward once the layer's weights are there; its collective blocks."""
    yield from target.wait_for(layer, WEIGHT_GRAD)
    yield from target.compute(layer, FORWARD)
    yield from target.issue_and_wait(layer, FORWARD, Preference.POLICY)
    yield STEP_NS


def run_weight_grad(target: LoopTarget, layer: int, issues: bool) -> Loop:
    """Compute weight gradients, with their collective in the background, and wait for that of input gradients."""
    yield from target.compute(layer, WEIGHT_GRAD)
    if issues:
        target.issue(layer, WEIGHT_GRAD, Preference.OLDEST_FIRST)
    yield from target.wait_for(layer, INPUT_GRAD)
    yield STEP_NS
