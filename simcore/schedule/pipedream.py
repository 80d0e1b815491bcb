"""PipeDream and PipeDream-2BW: 1F1B that never empties, with versions of weights in place of the flush.

Microbatches follow one another without end. Stage s of p (counted from 0) lets p - s of them in before its first
backward pass, and takes turns from then on, so that once the pipeline is full no stage waits but for the slowest. The
backward pass of a microbatch must see the weights of its forward pass, which were updated in between: they are kept.

- `pipedream` (Narayanan et al. 2019, SOSP, arXiv 1806.03377, sections 3.2 and 3.3) updates weights after every
  microbatch. Stage s keeps p - s versions, those of the microbatches in flight on it. A gradient of stage s is applied
  to weights that are p - 1 - s updates newer.
- `pipedream_2bw` (Narayanan et al. 2021, ICML, arXiv 2006.09503, section 3.1) sums up the gradients of all microbatches
  of a batch, at least p. Two versions are enough on every stage, and every gradient is one update old.

Neither computes what training with a flush does: see `PipelineSchedule.staleness`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.schedule.base import ALONE, PipelineSchedule, Steady
from simcore.schedule.one_forward_one_backward import OneForwardOneBackward

_ORDER = OneForwardOneBackward()


class PipeDream(PipelineSchedule):
    """Without flush, one model chunk a stage; weights are updated once a batch (`doubled`), or after a microbatch."""

    flushes = False

    def __init__(self, doubled: bool) -> None:
        self._doubled = doubled

    def least(self, stages: int) -> int:
        """A batch of 2BW has a microbatch for each stage, or a third version would be in use (section 3.1)."""
        return stages if self._doubled else 1

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`: that of 1F1B for all microbatches that are played, of whichever batch."""
        return _ORDER.order(stages, microbatches, chunks) & ~(ALONE << 1)  # what is alone there fills and drains

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """See `PipelineSchedule.in_flight`; as many as the pipeline holds, however few a batch has."""
        return (stages - stage,)

    def steady(self, stages: int, chunks: int) -> Steady | None:
        """None: an iteration is the steady phase, see `simcore.engine.unflushed`."""
        return None

    def updates(self, microbatches: int) -> int:
        """See `PipelineSchedule.updates`."""
        return 1 if self._doubled else microbatches

    def versions(self, stage: int, stages: int) -> int:
        """See `PipelineSchedule.versions`."""
        return 2 if self._doubled else stages - stage

    def staleness(self, stages: int) -> int:
        """See `PipelineSchedule.staleness`."""
        return 1 if self._doubled else stages - 1


PIPEDREAM = PipeDream(doubled=False)
"""Weights are updated after every microbatch."""
PIPEDREAM_2BW = PipeDream(doubled=True)
"""Weights are updated once a batch, double-buffered."""
