"""1F1B: after a warm-up, one forward and one backward in turn; with several model chunks a stage, interleaved.

PipeDream-Flush and its interleaved form (Narayanan et al. 2021, arXiv 2104.04473, section 2.2). The interleaved form
runs the chunks in rounds of `stages` microbatches, so `stages` must divide `microbatches`. A forward block and the
backward block behind it may run at the same time; those of the warm-up and of the end run alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.schedule.base import ALONE, CHUNK_SHIFT, PipelineSchedule, Steady


@compiled
def _count_warm_up(stage: int, stages: int, total: int, chunks: int) -> int:
    """Forwards of a stage before its first backward."""
    ahead = stages - stage - 1 if chunks == 1 else 2 * (stages - stage - 1) + (chunks - 1) * stages
    return min(ahead, total)


@compiled
def _code(i: int, stages: int, chunks: int, direction: int) -> int:
    """The i-th forward (or backward) of a stage: rounds of `stages` microbatches, chunk by chunk."""
    if chunks == 1:
        return i << (CHUNK_SHIFT + 1) | direction
    within = i % (stages * chunks)
    chunk = within // stages
    if direction == 1:
        chunk = chunks - 1 - chunk
    microbatch = i // (stages * chunks) * stages + within % stages
    return (microbatch << CHUNK_SHIFT | chunk) << 1 | direction


@compiled
def _fill(order: NDArray[np.int64], stages: int, microbatches: int, chunks: int) -> None:
    total, alone = microbatches * chunks, ALONE << 1
    for stage in range(stages):
        warm = _count_warm_up(stage, stages, total, chunks)
        position = 0
        for i in range(total + warm):
            if i < total:
                order[stage, position] = _code(i, stages, chunks, 0) | alone * (i < warm)
                position += 1
            if i >= warm:
                order[stage, position] = _code(i - warm, stages, chunks, 1) | alone * (i >= total)
                position += 1


@lru_cache(maxsize=32)
def _order(stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
    order = np.empty((stages, 2 * microbatches * chunks), np.int64)
    _fill(order, stages, microbatches, chunks)
    order.flags.writeable = False
    return order


class OneForwardOneBackward(PipelineSchedule):
    """Bubble (p-1)/m of the ideal time, divided by the number of chunks; in-flight microbatches bounded by p."""

    interleaves = True
    pairs = 1

    def round(self, stages: int, chunks: int) -> int:
        """See `PipelineSchedule.round`."""
        return 1 if chunks == 1 else stages

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        return _order(stages, microbatches, chunks)

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """See `PipelineSchedule.in_flight`; on the first stage p(1 + (p-1)/(p v)) microbatches' worth in all."""
        total = microbatches * chunks
        most = min(_count_warm_up(stage, stages, total, chunks) + 1, total)
        rounds, rest = divmod(most, stages * chunks)
        return tuple(rounds * stages + min(max(rest - chunk * stages, 0), stages) for chunk in range(chunks))

    def steady(self, stages: int, chunks: int) -> Steady | None:
        """One microbatch after the other; interleaved, one round of `stages` microbatches after the other.

        A block follows its own stage's previous block, which is at most a warm-up older (p - 1 microbatches, or
        2(p - 1) + (v - 1) p blocks of chunks, less than two rounds), and the neighbour's block of its microbatch.
        Forward blocks lead: if those of the last `reach` microbatches end a period after those before them, then so do
        the backward blocks behind them, and so the forward blocks behind these.
        """
        if chunks == 1:
            return Steady(period=1, warm=stages, reach=stages + 1, cool=stages + 1, leads=True)
        return Steady(period=stages, warm=2 * stages, reach=2 * stages, cool=2 * stages, leads=True)
