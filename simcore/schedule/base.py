"""A pipeline schedule: in which order a stage does its forward and backward blocks, and how many it keeps in flight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.compiled import compiled

CHUNK_SHIFT = 17
"""Bits of a block's code that hold its chunk, and what is said of it."""
WEIGHTS = 1 << CHUNK_SHIFT - 1
"""Bit of a block's chunk that says that it computes weight gradients alone (direction 1): it needs no input and sends
nothing."""
ALONE = 1 << CHUNK_SHIFT - 2
"""Bit of a block's chunk that says that it runs beside no block of another microbatch, where most of its schedule do
(`PipelineSchedule.pairs`)."""
CHUNK_MASK = ALONE - 1
"""Bits of a block's chunk that count it."""
MOST_CHUNKS = CHUNK_MASK + 1
"""Most chunks of a stage: more have no code of their own."""


@compiled
def _fill_sequence(
    order: NDArray[np.int64],
    microbatches: int,
    path: NDArray[np.int64],
    along: NDArray[np.int64],
    sequence: NDArray[np.int32],
) -> int:
    """Fill `sequence` by letting each stage go on for as long as it can; the number of blocks that could run."""
    stages, length = order.shape
    virtual = path.shape[0]
    ready = np.zeros((2, microbatches, virtual + 2), np.bool_)
    ready[0, :, 0] = True
    ready[1, :, virtual + 1] = True
    position = np.zeros(stages, np.int64)
    queued = np.ones(stages, np.bool_)
    waiting = np.arange(stages - 1, -1, -1)
    depth = stages
    ran = 0
    while depth > 0:
        depth -= 1
        s = waiting[depth]
        queued[s] = False
        while position[s] < length:
            code = order[s, position[s]]
            direction = code & 1
            stage = along[((code >> 1) & CHUNK_MASK) * stages + s]
            microbatch = code >> (CHUNK_SHIFT + 1)
            if (code >> 1) & WEIGHTS == 0:
                if not ready[direction, microbatch, stage - 1 + 2 * direction]:
                    break
                ready[direction, microbatch, stage] = True
            position[s] += 1
            sequence[ran] = s
            ran += 1
            follows = stage - 2 * direction  # counted from 0
            other = path[follows] % stages if 0 <= follows < virtual else s
            if other != s and not queued[other]:
                queued[other] = True
                waiting[depth] = other
                depth += 1
    return ran


def positions_along(path: NDArray[np.int64]) -> NDArray[np.int64]:
    """How far along a `path` each place of it lies, counted from 1."""
    along = np.empty_like(path)
    along[path] = np.arange(1, path.size + 1)
    return along


@lru_cache(maxsize=64)
def _sequence(schedule: PipelineSchedule, stages: int, microbatches: int, chunks: int) -> NDArray[np.int32]:
    order = schedule.order(stages, microbatches, chunks)
    sequence = np.empty(order.size, np.int32)
    path = schedule.path(stages, chunks)
    ran = _fill_sequence(order, microbatches, path, positions_along(path), sequence)
    if ran < order.size:
        raise ValueError(f"pipeline schedule {schedule} waits for itself: {order.size - ran} blocks never run")
    sequence.flags.writeable = False
    return sequence


@lru_cache(maxsize=64)
def _path(folds: bool, stages: int, chunks: int) -> NDArray[np.int64]:
    path = np.arange(stages * chunks, dtype=np.int64)
    if folds:
        path.reshape(chunks, stages)[1::2] = path.reshape(chunks, stages)[1::2, ::-1].copy()
    path.flags.writeable = False
    return path


@lru_cache(maxsize=64)
def _in_flight(schedule: PipelineSchedule, stages: int, microbatches: int, chunks: int) -> list[tuple[int, ...]]:
    order = schedule.order(stages, microbatches, chunks)
    kept = kept_after(order, np.ones(chunks, np.int64), schedule.splits)
    apart = [kept_after(order, one, schedule.splits) for one in np.eye(chunks, dtype=np.int64)]
    peaks = enumerate(kept.argmax(axis=1).tolist())
    return [tuple(int(one[stage, most]) for one in apart) for stage, most in peaks]


def kept_after(codes: NDArray[np.int64], each: NDArray[Any], splits: bool) -> NDArray[Any]:
    """What is kept for backward passes after each of these blocks, where one of chunk c keeps `each[c]`.

    Until its backward block, or where the schedule `splits` these, until its weight gradients.
    """
    kept = each[codes >> 1 & CHUNK_MASK]
    weights = (codes >> 1 & WEIGHTS) > 0
    freed = weights if splits else codes & 1
    return np.where(freed, -kept, np.where(codes & 1, 0, kept)).cumsum(axis=-1)


class Steady(NamedTuple):
    """The steady phase of a schedule, in microbatches.

    Between the first `warm` and the last `cool` ones the order of blocks repeats every `period`, and a block depends on
    none that lies more than `reach` before it. So if all blocks of `reach` microbatches end the same time after those
    one period earlier, all later ones of the phase do.
    """

    period: int
    warm: int
    reach: int
    cool: int
    leads: bool = False
    """Whether forward blocks alone tell, those of the last `reach` microbatches of all: in the phase each backward
    block comes right behind a forward block of its stage, at most `cool` microbatches ahead of it, and no forward block
    behind a backward block that lies further back."""


class PipelineSchedule(ABC):
    """A way to order the blocks of `microbatches` microbatches on `stages` stages of `chunks` model chunks each."""

    splits = False
    """Whether backward blocks compute input gradients alone, and weight gradients come in blocks of their own."""
    interleaves = False
    """Whether a stage may have several model chunks."""
    folds = False
    """Whether every other chunk passes the stages from the last one to the first: the stage on which a chunk ends has
    the beginning of the next one, to which it sends nothing. Two chunks form a V."""
    chunks: int | None = None
    """The number of model chunks that a stage must have; None where it is free."""
    pairs: int | None = None
    """Where forward blocks take turns with backward blocks of other microbatches, so that two may run at the same time
    (`parallelism.expert_overlap`): how many chunks more that keeps than the order counts. None where they do not."""
    flushes = True
    """Whether the pipeline empties before weights are updated. Where it does not, batch follows batch: an iteration is
    what passes between two of them in the steady phase, and gradients may be of older weights (`staleness`)."""

    def path(self, stages: int, chunks: int) -> NDArray[np.int64]:
        """Which way a microbatch goes: the places (chunk x stages + stage) of the virtual stages, in their order."""
        return _path(self.folds, stages, chunks)

    def round(self, stages: int, chunks: int) -> int:
        """What the number of microbatches must be a multiple of."""
        return 1

    def least(self, stages: int) -> int:
        """The fewest microbatches that it can order."""
        return 1

    def updates(self, microbatches: int) -> int:
        """How often weights are updated in an iteration of so many microbatches."""
        return 1

    def versions(self, stage: int, stages: int) -> int:
        """Versions of its weights that a stage keeps."""
        return 1

    def staleness(self, stages: int) -> int:
        """Most updates between the weights that a gradient was computed with and those that it is applied to."""
        return 0

    @abstractmethod
    def order(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int64]:
        """Blocks of every stage in order, `[stages, 2 x microbatches x chunks]` (with `WEIGHTS`: 3 x).

        A block is coded as (microbatch << CHUNK_SHIFT | chunk) << 1 | direction, direction 0 forward and 1 backward.
        Where a schedule `splits` the backward pass, chunks with the bit `WEIGHTS` are blocks of weight gradients. Where
        it `pairs` blocks, those with the bit `ALONE` are in no pair.
        """

    def sequence(self, stages: int, microbatches: int, chunks: int) -> NDArray[np.int32]:
        """The stages in an order in which the next block of each always has its input, `[blocks of all stages]`.

        Raises `ValueError` where the schedule's order waits for itself.
        """
        return _sequence(self, stages, microbatches, chunks)

    def in_flight(self, stage: int, stages: int, microbatches: int, chunks: int) -> tuple[int, ...]:
        """Most forward blocks of each chunk whose backward is still to come, on `stage`, all at the same time.

        Counted along the order; where the schedule `splits` the backward pass, until their weight gradients.
        """
        return _in_flight(self, stages, microbatches, chunks)[stage]

    @abstractmethod
    def steady(self, stages: int, chunks: int) -> Steady | None:
        """The steady phase; None where the schedule has none."""

    def shortened(self, stages: int, microbatches: int, chunks: int) -> int:
        """The fewest microbatches whose blocks differ from those of all by whole periods alone."""
        steady = self.steady(stages, chunks)
        if steady is None:
            return microbatches
        least = steady.warm + steady.reach + steady.period + (0 if steady.leads else steady.cool)
        return min(microbatches, least + (microbatches - least) % steady.period)


class Block(NamedTuple):
    """A block of a pipeline, as its code says (`PipelineSchedule.order`)."""

    direction: int
    microbatch: int
    chunk: int
    weights: bool
    alone: bool

    @property
    def kind(self) -> str:
        """What it does, in words."""
        if self.weights:
            return "weight gradients"
        return "backward" if self.direction else "forward"


def read_block(code: int) -> Block:
    """The block of a code; kernels read it themselves."""
    microbatch, coded = divmod(code >> 1, 1 << CHUNK_SHIFT)
    return Block(code & 1, microbatch, coded & CHUNK_MASK, coded & WEIGHTS > 0, coded & ALONE > 0)


def block_name(code: int) -> str:
    """What a block is, in words; see `PipelineSchedule.order` for its code."""
    block = read_block(code)
    return f"{block.kind} {block.microbatch}" + (f" chunk {block.chunk}" if block.chunk else "")
