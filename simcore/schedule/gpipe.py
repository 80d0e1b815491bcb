"""GPipe: all forwards, then all backwards (Huang et al. 2019, arXiv 1811.06965)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.schedule.base import CHUNK_SHIFT, PipelineSchedule, Steady


class GPipe(PipelineSchedule):
    """Keeps the activations of every microbatch. One model chunk a stage."""

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        forward = np.arange(microbatches, dtype=np.int64) << (CHUNK_SHIFT + 1)
        return np.tile(np.concatenate([forward, forward + 1]), (stages, 1))

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """See `PipelineSchedule.in_flight`."""
        return (microbatches,)

    @property
    def splits(self) -> bool:
        """See `PipelineSchedule.splits`."""
        return False

    def steady(self, stages: int, chunks: int) -> Steady | None:
        """None: the forwards of all microbatches come before the first backward."""
        return None
