"""Eager 1F1B: 1F1B that warms up with up to twice as many forwards, which keep more and wait less for messages.

Zhuang et al. 2023 (arXiv 2211.05322).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.schedule import CHUNK_SHIFT, PipelineSchedule, Steady


class Eager1F1B(PipelineSchedule):
    """2 (p - s - 1) forwards before the first backward of stage s; one model chunk a stage."""

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        return np.array([_row(2 * (stages - stage - 1), microbatches) for stage in range(stages)], np.int64)

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        return (min(2 * (stages - stage - 1) + 1, microbatches),)

    def steady(self, stages: int, chunks: int) -> Steady:
        return Steady(period=1, warm=2 * stages, reach=2 * stages + 1, cool=2 * stages + 1)


def _row(warm: int, microbatches: int) -> list[int]:
    """The blocks of a stage: `warm` forwards, then a forward (while there are any) and a backward in turn."""
    row = []
    for i in range(microbatches + warm):
        if i < microbatches:
            row.append(i << CHUNK_SHIFT << 1)
        if 0 <= i - warm < microbatches:
            row.append(i - warm << CHUNK_SHIFT << 1 | 1)
    return row


EAGER = Eager1F1B()
