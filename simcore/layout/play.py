"""What an iteration takes by the times of its stages alone: the blocks of a schedule one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled
from simcore.layout.costs import AGAIN, BACKWARD, EXPERTS, GRADIENTS, OPEN, PLACE, SEND, TAIL, Floats, Ints
from simcore.layout.costs import WEIGHTS as WEIGHT_GRADIENTS
from simcore.schedule.base import CHUNK_MASK, CHUNK_SHIFT, WEIGHTS

Blocks = tuple[Ints, NDArray[np.int32], tuple[int, int, int, int], tuple[bool, bool]]
"""The blocks of a pipeline that are played, without a class, because caches of kernels name none:

- `order` and `sequence`, as `PipelineSchedule` has them for all microbatches that are played;
- the number of these; those of a batch among them, and those of a batch of the design (which takes for each of the
  others what the slowest stage does); those between two updates where the pipeline never empties, else 0;
- whether weight gradients have blocks of their own, and whether a forward pass runs beside each backward pass.

A pipeline that never empties is played batch after batch; the last whole one counts (`simcore.engine.unflushed`).
"""


@compiled
def time_layout(layers: Floats, stages: Floats, blocks: Blocks, ends: Ints, again: Floats) -> float:
    """An iteration by the times of its stages [s].

    `layers` and `stages` as `simcore.layout.costs` has them; `again`: the dense layers and layers of experts that
    recompute. Gradients leave layer by layer, in the order of the last backward pass.
    """
    order, sequence, (played, batch, microbatches, between), _ = blocks
    path = stages[:, PLACE].astype(np.int64)
    virtual, count = len(path), len(order)
    times = np.zeros((virtual, 6))
    busy, tails = np.zeros(count), np.zeros(count)
    splits = stages[virtual - 1, WEIGHT_GRADIENTS] > 0.0
    reducing = WEIGHT_GRADIENTS if splits else BACKWARD
    for k in range(virtual - 1, -1, -1):
        s, left = path[k] % count, again[k].copy()
        first = ends[k - 1] if k > 0 else 0
        for column in range(3):
            times[k, column] = stages[k, column]
        times[k, 3] = stages[k, SEND]
        tails[s] += stages[k, TAIL]
        computed, arrived = 0.0, 0.0
        if k > 0:  # the head comes before the layers of its stage, the embedding after those of its own
            computed = stages[k, reducing]
            arrived = computed + stages[k, GRADIENTS]
            times[k, 4] = stages[k, GRADIENTS]
        for layer in range(ends[k] - 1, first - 1, -1):
            for column in range(3):
                times[k, column] += layers[layer, column]
            kind = int(layers[layer, EXPERTS])
            if layers[layer, OPEN] > 0.0 and left[kind] > 0.0:
                times[k, 1] += layers[layer, AGAIN]
                left[kind] -= 1.0
            tails[s] += layers[layer, TAIL]
            computed += layers[layer, reducing]
            arrived = max(arrived, computed) + layers[layer, GRADIENTS]
            times[k, 4] += layers[layer, GRADIENTS]
        if k == 0:
            computed += stages[k, reducing]
            arrived = max(arrived, computed) + stages[k, GRADIENTS]
            times[k, 4] += stages[k, GRADIENTS]
        times[k, 5] = arrived - computed
        back = stages[k - 1, SEND] if k > 0 else 0.0
        busy[s] += times[k, 0] + times[k, 1] + times[k, 2] + times[k, 3] + back
        if between > 0:  # of one chunk, whose gradients follow every update
            tails[s] += times[k, 5]
    whole: float = play(order, sequence, path, times, tails, (played, batch, between))
    if 0 < between < batch:
        busy += tails / between
    return whole + (microbatches - batch) * float(busy.max())


@compiled
def play(
    order: Ints,
    sequence: NDArray[np.int32],
    path: Ints,
    times: Floats,
    tails: Floats,
    counts: tuple[int, int, int],
) -> float:
    """The end of the last stage [s]; of a pipeline that never empties what the last batch adds.

    `order` and `sequence` as `PipelineSchedule` has them; `times[virtual stage]` are forward, backward, weight
    gradients, and sending on; what its gradients take on their way, and how long after its last block they are there
    if none are before them. `tails[stage]`: what follows its last block and its gradients, or each update. `counts`:
    microbatches, those of a batch, and those between two updates, or 0 (see `Blocks`).
    """
    microbatches, batch, between = counts
    stages, virtual = len(order), len(path)
    along = np.empty(virtual, np.int64)
    for k in range(virtual):
        along[path[k]] = k
    ahead, back = np.zeros((microbatches, virtual + 1)), np.zeros((microbatches, virtual + 1))
    clock, position, before = np.zeros(stages), np.zeros(stages, np.int64), np.zeros(stages)
    arrived, splits = np.zeros(stages), times[virtual - 1, 2] > 0.0
    last = (microbatches - stages) // batch * batch - 1
    for s in sequence:
        code = order[s, position[s]]
        position[s] += 1
        chunk, microbatch = (code >> 1) & CHUNK_MASK, code >> (CHUNK_SHIFT + 1)
        k = along[chunk * stages + s]
        if (code >> 1) & WEIGHTS > 0:
            clock[s] += times[k, 2]
            if microbatch == microbatches - 1:
                arrived[s] = max(arrived[s] + times[k, 4], clock[s] + times[k, 5])
        elif code & 1 == 0:
            clock[s] = max(clock[s], ahead[microbatch, k]) + times[k, 0] + times[k, 3]
            ahead[microbatch, k + 1] = clock[s]
        else:
            sent = times[k - 1, 3] if k > 0 else 0.0
            clock[s] = max(clock[s], back[microbatch, k + 1]) + times[k, 1] + sent
            back[microbatch, k] = clock[s]
            if microbatch == microbatches - 1 and not splits:
                arrived[s] = max(arrived[s] + times[k, 4], clock[s] - sent + times[k, 5])
            if between > 0:
                if (microbatch + 1) % between == 0:
                    clock[s] += tails[s]
                if microbatch == last - batch:
                    before[s] = clock[s]
                elif microbatch == last:
                    before[s] = clock[s] - before[s]
    if between > 0:
        return float(before.max())
    end = 0.0
    for s in range(stages):
        end = max(end, max(clock[s], arrived[s]) + tails[s])
    return end
