"""A text workload of ASTRA-sim 1.0, as it was read: a training loop by name, and its layers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simcore.astra.files.system import Collective


@dataclass(frozen=True)
class LayerPart:
    """One of a layer's three parts: compute time [ns], then a collective of `size` [B], if any."""

    compute: int
    kind: Collective | None
    size: int


@dataclass(frozen=True)
class TextLayer:
    """A layer; `update` [ns] follows each of its collectives, `loop` decides which dimensions they span."""

    name: str
    forward: LayerPart
    input_grad: LayerPart
    weight_grad: LayerPart
    update: int
    loop: str


@dataclass(frozen=True)
class TextWorkload:
    """A training loop and its layers.

    `group` is the number of model-parallel NPUs (transformer loops), `last_bottom` the last layer of the
    bottom MLP (DLRM). Backward passes re-run the forward pass from the last of `checkpoints` when they reach
    a layer in `restarts`. `tutorial` selects the rules of the tutorials' edition over the release's.
    """

    path: Path
    loop: str
    layers: tuple[TextLayer, ...]
    group: int = 1
    last_bottom: int = -1
    checkpoints: frozenset[int] = frozenset()
    restarts: frozenset[int] = frozenset()
    tutorial: bool = False
