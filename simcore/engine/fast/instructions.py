"""A Program as numbers, whatever the network that it runs on: operators timed, segments and blocks put together.

What a design does depends on its job alone, and most designs of a search have a job that was met before on another
network. So the instructions of a Program are kept from design to design (`instructions_of`); what is kept by a network
is `simcore.engine.fast.lower`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simcore.compute import OperatorTimes
from simcore.design.same import Same
from simcore.engine.fast import pipeline
from simcore.engine.fast.state import Ints
from simcore.engine.fast.tables import pack_program
from simcore.policy.groups import group_kind
from simcore.program import (
    GROUP_CATEGORY,
    TO_OTHER_END,
    Category,
    Compute,
    ModelPart,
    Operator,
    Program,
    Segment,
    Start,
    Waits,
)
from simcore.schedule import ORDERS
from simcore.system.phase import picoseconds

Row = tuple[int, int, int]
Message = tuple[float, tuple[int, ...], bool | None]
"""Bytes, how far they go in each dimension of their group, and whether to the next stage or the previous one (None
unless `Instructions.directed`)."""
Key = tuple[Any, ...]
"""What identifies a type of collective: (kind, group, size), or a message as `Instructions.message` has it."""
_NOTHING: Row = (-1, 0, 0)
KEPT = 256
"""Programs whose instructions are kept, some 50 KB each."""


class Use(NamedTuple):
    """What the operators of a segment do, played once."""

    computed: int
    """Compute, one after the other [ps]."""
    blocking: tuple[tuple[int, int], ...]
    """Types of collectives that block, each with how often."""
    started: tuple[tuple[int, int], ...]
    """Types of those that are started beside what follows, each with how often."""


class Counted(NamedTuple):
    """What segments with operators do (`Use`), and blocks of them, as tables of whole numbers."""

    computed: Ints
    """Compute of each segment, played once [ps] `[segments]`."""
    blocking: Ints
    """How often each type of collective blocks in it `[segments, types]`."""
    started: Ints
    """How often it is started `[segments, types]`."""
    repeats: Ints
    """How often each block plays a segment `[blocks, segments]`."""


@dataclass
class Instructions:
    """Collects types of collectives, operators, segments and blocks; equal ones are kept once."""

    compute: OperatorTimes
    directed: bool = False
    """Whether messages to the next stage and to the previous one are of different types where they are alike."""
    types: dict[Key, int] = field(default_factory=dict)
    """The types of collectives, numbered in the order in which they are met."""
    operators: list[Row] = field(default_factory=list)
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    blocks: list[tuple[int, int]] = field(default_factory=list)
    _around: tuple[int, ...] = ()
    """How far it is from the last stage to the first."""
    _rows: dict[int, Row] = field(default_factory=dict)
    _ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    _block_of: dict[tuple[int, ...], int] = field(default_factory=dict)
    _lowered: list[tuple[int, tuple[Operator, ...]]] = field(default_factory=list)
    _issued: dict[int, dict[int, int]] = field(default_factory=dict)
    _uses: dict[tuple[int, int], Use] = field(default_factory=dict)
    _packed: dict[tuple[Same[Ints], int], Ints] = field(default_factory=dict)
    _counted: dict[int, Counted] = field(default_factory=dict)

    def copy(self) -> Instructions:
        """The same, to be added to."""
        kept: dict[str, Any] = {name: its.copy() for name, its in vars(self).items() if isinstance(its, dict | list)}
        return replace(self, **kept)

    def collective(self, kind: str, group: str, size: float) -> int:
        """Index of a type of collective."""
        return self.types.setdefault((kind, group, size), len(self.types))

    def message(self, group: str, size: float, hops: tuple[int, ...], onward: bool | None = None) -> int:
        """Index of a message of `size` [B] between members of a group that are `hops` apart in its dimensions."""
        return self.types.setdefault(("send_recv", group, size, hops, onward), len(self.types))

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
            if operator.kind in TO_OTHER_END:
                ahead = TO_OTHER_END[operator.kind] == 0 if self.directed else None
                kind = self.message(operator.group, operator.size, self._around, ahead)
            else:
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
        different = dict(zip(map(id, segments), segments, strict=True))  # layers of two kinds may take turns
        rows = {key: (*self._operators(segment), segment.repeat) for key, segment in different.items()}
        self.segments += map(rows.__getitem__, map(id, segments))
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

    def use(self, first: int, end: int) -> Use:
        """What the operators from `first` to `end` do: those of a segment."""
        found = self._uses.get((first, end))
        if found is None:
            computed, blocking, started = 0, dict[int, int](), dict[int, int]()
            for code, argument, _ in self.operators[first:end]:
                if code == pipeline.COMPUTE:
                    computed += argument
                elif code == pipeline.BLOCKING:
                    blocking[argument] = blocking.get(argument, 0) + 1
                elif code == pipeline.START:
                    started[argument] = started.get(argument, 0) + 1
            found = self._uses[first, end] = Use(computed, tuple(blocking.items()), tuple(started.items()))
        return found

    def issues(self, block: int) -> dict[int, int]:
        """How often a block issues each type of collective."""
        counts = self._issued.get(block)
        if counts is None:
            counts = self._issued[block] = {}
            begin, after = self.blocks[block]
            for (first, end, repeat), times in Counter(self.segments[begin:after]).items():
                use = self.use(first, end)
                for kind, often in (*use.blocking, *use.started):
                    counts[kind] = counts.get(kind, 0) + times * repeat * often
        return counts

    def counted(self) -> Counted:
        """All segments and blocks as tables; whoever asks again gets the same."""
        if len(self.blocks) not in self._counted:
            places = {(first, end): None for first, end, _ in self.segments if first < end}
            rows = {place: row for row, place in enumerate(places)}
            blocking, started = np.zeros((2, len(rows), len(self.types)), np.int64)
            repeats = np.zeros((len(self.blocks), len(rows)), np.int64)
            uses = [self.use(*place) for place in rows]
            for row, use in enumerate(uses):
                for table, its in ((blocking, use.blocking), (started, use.started)):
                    for kind, often in its:
                        table[row, kind] = often
            for row, (begin, after) in enumerate(self.blocks):
                for first, end, repeat in self.segments[begin:after]:
                    if first < end:
                        repeats[row, rows[first, end]] += repeat
            computed = np.array([use.computed for use in uses], np.int64)
            self._counted[len(self.blocks)] = Counted(computed, blocking, started, repeats)
        return self._counted[len(self.blocks)]

    def pack(self, choices: Ints, updated_after: int = 0) -> Ints:
        """See `simcore.engine.fast.tables.pack_program`; whoever asks again gets the same array."""
        key = (Same(choices), updated_after)
        if key not in self._packed:
            self._packed[key] = pack_program(self.operators, self.segments, self.blocks, choices, updated_after)
        return self._packed[key]

    def add_schedule(self, program: Program, onward: Sequence[tuple[int, ...]]) -> Ints:
        """The block of every stage, chunk and kind (see `pipeline`), with where it sends, `[stages, chunks, KINDS]`.

        `onward[s]` is how far it is from stage s to the next one (from the last to the first).
        """
        p, v = program.stages, program.chunks
        self._around = onward[-1]
        sizes = program.sends or [program.send_bytes] * (p * v)
        schedule = ORDERS[program.schedule]
        path = schedule.path(p, v)
        programs = np.empty((v, p, pipeline.KINDS), np.int64)
        known: dict[Hashable, tuple[int, ...]] = {}
        message: Message | None = None
        for k, place in enumerate(path.tolist()):
            s, back = place % p, _returned(message) if program.trained else None
            message = self._message(sizes[k], onward, (s, path[k + 1] % p)) if k < p * v - 1 else None
            key = (program.part_of[place], message, back, id(program.final[s]))
            if key not in known:
                known[key] = self._blocks(program.parts[key[0]], message, back, (schedule.splits, program.final[s]))
            programs[place // p, s] = known[key]
        return programs.transpose(1, 0, 2).copy()

    def _message(self, size: float, onward: Sequence[tuple[int, ...]], between: tuple[int, int]) -> Message | None:
        """What a stage sends to the following one, as far as back; nothing where they are one and the same."""
        stage, following = between
        if stage == following:
            return None
        ahead = following == (stage + 1) % len(onward)
        return size, onward[stage if ahead else following], ahead if self.directed else None

    def _blocks(
        self, part: ModelPart, ahead: Message | None, back: Message | None, end: tuple[bool, tuple[Segment, ...]]
    ) -> tuple[int, ...]:
        """The blocks of a part, by kind (see `pipeline`), that sends these messages ahead and back.

        `end`: whether weight gradients are passes of their own, and what follows the last pass.
        """
        splits, final = end
        onward = None if ahead is None else self.message("pipeline", *ahead)
        returned = None if back is None else self.message("pipeline", *back)
        ends, sent = (part.last_weights, None) if splits else (part.last_backward, returned)
        return (
            self.block(part.forward, onward),
            self.block(part.backward, returned),
            self.block(part.last_backward, returned),
            self.block(ends, sent, final),
            self.block(part.weights, None),
            self.block(part.first_pass, onward),
            self.block(part.last_weights, None),
            self.block(part.alone_forward or part.forward, onward),
            self.block(part.alone_backward or part.backward, returned),
        )


def _returned(message: Message | None) -> Message | None:
    """What the following stage sends back."""
    if message is None or message[2] is None:
        return message
    size, hops, ahead = message
    return size, hops, not ahead


@dataclass(frozen=True)
class _Alike:
    """Programs have the same instructions where these are equal."""

    parts: Same[tuple[ModelPart, ...]]
    final: Same[tuple[tuple[Segment, ...], ...]]
    part_of: tuple[int, ...]
    stages: int
    chunks: int
    schedule: str
    trained: bool
    sends: tuple[float, ...] | float
    onward: tuple[tuple[int, ...], ...]
    compute: Same[OperatorTimes]
    directed: bool
    program: Program = field(compare=False)


def instructions_of(
    program: Program, onward: tuple[tuple[int, ...], ...], compute: OperatorTimes, directed: bool
) -> tuple[Instructions, Ints]:
    """The instructions of a Program and its `Instructions.add_schedule`, which others have, too: not to be changed."""
    sends = program.send_bytes if program.sends is None else program.sends
    sizes = (program.part_of, program.stages, program.chunks, program.schedule, program.trained, sends, onward)
    return _instructions(_Alike(Same(program.parts), Same(program.final), *sizes, Same(compute), directed, program))


@lru_cache(maxsize=KEPT)
def _instructions(alike: _Alike) -> tuple[Instructions, Ints]:
    instructions = Instructions(alike.compute.value, alike.directed)
    return instructions, instructions.add_schedule(alike.program, alike.onward)
