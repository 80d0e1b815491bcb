"""Least time of an iteration and of its collectives: sums that no order of events beats, each beside its reason.

Every function here takes integers [ps] or vectors of them, one entry a network (`simcore.bounds.many`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simcore.engine.fast import pipeline
from simcore.engine.fast.iteration import block_counts, block_issues
from simcore.engine.fast.lower import Lowering
from simcore.program import Program, Waits
from simcore.schedule import ORDERS
from simcore.system.chunks import ORDERED_KINDS, Chunker, Chunks, Phase
from simcore.system.interference import UNIT, slowdowns
from simcore.system.placement import Placement


def least_busy_times(paths: Sequence[Sequence[Phase]], counts: Sequence[int] | int) -> dict[int, Any]:
    """Least time that the chunks of a collective keep each dimension busy [ps].

    `counts` chunks take each of `paths`; or, if a number, that many chunks may take any of them, as a policy likes. A
    policy chooses orders by the bandwidths it finds, so a bound that may not rise with a bandwidth must hold for all
    orders: each dimension serves at least its smallest share of every chunk.
    """
    shares: list[dict[int, Any]] = []
    for path in paths:
        share: dict[int, Any] = {}
        for phase in path:
            share[phase.dimension] = share.get(phase.dimension, 0) + phase.serialization
        shares.append(share)
    if isinstance(counts, int):
        every = set(shares[0]).intersection(*shares)
        return {d: counts * elementwise_minimum([share[d] for share in shares]) for d in sorted(every)}
    busy: dict[int, Any] = {}
    for share, times in zip(shares, counts, strict=True):
        for d, time in share.items():
            busy[d] = busy.get(d, 0) + times * time
    return busy


def least_any_order_time(paths: Sequence[Sequence[Phase]], count: int, weights: Any) -> Any:
    """Least time of `count` chunks that may take any of `paths`, by what all dimensions serve together [ps].

    The longest service is at least any weighted mean of all. With the dimensions' rates as weights that is all bytes
    over all bandwidth; a reduce-scatter's bytes, m (1 - 1/n) on all dimensions together, are the same in every order.
    """
    whole = sum(weights[d] for d in {phase.dimension for path in paths for phase in path})
    sums = [sum(phase.serialization * (weights[phase.dimension] / whole) for phase in path) for path in paths]
    return count * elementwise_minimum(sums)


def least_way_time(paths: Sequence[Sequence[Phase]]) -> Any:
    """Least time of one chunk's way through any of `paths` [ps]."""
    return elementwise_minimum([sum(phase.serialization + phase.latency for phase in path) for path in paths])


def elementwise_minimum(values: Sequence[Any]) -> Any:
    """The least of numbers, or of vectors element by element."""
    return min(values) if isinstance(values[0], int) else np.minimum.reduce(values)


def routes(
    chunker: Chunker, placement: Placement, key: tuple[Any, ...], split: Chunks | None = None
) -> tuple[list[list[Phase]], list[int] | int]:
    """The paths that the chunks of one type of collective (given by `key`) may take; see `busy_least`.

    `split` is how it goes, where that is known already.
    """
    kind, group, size = key[:3]
    system = chunker.design.system
    if system.inter_dimension != "baseline" and kind in ORDERED_KINDS:
        return chunker.paths_in_every_order(kind, placement[group], size), system.chunks
    if split is None and len(key) > 3:
        split = chunker.split_message(placement[group], key[3], size)
    counted = (split or chunker.split_collective(kind, placement[group], size)).count_paths()
    return [path for path, _ in counted], [times for _, times in counted]


def collective_times(lowering: Lowering) -> tuple[list[int], list[dict[int, int]]]:
    """Of each type of collective: least time from issue to completion, and of service per dimension [ps]."""
    least, busy = [], []
    for key, (_, split) in lowering.keyed():
        paths, counts = routes(lowering.chunker, lowering.placement, key, split)
        used = least_busy_times(paths, counts)
        busy.append(used)
        together = 0
        if isinstance(counts, int):
            rates = [lowering.chunker.rate(d) for d in lowering.chunker.design.cluster.dimensions]
            together = int(least_any_order_time(paths, counts, rates) * (1 - 1e-12))
        least.append(max(least_way_time(paths), together, *used.values()))
    return least, busy


class IterationBound:
    """Least time of an iteration, as the largest of several sums.

    Durations are multiples of `unit`; `least[type]` and `busy[type][dimension]` are what a type of collective takes and
    keeps a dimension busy at least: integers [ps], or vectors, one bound for many networks (`simcore.bounds.many`).
    """

    def __init__(
        self,
        program: Program,
        lowering: Lowering,
        programs: list[list[list[int]]],
        least: Sequence[Any],
        busy: Sequence[Mapping[int, Any]],
        unit: Any = 1,
    ) -> None:
        self.program, self.lowering, self.programs = program, lowering, programs
        self._least, self._busy, self._nothing, self._unit = least, busy, 0 * unit, unit
        self._known: dict[tuple[str, int], Any] = {}
        self._split = ORDERS[program.schedule].splits

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

        A gather is issued when the one before it has arrived. What follows is as `reducing` has it.
        """
        if ("gathering", block) not in self._known:
            before = chain = after = self._nothing
            begun, reduced = False, None
            for code, argument, category, repeat in self._rows(block):
                if code == pipeline.START and category == Waits.PREFETCH:
                    begun, chain = True, chain + self._least[argument] * repeat
                elif code == pipeline.WAIT and argument == Waits.PREFETCH:
                    after, reduced = self._nothing, None
                elif begun and code == pipeline.START and category == Waits.GRADIENTS:
                    reduced = after + self._least[argument]
                elif code == pipeline.WAIT and argument == Waits.GRADIENTS and reduced is not None:
                    after, reduced = reduced, None
                elif begun:
                    after = after + self._operator_time(code, argument)
                else:
                    before = before + self._operator_time(code, argument) * repeat
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
        if self._has_start(Waits.PREFETCH):
            yield from self._schedule_sums(self.gathering_time)
        if self._reduces_each_microbatch():
            yield from self._schedule_sums(self.reducing_time)
        if self._has_start(Waits.EXCHANGE):
            yield from self._schedule_sums(self.exchanging_time)
        yield from self._dimension_sums()
        yield from self._slowed_sums()

    def _schedule_sums(self, worth: Callable[[int], Any], with_endings: bool = False) -> Iterator[Any]:
        """For each stage the blocks before it, its own, and those that follow, each `worth` its time."""
        m = self.program.microbatches
        fill = drain = self._nothing
        final_first = self._time_after(0)
        for s, chunks in enumerate(self.programs):
            final, ends = chunks[0][pipeline.FINAL], self._last_block(s)
            work = fill
            for block, times in block_counts(chunks, m, self._split):
                work = work + times * worth(ends if block == final else block)
            yield work + self._time_after(s)
            # Weight gradients of their own go on while the last microbatch passes back: then nothing follows them.
            if s and not self._split:
                yield work + drain + final_first
            for ending in self._ending_times(final) if with_endings else ():
                yield work - self.block_time(ends) + ending
            fill = fill + worth(chunks[0][pipeline.FIRST_FORWARD])
            drain = drain + worth(chunks[0][pipeline.BACKWARD])

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
            issues = block_issues(self.lowering, programs, self.program.microbatches, self._split)
            key = tuple(sorted(issues.items()))
            if key in seen:
                continue
            seen.add(key)
            used: dict[int, Any] = {}
            for kind, count in issues.items():
                for dimension, time in self._busy[kind].items():
                    used[dimension] = used.get(dimension, self._nothing) + time * count
            yield from used.values()

    def _slowed_sums(self) -> Iterator[Any]:
        """What overlap costs, for each stage and each dimension that slows computation beside what it serves.

        While a dimension serves started collectives for B in all, computation takes 1 + s times as long, unless its
        stage waits: for a blocking collective, or for input. So the stage needs its compute C, what it is blocked for,
        and s / (1 + s) of the part of B that is beside neither: at least C + (blocked + s B) / (1 + s).
        """
        m = self.program.microbatches
        for dimension, slow in enumerate(slowdowns(self.lowering.design)):
            share = slow / (UNIT + slow)
            fill = self._nothing
            for chunks in self.programs if slow else ():
                work = fill
                for block, times in block_counts(chunks, m, self._split):
                    work = work + times * self._slowed_time(block, dimension, share)
                yield work
                fill = fill + self.block_time(chunks[0][pipeline.FIRST_FORWARD])

    def _slowed_time(self, block: int, dimension: int, share: float) -> Any:
        """A block's compute, less than what it is blocked for, and `share` of what it starts on a dimension."""
        key = f"slowed {dimension}", block
        if key not in self._known:
            total = self._nothing
            for code, argument, _, repeat in self._rows(block):
                if code == pipeline.COMPUTE:
                    total = total + argument * self._unit * repeat
                elif code == pipeline.BLOCKING:
                    total = total + self._least[argument] * ((1.0 - share) * repeat)
                elif code == pipeline.START:
                    total = total + self._busy[argument].get(dimension, self._nothing) * (share * repeat)
            self._known[key] = total
        return self._known[key]

    def _time_after(self, s: int) -> Any:
        """What follows a stage's last backward: optimizer and blocking collectives."""
        return self.block_time(self.programs[s][0][pipeline.FINAL]) - self.block_time(self._last_block(s))

    def _last_block(self, s: int) -> int:
        """The block that the stage's very last one continues: its last backward, or the last weight gradients."""
        return self.programs[s][0][pipeline.LAST_WEIGHTS if self._split else pipeline.LAST_BACKWARD]

    def way_time(self, first: int, repeats: Sequence[int]) -> int:
        """One microbatch through all stages in chunks from `first` on, one block after the other (forward only).

        `repeats` says how often each chunk is taken to come.
        """
        return sum(
            times * self.block_time(self.programs[s][chunk][pipeline.FORWARD])
            for chunk, times in enumerate(repeats, first)
            for s in range(self.program.stages)
        )

    def serving_time(self, repeats: Sequence[int]) -> int:
        """What an iteration without training takes at least, each chunk as often as `repeats` says [ps]."""
        blocks = [[self.block_time(c[pipeline.FORWARD]) for c in stage[: len(repeats)]] for stage in self.programs]
        best = self.way_time(0, repeats)
        for s, stage in enumerate(blocks):
            fill, drain = sum(b[0] for b in blocks[:s]), sum(b[-1] for b in blocks[s + 1 :])
            own = sum(times * time for times, time in zip(repeats, stage, strict=True))
            best = max(best, fill + self.program.microbatches * own + drain)
        return best

    def further_time(self, repeats: Sequence[int]) -> int:
        """What follows at least when every request has its first token, chunks from 1 on as often as said [ps].

        The last microbatch goes through all stages; and the last stage, which has just ended its part of the first
        chunk, has those of all microbatches before it.
        """
        last = [self.block_time(chunk[pipeline.FORWARD]) for chunk in self.programs[-1][1 : 1 + len(repeats)]]
        own = sum(times * time for times, time in zip(repeats, last, strict=True))
        served: int = self.program.microbatches * own
        return max(self.way_time(1, repeats), served)
