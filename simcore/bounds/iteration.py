"""Least time of an iteration: sums that no order of events beats, each beside its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from simcore.bounds.collective import CollectiveTime
from simcore.bounds.overlap import StageUse
from simcore.engine.fast import pipeline
from simcore.engine.fast.iteration import block_counts, block_issues
from simcore.engine.fast.lower import Lowering
from simcore.program import Program, Waits
from simcore.schedule import ORDERS


class IterationBound:
    """Least time of an iteration, as the largest of several sums.

    Durations are multiples of `unit`; `times` are what each type of collective takes: integers [ps], or vectors, one
    bound for many networks (`simcore.bounds.many`).
    """

    def __init__(
        self,
        program: Program,
        lowering: Lowering,
        programs: list[list[list[int]]],
        times: Sequence[CollectiveTime],
        unit: Any = 1,
    ) -> None:
        self.program, self.lowering, self.programs = program, lowering, programs
        self._least, self._busy = [time.least for time in times], [time.busy for time in times]
        self._nothing, self._unit = 0 * unit, unit
        self._known: dict[tuple[str, int], Any] = {}
        self._split, self._flushes = ORDERS[program.schedule].splits, ORDERS[program.schedule].flushes

    @cached_property
    def _sizes(self) -> list[float]:
        """Bytes of each type of collective."""
        return [float(key[2]) for key, _ in self.lowering.keyed()]

    def _rows(self, block: int) -> Iterator[tuple[int, int, int, int]]:
        """The operators of a block (see `pipeline`), and how often each repeats."""
        for segment in range(*self.lowering.blocks[block]):
            first, end, repeat = self.lowering.segments[segment]
            for code, argument, category in self.lowering.operators[first:end]:
                yield code, argument, category, repeat

    def _operator_time(self, code: int, argument: int) -> Any:
        """What an operator takes of its stage's time."""
        if code == pipeline.COMPUTE:
            return argument * self._unit
        return self._least[argument] if code == pipeline.BLOCKING else self._nothing

    def block_time(self, block: int) -> Any:
        """A block: its operators and blocking collectives one after the other."""
        if ("block", block) not in self._known:
            total = self._nothing
            for segment in range(*self.lowering.blocks[block]):
                first, end, repeat = self.lowering.segments[segment]
                if end > first:
                    total = total + self._segment_time_once(first, end) * repeat
            self._known["block", block] = total
        return self._known["block", block]

    def _segment_time_once(self, first: int, end: int) -> Any:
        """The operators of a segment, which many blocks have, one after the other."""
        if ("once", first) not in self._known:
            total = self._nothing
            for code, argument, _ in self.lowering.operators[first:end]:
                if code in (pipeline.COMPUTE, pipeline.BLOCKING):
                    total = total + self._operator_time(code, argument)
            self._known["once", first] = total
        return self._known["once", first]

    def gathering_time(self, block: int) -> Any:
        """A block under ZeRO-3: what precedes the first gather, one gather after the other, what follows the last.

        A gather is issued when those before it have arrived, but for some that are waited for together: a layer's
        experts are gathered beside its other weights. Of these the one with the most bytes counts. What follows is as
        `reducing` has it.
        """
        if ("gathering", block) not in self._known:
            before = chain = after = together = self._nothing
            begun, reduced, most = False, None, -1.0
            for code, argument, category, repeat in self._rows(block):
                if code == pipeline.START and category == Waits.PREFETCH:
                    begun = True
                    if (size := self._sizes[argument] * repeat) > most:
                        most, together = size, self._least[argument] * repeat
                elif code == pipeline.WAIT and argument == Waits.PREFETCH:
                    chain, together, most = chain + together, self._nothing, -1.0
                    after, reduced = self._nothing, None
                elif begun and code == pipeline.START and category == Waits.GRADIENTS:
                    reduced = after + self._least[argument]
                elif code == pipeline.WAIT and argument == Waits.GRADIENTS and reduced is not None:
                    after, reduced = reduced, None
                elif begun:
                    after = after + self._operator_time(code, argument)
                else:
                    before = before + self._operator_time(code, argument) * repeat
            chain = chain + together
            self._known["gathering", block] = before + chain + after if begun else self.reducing_time(block)
        return self._known["gathering", block]

    def reducing_time(self, block: int) -> Any:
        """A block along its last gradient bucket: what precedes it, the bucket, what follows the wait for it."""
        if ("reducing", block) not in self._known:
            total, reduced = self._nothing, None
            for code, argument, category, repeat in self._rows(block):
                if code == pipeline.START and category == Waits.GRADIENTS:
                    reduced = total + self._least[argument]
                elif code == pipeline.WAIT and argument == Waits.GRADIENTS and reduced is not None:
                    total, reduced = reduced, None
                else:
                    total = total + self._operator_time(code, argument) * repeat
            self._known["reducing", block] = total
        return self._known["reducing", block]

    def exchanging_time(self, block: int) -> Any:
        """A block along the exchange of embeddings: what precedes its start, the exchange, what follows its wait."""
        if ("exchanging", block) not in self._known:
            total, begun = self._nothing, False
            for code, argument, category, repeat in self._rows(block):
                if code == pipeline.START and category == Waits.EXCHANGE:
                    begun, total = True, total + self._least[argument]
                elif code == pipeline.WAIT and argument == Waits.EXCHANGE:
                    begun = False
                elif not begun:
                    total = total + self._operator_time(code, argument) * repeat
            self._known["exchanging", block] = total
        return self._known["exchanging", block]

    def _ending_times(self, block: int) -> list[Any]:
        if ("ended", block) not in self._known:
            self._known["ended", block] = list(self._find_endings(block))
        found: list[Any] = self._known["ended", block]
        return found

    def _find_endings(self, block: int) -> Iterator[Any]:
        """The very last backward and what follows it: up to a gradient bucket, that bucket, then what waits for it.

        So for each bucket; and for all buckets and what else uses their dimension, from the first of them on.
        """
        rows = list(self._rows(block))
        wait = [i for i, row in enumerate(rows) if row[0] == pipeline.WAIT and row[1] == Waits.GRADIENTS]
        if not wait:
            return
        after = self._rows_time(rows[wait[-1] :])
        used: dict[int, Any] | None = None
        now = self._nothing
        first = self._nothing
        for code, argument, category, repeat in rows[: wait[-1]]:
            bucket = code == pipeline.START and category == Waits.GRADIENTS
            if bucket:
                yield now + self._least[argument] + after
                if used is None:
                    used, first = {}, now
            if used is not None and code in (pipeline.START, pipeline.BLOCKING):
                for dimension, time in self._busy[argument].items():
                    used[dimension] = used.get(dimension, self._nothing) + time * repeat
            if code in (pipeline.COMPUTE, pipeline.BLOCKING):
                now = now + self._operator_time(code, argument) * repeat
        for time in (used or {}).values():
            yield first + time + after

    def _rows_time(self, rows: Sequence[tuple[int, int, int, int]]) -> Any:
        total = self._nothing
        for code, argument, _, repeat in rows:
            total = total + self._operator_time(code, argument) * repeat
        return total

    def sums(self) -> Iterator[Any]:
        """What an iteration of training takes at least, said in several ways, for all stages."""
        yield from self._schedule_sums(self.block_time, with_endings=True)
        if not self._flushes:  # nothing is gathered or exchanged there, and all else is a stage's own
            yield from self._dimension_sums()
            return
        if self._has_start(Waits.PREFETCH):
            yield from self._schedule_sums(self.gathering_time)
        if self._reduces_each_microbatch():
            yield from self._schedule_sums(self.reducing_time)
        if self._has_start(Waits.EXCHANGE):
            yield from self._schedule_sums(self.exchanging_time)
        yield from self._dimension_sums()

    @cached_property
    def _last_of_alike(self) -> frozenset[int]:
        """The last one of stages that do the same: no less comes before it than before the others."""
        return frozenset({tuple(map(tuple, chunks)): s for s, chunks in enumerate(self.programs)}.values())

    def _schedule_sums(self, worth: Callable[[int], Any], with_endings: bool = False) -> Iterator[Any]:
        """For each stage the blocks before it, its own, and those that follow, each `worth` its time."""
        if not self._flushes:
            yield from self._unflushed_sums(worth, with_endings)
            return
        fill = drain = self._nothing
        final_first = self._time_after(0)
        for s, chunks in enumerate(self.programs):
            if s in self._last_of_alike:
                final, ends = chunks[0][pipeline.FINAL], self._last_block(s)
                work = self._add_blocks(fill, s, worth)
                yield work + self._time_after(s)
                # Weight gradients of their own go on while the last microbatch passes back: then nothing follows them.
                if s and not self._split:
                    yield work + drain + final_first
                for ending in self._ending_times(final) if with_endings else ():
                    yield work - self.block_time(ends) + ending
            fill = fill + worth(chunks[0][pipeline.FIRST_FORWARD])
            drain = drain + worth(chunks[0][pipeline.BACKWARD])

    def _add_blocks(self, before: Any, s: int, worth: Callable[[int], Any]) -> Any:
        """What precedes a stage's own blocks, and these, the last of them without what follows the last backward."""
        final, ends = self.programs[s][0][pipeline.FINAL], self._last_block(s)
        for block, times in block_counts(self.programs[s], self.program.microbatches, self._split):
            before = before + times * worth(ends if block == final else block)
        return before

    def _unflushed_sums(self, worth: Callable[[int], Any], with_endings: bool) -> Iterator[Any]:
        """For each stage its own blocks alone: nothing fills or drains, and all of a batch come between two updates."""
        for chunks in map(self.programs.__getitem__, self._last_of_alike):
            counts = block_counts(chunks, self.program.microbatches, self._split, self.program.updates)
            own = sum((times * worth(block) for block, times in counts), self._nothing)
            yield own
            final = chunks[0][pipeline.FINAL]
            for ending in self._ending_times(final) if with_endings else ():
                yield own + self.program.updates * (ending - worth(final))

    def _reduces_each_microbatch(self) -> bool:
        """Whether gradients are reduced in every microbatch."""
        usual = {stage[0][pipeline.BACKWARD] for stage in self.programs}
        ends = (pipeline.WAIT, int(Waits.GRADIENTS))
        return any(row[:2] == ends for block in usual for row in self._rows(block))

    def _has_start(self, waits: Waits) -> bool:
        return any(code == pipeline.START and how == waits for code, _, how in self.lowering.operators)

    def _dimension_sums(self) -> Iterator[Any]:
        """What each dimension serves, for each stage: one phase at a time."""
        seen: set[tuple[tuple[int, int], ...]] = set()
        for programs in self.programs:
            issues = block_issues(self.lowering, programs, self.program.microbatches, self._split, self.program.updates)
            key = tuple(sorted(issues.items()))
            if key in seen:
                continue
            seen.add(key)
            used: dict[int, Any] = {}
            for kind, count in issues.items():
                for dimension, time in self._busy[kind].items():
                    used[dimension] = used.get(dimension, self._nothing) + time * count
            yield from used.values()

    def stage_uses(self) -> list[StageUse]:
        """The stages that compute beside collectives; of those that do the same the last one, which begins last."""
        found: dict[Any, StageUse] = {}
        fill = self._nothing
        known: dict[Any, tuple[int, dict[int, tuple[int, int]]]] = {}
        for chunks in self.programs:
            alike = tuple(map(tuple, chunks))
            if alike not in known:
                known[alike] = self._stage_use(chunks)
            computed, used = known[alike]
            if any(started for started, _ in used.values()):
                found[computed, tuple(used.items())] = StageUse(fill + computed * self._unit, used)
            if self._flushes:
                fill = fill + self.block_time(chunks[0][pipeline.FIRST_FORWARD])
        return list(found.values())

    def _stage_use(self, chunks: list[list[int]]) -> tuple[int, dict[int, tuple[int, int]]]:
        """A stage's compute alone [ps], and how often it starts each type of collective, and is blocked by it."""
        computed, used = 0, dict[int, tuple[int, int]]()
        for block, times in block_counts(chunks, self.program.microbatches, self._split, self.program.updates):
            alone, often = self._block_use(block)
            computed += times * alone
            for kind, (started, blocking) in often.items():
                before = used.get(kind, (0, 0))
                used[kind] = before[0] + times * started, before[1] + times * blocking
        return computed, used

    def _block_use(self, block: int) -> tuple[int, dict[int, tuple[int, int]]]:
        """A block's compute alone [ps], and how often each type of collective is started and blocks in it."""
        if ("use", block) not in self._known:
            computed, used = 0, dict[int, tuple[int, int]]()
            for code, argument, _, repeat in self._rows(block):
                started, blocking = used.get(argument, (0, 0))
                if code == pipeline.COMPUTE:
                    computed += argument * repeat
                elif code == pipeline.START:
                    used[argument] = started + repeat, blocking
                elif code == pipeline.BLOCKING:
                    used[argument] = started, blocking + repeat
            self._known["use", block] = computed, used
        found: tuple[int, dict[int, tuple[int, int]]] = self._known["use", block]
        return found

    def _time_after(self, s: int) -> Any:
        """What follows a stage's last backward: optimizer and blocking collectives."""
        return self.block_time(self.programs[s][0][pipeline.FINAL]) - self.block_time(self._last_block(s))

    def _last_block(self, s: int) -> int:
        """The block that the stage's very last one continues: its last backward, or the last weight gradients."""
        return self.programs[s][0][pipeline.LAST_WEIGHTS if self._split else pipeline.LAST_BACKWARD]

    def way_time(self, first: int, repeats: Sequence[float]) -> Any:
        """One microbatch through all stages in chunks from `first` on, one block after the other (forward only).

        `repeats` says how often each chunk is taken to come.
        """
        return sum(
            times * self.block_time(self.programs[s][chunk][pipeline.FORWARD])
            for chunk, times in enumerate(repeats, first)
            for s in range(self.program.stages)
        )

    def serving_sums(self, repeats: Sequence[float]) -> Iterator[Any]:
        """What an iteration without training takes at least, said in several ways, each chunk as often as `repeats`."""
        blocks = [self._forward_times(s)[: len(repeats)] for s in range(len(self.programs))]
        yield self.way_time(0, repeats)
        for s, stage in enumerate(blocks):
            fill, drain = sum(b[0] for b in blocks[:s]), sum(b[-1] for b in blocks[s + 1 :])
            own = sum(times * time for times, time in zip(repeats, stage, strict=True))
            yield fill + self.program.microbatches * own + drain

    def serving_time(self, repeats: Sequence[float]) -> float:
        """The longest of `serving_sums` [ps]."""
        longest: float = max(self.serving_sums(repeats))
        return longest

    def further_sums(self, repeats: Sequence[float], first: IterationBound) -> Iterator[Any]:
        """What follows at least on the first token (`first`), chunks from 1 on as often as said.

        Where every request has its first token by then, the last microbatch goes through all stages, and the last
        stage, which has just ended its part of the first chunk, has the further ones of all microbatches. Where only
        one pass of prompts is over, the others come as well: all of the time but that pass.
        """
        m, last, opened = self.program.microbatches, self._forward_times(-1), self.program.opening
        further = sum(times * time for times, time in zip(repeats, last[1 : 1 + len(repeats)], strict=True))
        if opened is None:
            yield self.way_time(1, repeats)
            yield m * further
            return
        way, pass_ = self.way_time(0, [1]), first.way_time(0, [1])
        yield way - pass_ + self.way_time(1, repeats)
        yield way - pass_ + (m - 1) * last[0] + m * further

    def _forward_times(self, stage: int) -> list[Any]:
        """The chunks of a microbatch that goes forward, on a stage."""
        return [self.block_time(chunk[pipeline.FORWARD]) for chunk in self.programs[stage]]

    def further_time(self, repeats: Sequence[float], first: IterationBound) -> float:
        """The longest of `further_sums` [ps]."""
        longest: float = max(self.further_sums(repeats, first))
        return longest
