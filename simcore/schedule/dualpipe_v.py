"""DualPipeV: the half of DualPipe that is left when its two directions are one V (two chunks a stage).

DualPipe (DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.1) sends microbatches into the pipeline from both ends, for
which every stage holds two chunks of the model, so all parameters are there twice. Cut in the middle and folded, it is
one pipeline of half as many stages without copies, with the same order of blocks (Qi et al. 2025, DualPipe could be
better without the dual; DeepSeek's repository has both). In its steady phase forward blocks of one chunk alternate with
backward blocks of the other. Weight gradients follow their input gradients at once but near the ends, where they fill
bubbles.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.schedule.base import CHUNK_SHIFT, WEIGHTS, PipelineSchedule, Steady


class _Stage:
    """Writes the blocks of a stage: each next block of its kind."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self._forwards, self._backwards = [0, 0], [0, 0]
        self._waiting: list[int] = []

    def forward(self, chunk: int) -> None:
        """The next forward of a chunk."""
        self.blocks.append((self._forwards[chunk] << CHUNK_SHIFT | chunk) << 1)
        self._forwards[chunk] += 1

    def backward(self, chunk: int, whole: bool = True) -> None:
        """The next input gradients of a chunk, and their weight gradients unless these wait."""
        microbatch = self._backwards[chunk]
        self._backwards[chunk] += 1
        self.blocks.append((microbatch << CHUNK_SHIFT | chunk) << 1 | 1)
        self._waiting.append((microbatch << CHUNK_SHIFT | chunk | WEIGHTS) << 1 | 1)
        if whole:
            self.blocks.append(self._waiting.pop())

    def weights(self) -> None:
        """The weight gradients that have waited longest."""
        self.blocks.append(self._waiting.pop(0))


def _blocks(stage: int, stages: int, microbatches: int) -> list[int]:
    its, after = _Stage(), stages - stage - 1
    for _ in range(2 * after):
        its.forward(0)
    for _ in range(stage + 1):
        its.forward(0)
        its.forward(1)
    for _ in range(after):
        its.backward(1, whole=False)
        its.weights()
        its.forward(1)
    for _ in range(microbatches - 2 * stages + stage + 1):
        its.forward(0)
        its.backward(1)
        its.forward(1)
        its.backward(0)
    for _ in range(after):
        its.backward(1)
        its.forward(1)
        its.backward(0)
    for i in range(stage + 1):  # in the second half weight gradients wait
        half = (stage + 1) // 2
        its.backward(1, whole=i < half or (i == half and stage % 2 == 0))
        its.backward(0, whole=i < half)
    for _ in range(after):
        its.weights()
        its.backward(0, whole=False)
    for _ in range(stage + 1):
        its.weights()
    return its.blocks


@lru_cache(maxsize=16)
def _order(stages: int, microbatches: int) -> NDArray[np.int64]:
    order = np.array([_blocks(stage, stages, microbatches) for stage in range(stages)], np.int64)
    order.flags.writeable = False
    return order


class DualPipeV(PipelineSchedule):
    """Keeps up to 2 p + 1 chunks, that is what 1F1B keeps and half a microbatch; needs 2 p microbatches."""

    splits = True
    interleaves = True
    folds = True
    chunks = 2

    def least(self, stages: int) -> int:
        """See `PipelineSchedule.least`: they fill both chunks of all stages."""
        return 2 * stages

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        return _order(stages, microbatches)

    def steady(self, stages: int, chunks: int) -> Steady:
        """One microbatch after the other, from the first main step of the last stage on."""
        return Steady(period=1, warm=2 * stages, reach=2 * stages + 1, cool=2 * stages + 1)
