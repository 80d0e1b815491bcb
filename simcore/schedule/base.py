"""A pipeline schedule: in which order a stage does its forward and backward blocks, and how many it keeps in flight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNK_SHIFT = 12
"""Bits of a block's code that hold its chunk."""


WEIGHTS = 1 << CHUNK_SHIFT - 1
"""Bit of a block's chunk that says that it computes weight gradients alone (direction 1): it needs no input and sends
nothing."""


class Steady(NamedTuple):
    """The steady phase of a schedule, in microbatches.

    Between the first `warm` and the last `cool` ones the order of blocks repeats every `period`, and a block depends on
    none that lies more than `reach` before it. So if all blocks of `reach` microbatches end the same time after those
    one period earlier, all later ones of the phase do.
    """

    period: int
    warm: int
    reach: int
    cool: int


class PipelineSchedule(ABC):
    """A way to order the blocks of `microbatches` microbatches on `stages` stages of `chunks` model chunks each."""

    @abstractmethod
    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """Blocks of every stage in order, `[stages, 2 x microbatches x chunks]` (with `WEIGHTS`: 3 x).

        A block is coded as (microbatch << CHUNK_SHIFT | chunk) << 1 | direction, direction 0 forward and 1 backward.
        Where a schedule `splits` the backward pass, chunks with the bit `WEIGHTS` are blocks of weight gradients.
        """

    @abstractmethod
    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """Most forward blocks of each chunk whose backward is still to come, on `stage`, all at the same time."""

    @property
    @abstractmethod
    def splits(self) -> bool:
        """Whether backward blocks compute input gradients alone, and weight gradients come in blocks of their own."""

    @abstractmethod
    def steady(self, stages: int, chunks: int) -> Steady | None:
        """The steady phase; None where the schedule has none."""
