"""The iteration of a pipeline that never empties: what passes between two batches once it is full.

Batch after batch is played from an empty pipeline on. After `settled_after` batches all stages take equally long from
the end of one batch to that of the next: what they take is the iteration. Where they never come to that (stages whose
ways round the pipeline take almost equally long need many batches), the last batches that are played count, by the
stage that takes longest: no less than what any stage does in an iteration. Both engines follow this rule.

A batch has ended on a stage with its last backward pass there and the update of weights that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.program import Program
from simcore.schedule import CHUNK_SHIFT, ORDERS

MOST = 8
"""How many times as long as it takes to fill the pipeline twice it may take to settle."""


def slowest(windows: Sequence[Sequence[int]]) -> int:
    """The longest iteration, each given as (time, bubble); ties go to the least bubble.

    Then the first. With the NPUs of each stage in the same place, that is one of the stage that sets the pace.
    """
    return min(range(len(windows)), key=lambda i: (-windows[i][0], windows[i][1], i))


def updated_after(program: Program) -> int:
    """After how many microbatches weights are updated; 0 where the pipeline empties before that."""
    return 0 if ORDERS[program.schedule].flushes else program.updated_after


def _first(program: Program) -> int:
    """Batches that fill the pipeline twice, and one more."""
    return 2 + 2 * program.stages // program.microbatches


def most_iterations(program: Program) -> int:
    """Batches that are played at most, and those whose forward passes run ahead of them."""
    return MOST * _first(program) + 2 + program.stages // program.microbatches


def usual_iterations(program: Program) -> int:
    """Batches that are played where the pipeline settles at once."""
    return _first(program) + 2


def settled_after(ends_after: Callable[[int], Sequence[int]], program: Program) -> int:
    """The number of batches after which the next one is the iteration that counts.

    `ends_after` plays so many batches, and says when the last of them ends, for each NPU that is looked at [ps].
    """
    number = _first(program)
    while True:
        before, begin, end = (np.array(ends_after(number + more)) for more in (-1, 0, 1))
        apart = np.concatenate([begin - before, end - begin])
        if (apart == apart[0]).all() or number >= MOST * _first(program):
            return number
        number *= 2


def played_microbatches(program: Program, iterations: int) -> int:
    """Microbatches of so many batches, and of the forward passes that run ahead of their backward passes."""
    return iterations * program.microbatches + program.stages


def kept_blocks(order: NDArray[np.int64], program: Program, iterations: int) -> NDArray[np.int64]:
    """How many blocks of each stage are played until so many batches have ended, `[stages]`.

    `order` is that of `played_microbatches`.
    """
    last = (iterations * program.microbatches - 1) << (CHUNK_SHIFT + 1) | 1
    found: NDArray[np.int64] = (order == last).argmax(axis=1) + 1
    return found
