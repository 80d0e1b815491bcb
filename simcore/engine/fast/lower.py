"""From a Program to the arrays of the compiled engine: operators timed, collectives chunked, blocks put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcore.compute import OperatorTimes
from simcore.design.design import Design
from simcore.engine.fast import pipeline
from simcore.engine.fast.state import Ints, pack
from simcore.policy.groups import group_kind
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.program import GROUP_CATEGORY, Category, Compute, ModelPart, Operator, Program, Segment, Start, Waits
from simcore.schedule import ORDERS
from simcore.system.chunks import Chunker, Chunks, picoseconds
from simcore.system.interference import slowdowns
from simcore.system.placement import Placement
from simcore.system.steps import as_served

Row = tuple[int, int, int]
Message = tuple[float, tuple[int, ...], bool | None]
"""Bytes, how far they go in each dimension of their group, and whether to the next stage or the previous one (None
unless `Lowering.directed`)."""
_NOTHING: Row = (-1, 0, 0)


@dataclass
class Lowering:
    """Collects collectives, operators, segments and blocks; equal ones are kept once."""

    design: Design
    placement: Placement
    compute: OperatorTimes
    directed: bool = False
    """Whether messages to the next stage and to the previous one are of different types where they are alike."""
    types: list[tuple[str, Chunks]] = field(default_factory=list)
    operators: list[tuple[int, int, int]] = field(default_factory=list)
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    blocks: list[tuple[int, int]] = field(default_factory=list)
    _type_of: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _rows: dict[int, Row] = field(default_factory=dict)
    _ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    _block_of: dict[tuple[int, ...], int] = field(default_factory=dict)
    _lowered: list[tuple[int, tuple[Operator, ...]]] = field(default_factory=list)
    _started: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _issued: dict[int, dict[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chunker = Chunker(self.design)

    def collective(self, kind: str, group: str, size: float) -> int:
        """Index of a type of collective."""
        key = (kind, group, size)
        if key not in self._type_of:
            self._add(key, group, self.chunker.split_collective(kind, self.placement[group], size))
        return self._type_of[key]

    def message(self, group: str, size: float, hops: tuple[int, ...], onward: bool | None = None) -> int:
        """Index of a message of `size` [B] between members of a group that are `hops` apart in its dimensions."""
        key = ("send_recv", group, size, hops, onward)
        if key not in self._type_of:
            self._add(key, group, self.chunker.split_message(self.placement[group], hops, size))
        return self._type_of[key]

    def keyed(self) -> Iterator[tuple[tuple[Any, ...], tuple[str, Chunks]]]:
        """The types of collectives in order, each with what identifies it: (kind, group, size) or that of a message."""
        return zip(self._type_of, self.types, strict=True)

    def _add(self, key: tuple[Any, ...], group: str, split: Chunks) -> None:
        self._type_of[key] = len(self.types)
        self.types.append((group, as_served(self.design, split)))

    def duration(self, operator: Compute) -> int:
        """Time of an operator [ps]."""
        return picoseconds(self.compute.seconds(operator))

    def _operators(self, segment: Segment) -> tuple[int, int]:
        """Where the segment's operators lie."""
        known = self._ranges.get(id(segment.operators))
        if known is None:
            first = len(self.operators)
            lowered = map(self._rows.get, map(id, segment.operators))
            rows = [row or self._row(operator) for row, operator in zip(lowered, segment.operators, strict=True)]
            self.operators += [row for row in rows if row is not _NOTHING]
            self._lowered.append((first, segment.operators))
            known = self._ranges[id(segment.operators)] = first, len(self.operators)
        return known

    def names(self) -> dict[int, str]:
        """Names of the compute operators, by index."""
        names: dict[int, str] = {}
        for index, operators in self._lowered:
            kept = (operator for operator in operators if self._rows[id(operator)] is not _NOTHING)
            names |= {i: op.name for i, op in enumerate(kept, index) if isinstance(op, Compute)}
        return names

    def _row(self, operator: Operator) -> Row:
        """An operator as numbers; the wait of a blocking collective is part of its start."""
        if isinstance(operator, Compute):
            row = (pipeline.COMPUTE, self.duration(operator), int(operator.category))
        elif isinstance(operator, Start):
            kind = self.collective(operator.kind, operator.group, operator.size)
            if operator.waits == Waits.NOW:
                row = (pipeline.BLOCKING, kind, int(GROUP_CATEGORY[group_kind(operator.group)]))
            else:
                row = (pipeline.START, kind, int(operator.waits))
        elif operator.waits == Waits.NOW:
            row = _NOTHING
        else:
            row = (pipeline.WAIT, int(operator.waits), int(operator.category))
        self._rows[id(operator)] = row
        return row

    def block(self, segments: Sequence[Segment], send: int | None, after: Sequence[Segment] = ()) -> int:
        """Index of a block: segments, then the send (a type of collective, or none), then what comes `after`."""
        key = (id(segments), -1 if send is None else send, id(after) if after else 0)
        if key in self._block_of:
            return self._block_of[key]
        first = len(self.segments)
        self.segments += [(*self._operators(segment), segment.repeat) for segment in segments]
        begin = len(self.operators)
        if send is not None:
            self.operators.append((pipeline.BLOCKING, send, int(Category.PIPELINE)))
            if self.directed:  # what goes the same way again may be known, and not be played
                self.segments.append((begin, begin + 1, 1))
                begin += 1
        self.operators.append((pipeline.SENT, 0, 0))
        self.segments.append((begin, len(self.operators), 1))
        self.segments += [(*self._operators(segment), segment.repeat) for segment in after]
        self._block_of[key] = len(self.blocks)
        self.blocks.append((first, len(self.segments)))
        return self._block_of[key]

    def issues(self, block: int) -> dict[int, int]:
        """How often a block issues each type of collective."""
        counts = self._issued.get(block)
        if counts is None:
            counts = self._issued[block] = {}
            for segment in range(*self.blocks[block]):
                first, end, repeat = self.segments[segment]
                if (first, end) not in self._started:  # an empty segment begins where the next one does
                    rows = self.operators[first:end]
                    starting = (pipeline.START, pipeline.BLOCKING)
                    self._started[first, end] = [argument for code, argument, _ in rows if code in starting]
                for kind in self._started[first, end]:
                    counts[kind] = counts.get(kind, 0) + repeat
        return counts

    def network(self) -> Ints:
        """The phases of every type of collective, packed, with what each does to computation beside it."""
        system = self.design.system
        policy, order = INTRA_DIMENSION[system.intra_dimension], system.priority
        slots = 0 if system.active_chunks == "overlap" else system.active_chunks
        packed = []
        for group, split in self.types:
            paths = [
                [
                    (
                        p.dimension,
                        p.serialization,
                        p.latency,
                        policy.key_of_step(policy.key(order, group, int(p.size)), p.begun),
                    )
                    for p in path
                ]
                for path in split.paths
            ]
            chosen = split.chosen
            if policy.by_arrival and not slots and len(paths) == len(paths[0]) == 1:
                # Chunks that come together to their one queue leave it together: nothing is served between two.
                dimension, serialization, latency, key = paths[0][0]
                paths, chosen = [[(dimension, len(chosen) * serialization, latency, key)]], [0]
            packed.append((paths, chosen))
        its = slowdowns(self.design)
        beside = {kind for code, kind, _ in self.operators if code == pipeline.START} if any(its) else set()
        return pack(packed, len(its), policy.issue_weight, slots, its, beside)


def lower_schedule(lowering: Lowering, program: Program) -> Ints:
    """The block of every stage, chunk and kind (see `pipeline`), with where it sends, `[stages, chunks, KINDS]`."""
    p, v = program.stages, program.chunks
    onward = lowering.chunker.steps_on(lowering.placement.get("pipeline", ()), p)
    sizes = program.sends or [program.send_bytes] * (p * v)
    schedule = ORDERS[program.schedule]
    path = schedule.path(p, v)
    programs = np.empty((v, p, pipeline.KINDS), np.int64)
    known: dict[Hashable, tuple[int, ...]] = {}
    message: Message | None = None
    for k, place in enumerate(path.tolist()):
        s, back = place % p, _returned(message) if program.trained else None
        message = _message(lowering, sizes[k], onward, (s, path[k + 1] % p)) if k < p * v - 1 else None
        key = (program.part_of[place], message, back, id(program.final[s]))
        if key not in known:
            known[key] = _blocks(lowering, program.parts[key[0]], message, back, (schedule.splits, program.final[s]))
        programs[place // p, s] = known[key]
    return programs.transpose(1, 0, 2).copy()


def _message(
    lowering: Lowering, size: float, onward: Sequence[tuple[int, ...]], between: tuple[int, int]
) -> Message | None:
    """What a stage sends to the following one, as far as back; nothing where they are one and the same.

    `onward[s]` is how far it is from stage s to the next one (from the last to the first).
    """
    stage, following = between
    if stage == following:
        return None
    ahead = following == (stage + 1) % len(onward)
    return size, onward[stage if ahead else following], ahead if lowering.directed else None


def _returned(message: Message | None) -> Message | None:
    """What the following stage sends back."""
    if message is None or message[2] is None:
        return message
    size, hops, ahead = message
    return size, hops, not ahead


def _blocks(
    lowering: Lowering,
    part: ModelPart,
    ahead: Message | None,
    back: Message | None,
    end: tuple[bool, tuple[Segment, ...]],
) -> tuple[int, ...]:
    """The blocks of a part, by kind (see `pipeline`), that sends these messages ahead and back.

    `end`: whether weight gradients are passes of their own, and what follows the last pass.
    """
    splits, final = end
    onward = None if ahead is None else lowering.message("pipeline", *ahead)
    returned = None if back is None else lowering.message("pipeline", *back)
    ends, sent = (part.last_weights, None) if splits else (part.last_backward, returned)
    return (
        lowering.block(part.forward, onward),
        lowering.block(part.backward, returned),
        lowering.block(part.last_backward, returned),
        lowering.block(ends, sent, final),
        lowering.block(part.weights, None),
        lowering.block(part.first_pass, onward),
        lowering.block(part.last_weights, None),
        lowering.block(part.alone_forward or part.forward, onward),
        lowering.block(part.alone_backward or part.backward, returned),
    )
