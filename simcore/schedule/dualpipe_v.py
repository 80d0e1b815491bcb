"""DualPipeV: the half of DualPipe that is left when its two directions are one V (two chunks a stage).

DualPipe (DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.1) sends microbatches into the pipeline from both ends, for
which every stage holds two chunks of the model, so all parameters are there twice. Cut in the middle and folded, it is
one pipeline of half as many stages without copies, with the same order of blocks (Qi et al. 2025, DualPipe could be
better without the dual; DeepSeek's repository has both). In its steady phase forward blocks of one chunk alternate with
backward blocks of the other. Weight gradients follow their input gradients at once but near the ends, where they fill
bubbles. What alternates runs two at a time: the all-to-alls of the one travel while the other computes
(`parallelism.expert_overlap`). Blocks that fill and drain the pipeline run alone, and so does the first pair of the
last stage, which shortens its bubble (`dualpipe/dualpipev.py` of DeepSeek's repository, steps 1 to 7).

DualPipe itself, over twice as many stages, is this twice: stage s of p and stage p - 1 - s hold the same two chunks,
and each does the blocks of one V, with half of the microbatches. So DualPipe of p stages and d pipelines is
`dualpipe-v` of p / 2 stages and 2 d pipelines, in time, memory, and gradients to be reduced.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.schedule.base import ALONE, CHUNK_SHIFT, WEIGHTS, PipelineSchedule, Steady


class _Stage:
    """Writes the blocks of a stage: each next block of its kind."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self._forwards, self._backwards = [0, 0], [0, 0]
        self._waiting: list[int] = []

    def forward(self, chunk: int, alone: int = ALONE) -> None:
        """The next forward of a chunk, `alone` unless that is 0."""
        self.blocks.append((self._forwards[chunk] << CHUNK_SHIFT | chunk | alone) << 1)
        self._forwards[chunk] += 1

    def backward(self, chunk: int, whole: bool = True, alone: int = ALONE) -> None:
        """The next input gradients of a chunk, `alone` unless that is 0; weight gradients too unless these wait."""
        microbatch = self._backwards[chunk]
        self._backwards[chunk] += 1
        self.blocks.append((microbatch << CHUNK_SHIFT | chunk | alone) << 1 | 1)
        self._waiting.append((microbatch << CHUNK_SHIFT | chunk | WEIGHTS) << 1 | 1)
        if whole:
            self.blocks.append(self._waiting.pop())

    def pair(self, chunk: int, alone: int = 0) -> None:
        """The next forward of a chunk beside the next backward of the other one."""
        self.forward(chunk, alone)
        self.backward(1 - chunk, alone=alone)

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
    for i in range(microbatches - 2 * stages + stage + 1):
        its.pair(0, alone=0 if i or after else ALONE)
        its.pair(1)
    for _ in range(after):
        its.backward(1)
        its.pair(1)
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
    pairs = 0  # the order has the forward block of a pair before the backward block, which has freed nothing yet

    def least(self, stages: int) -> int:
        """See `PipelineSchedule.least`: they fill both chunks of all stages."""
        return 2 * stages

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        return _order(stages, microbatches)

    def steady(self, stages: int, chunks: int) -> Steady:
        """One microbatch after the other, from the first main step of the last stage on."""
        return Steady(period=1, warm=2 * stages, reach=2 * stages + 1, cool=2 * stages + 1)
