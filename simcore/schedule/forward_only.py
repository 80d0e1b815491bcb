"""Forward passes alone: what a pipeline does when it serves. The chunks of a stage follow one another in time.

Chunk c of a microbatch starts on the first stage when chunk c - 1 has left the last one: with a token of every request
a chunk, that is the generation of one token after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.schedule.base import CHUNK_SHIFT, PipelineSchedule, Steady


class ForwardOnly(PipelineSchedule):
    """All microbatches of the first chunk, then all of the second, and so on. Keeps nothing for a backward pass."""

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        microbatch = np.arange(microbatches, dtype=np.int64) << CHUNK_SHIFT
        blocks = (np.arange(chunks, dtype=np.int64)[:, None] | microbatch) << 1
        return np.tile(blocks.ravel(), (stages, 1))

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """One microbatch of each chunk, while it is at work."""
        return (1,) * chunks

    def steady(self, stages: int, chunks: int) -> Steady | None:
        """None: the next chunk of the first microbatch follows the last microbatch."""
        return None
