"""ASTRA-sim 1.0's text workloads: a training loop's name, then one line a layer.

A line holds the layer's name, a reserved number, and for forward pass, input gradient and weight gradient
each a compute time, a collective and its size; then the time of the update after each collective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcore.astra.files.documents import read_text
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.system import Collective
from simcore.astra.loops import LOOPS
from simcore.astra.loops.dimensions import EVERYWHERE
from simcore.astra.loops.workload import LayerPart, TextLayer, TextWorkload

MAX_FIGURE = 1e15
"""Bound on times [ns] and sizes [B]: below it, doubles are exact."""

_COLLECTIVES: dict[str, Collective | None] = {
    "NONE": None,
    "ALLREDUCE": Collective.ALL_REDUCE,
    "ALLTOALL": Collective.ALL_TO_ALL,
    "ALLGATHER": Collective.ALL_GATHER,
    "REDUCESCATTER": Collective.REDUCE_SCATTER,
}


def load_text_workload(
    path: Path, compute_scale: float = 1.0, comm_scale: float = 1.0, tutorial: bool = False
) -> TextWorkload:
    """Read a text workload and scale it.

    The tutorials' edition multiplies in single precision, the release in double; both cut to whole numbers.

    Raises
    ------
    AstraInputError
        If a word is missing or of the wrong kind.
    """
    words = _Words(path, read_text(path).split())
    name = words.take_choice(tuple(LOOPS), "a training loop")
    loop = LOOPS[name]
    group, last_bottom, checkpoints, restarts = 1, -1, frozenset[int](), frozenset[int]()
    if loop.has_group:
        words.take("model_parallel_NPU_group:")
        group = words.take_integer(minimum=1)
    if loop.has_checkpoints:
        words.take("checkpoints:")
        checkpoints = frozenset(words.take_integer() for _ in range(words.take_integer()))
        words.take("checkpoint_initiates:")
        restarts = frozenset(words.take_integer() for _ in range(words.take_integer()))
    if loop.has_bottom:
        last_bottom = words.take_integer()
    count = words.take_integer(minimum=1)
    scales = _Scale(compute_scale, tutorial), _Scale(comm_scale, tutorial)
    layers = tuple(_layer(words, name, place, *scales) for place in range(count))
    if any(layer >= count for layer in checkpoints | restarts):
        raise AstraInputError(f"{path}: checkpoints: expected layers below {count}")
    if restarts and min(restarts) < min(checkpoints, default=count):
        raise AstraInputError(f"{path}: checkpoint_initiates: layer {min(restarts)} has no checkpoint before it")
    return TextWorkload(path, name, layers, group, last_bottom, checkpoints, restarts, tutorial)


@dataclass(frozen=True)
class _Scale:
    factor: float
    single_precision: bool

    def apply(self, value: int) -> int:
        """Return a scaled figure."""
        scaled = float(np.float32(value) * np.float32(self.factor)) if self.single_precision else value * self.factor
        if not 0 <= scaled < MAX_FIGURE:
            raise AstraInputError(f"scaled figure: expected 0 to {MAX_FIGURE:g}, got {value} times {self.factor}")
        return int(scaled)


def _layer(words: _Words, loop: str, place: int, compute_scale: _Scale, comm_scale: _Scale) -> TextLayer:
    name = words.take("a layer name")
    words.take("a reserved number")
    parts = []
    for _ in range(3):
        compute = compute_scale.apply(words.take_integer())
        word = words.take("a collective or NONE")
        if word == "ALLREDUCEALLTOALL":
            raise AstraInputError(f"{words.path}: layer {name}: ALLREDUCEALLTOALL: ASTRA-sim leaves on it; split it")
        if word not in _COLLECTIVES:
            known = ", ".join(_COLLECTIVES)
            fix = "ASTRA-sim takes it for NONE" if word.isalpha() else "is a figure missing before it?"
            raise AstraInputError(f"{words.path}: layer {name}: expected one of {known}, got {word[:40]!r}; {fix}")
        parts.append(LayerPart(compute, _COLLECTIVES[word], comm_scale.apply(words.take_integer())))
    update = words.take_integer()
    if LOOPS[loop].has_layer_loops:
        loop = words.take_choice(tuple(LOOPS), "a loop for the layer")
    elif LOOPS[loop].has_bottom and place == 0:
        loop = EVERYWHERE
    return TextLayer(name, parts[0], parts[1], parts[2], update, loop)


class _Words:
    """The words of a file, taken one by one."""

    def __init__(self, path: Path, words: list[str]) -> None:
        self.path = path
        self._words: Iterator[str] = iter(words)

    def take(self, what: str) -> str:
        """Return the next word."""
        word = next(self._words, None)
        if word is None:
            raise AstraInputError(f"{self.path}: expected {what}, got the end of the file; is a line missing?")
        return word

    def take_choice(self, allowed: tuple[str, ...], what: str) -> str:
        """Return the next word, one of the allowed."""
        word = self.take(what)
        if word not in allowed:
            raise AstraInputError(f"{self.path}: expected {what} of {', '.join(allowed)}, got {word!r}")
        return word

    def take_integer(self, minimum: int = 0) -> int:
        """Return the next word as an integer."""
        word = self.take("a whole number")
        if not word.isdecimal() or len(word) > 15 or int(word) < minimum:
            raise AstraInputError(f"{self.path}: expected a whole number of at least {minimum}, got {word!r}")
        return int(word)
