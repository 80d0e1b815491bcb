"""GPipe: all forwards, then all backwards (Huang et al. 2019, arXiv 1811.06965).

With several model chunks a stage it goes through them breadth first: all microbatches through one chunk, then all
through the next one (Lamy-Poirier 2022, arXiv 2211.05953, section 3.2). That is what automatic differentiation makes of
a loop over microbatches: MaxText's circular pipeline, and TorchTitan's `LoopedBFS`. Without a pipeline gradients are
accumulated: the backward pass of each microbatch comes before the next one's forward pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.schedule.base import CHUNK_SHIFT, PipelineSchedule, Steady


class GPipe(PipelineSchedule):
    """Keeps the activations of every microbatch; a bubble of (p-1)/m, divided by the number of chunks."""

    interleaves = True

    def round(self, stages: int, chunks: int) -> int:
        """See `PipelineSchedule.round`: a chunk's last microbatch leaves as the next chunk's first one may begin."""
        return 1 if chunks == 1 else stages

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        microbatch, chunk = np.arange(microbatches, dtype=np.int64), np.arange(chunks, dtype=np.int64)
        forward = (microbatch << CHUNK_SHIFT | chunk[:, None]) << 1
        if stages == 1:
            return np.stack([forward[0], forward[0] + 1], axis=1).reshape(1, -1)
        return np.tile(np.concatenate([forward.ravel(), (forward[::-1] + 1).ravel()]), (stages, 1))

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """See `PipelineSchedule.in_flight`."""
        return (microbatches if stages > 1 else 1,) * chunks

    def steady(self, stages: int, chunks: int) -> Steady | None:
        """None with a pipeline: the forwards of all microbatches come before the first backward."""
        return Steady(period=1, warm=1, reach=2, cool=2) if stages == 1 else None
