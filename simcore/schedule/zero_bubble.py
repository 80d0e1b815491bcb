"""Zero bubble, ZB-H1: weight gradients wait until there is nothing else to do (Qi et al. 2024, arXiv 2401.10241).

The backward pass is split: input gradients (B), for which the stage before is waiting, and weight gradients (W), for
which only the optimizer does. Forwards and Bs go as in 1F1B; stage s starts with its Ws s microbatches late and ends
with them where 1F1B would wait. The bubble shrinks from (p-1)(F + B + W) to (p-1)(F + B - W); since activations are
kept until their W, all stages keep what the first one keeps under 1F1B (section 2.2, Table 1).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.schedule.base import CHUNK_SHIFT, WEIGHTS, PipelineSchedule, Steady


@lru_cache(maxsize=16)
def _order(stages: int, microbatches: int) -> NDArray[np.int64]:
    number = np.arange(microbatches, dtype=np.int64) << CHUNK_SHIFT
    forward, backward, weights = number << 1, number << 1 | 1, (number | WEIGHTS) << 1 | 1
    order = np.empty((stages, 3 * microbatches), np.int64)
    for stage in range(stages):
        warm = min(stages - stage - 1, microbatches)
        blocks = [*forward[:warm]]
        for i in range(microbatches):
            blocks += [*forward[i + warm : i + warm + 1], backward[i]]
            if i >= stage:
                blocks.append(weights[i - stage])
        order[stage] = [*blocks, *weights[max(0, microbatches - stage) :]]
    order.flags.writeable = False
    return order


class ZeroBubble(PipelineSchedule):
    """ZB-H1, one model chunk a stage."""

    splits = True

    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """See `PipelineSchedule.order`."""
        return _order(stages, microbatches)

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """See `PipelineSchedule.in_flight`; until their weight gradients, which are `stage` microbatches late."""
        return (min(stages, microbatches),)

    def steady(self, stages: int, chunks: int) -> Steady | None:
        """One microbatch after the other, from the first weight gradients of the last stage on."""
        return Steady(period=1, warm=2 * stages, reach=2 * stages + 1, cool=2 * stages + 1)
