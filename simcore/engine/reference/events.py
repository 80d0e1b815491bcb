"""How many events a run will take, before it starts.

A reference run costs a few microseconds an event. Its number follows from the design alone: one for each compute
operator and each completed collective; per chunk and phase of a collective, on every member, one for the pick and one
for the end of its service, and one for the flight of each slice; at link level two for each message and link. Each time
that what is served changes the pace of an operator there is one more, which depends on when that happens: not counted.
"""

from __future__ import annotations

from typing import assert_never

from simcore.collective import algorithm_for
from simcore.collective.double_binary_tree import PIECES
from simcore.design.design import Design
from simcore.engine import unflushed
from simcore.engine.reference.links import MOST_SEGMENTS
from simcore.graph import Action, Rank
from simcore.memory.plan import program_of
from simcore.network import Block, Chain, Exchange, Listed, Pattern, Send, Shape, Shift, Slice, Spread, Tree
from simcore.network.shared import SharedBlock
from simcore.program import TO_OTHER_END, Compute, Program, Start
from simcore.schedule import ORDERS
from simcore.system.chunks import FLAT, Chunker, Chunks, block_of
from simcore.system.placement import Placement, place
from simcore.system.steps import as_served


def estimate_events(design: Design, links: bool = False) -> int:
    """Events that the reference engine takes for `design` (with `links`: at link level)."""
    return count_all(EventCounter(design, place(design)[0], links))


def count_all(counter: EventCounter) -> int:
    """Events of all NPUs of a counter's design."""
    design, placement = counter.design, counter.placement
    program = program_of(design)
    single = program.single
    if single is not None and single.group not in placement:  # groups side by side on the innermost dimension
        sizes = {name: slices[0].part.members for name, slices in placement.items()}
        rows = design.cluster.npus // sum(sizes.values())
        return round(
            rows * sum(n * counter.count_collective(single.kind, name, single.size) for name, n in sizes.items())
        )
    if program.graph is not None:
        return round(sum(counter.count_rank(rank) for rank in program.graph.ranks))
    each_stage = [counter.count_stage(program, stage) for stage in range(program.stages)]
    batches = 1 if ORDERS[program.schedule].flushes else unflushed.usual_iterations(program)
    return round(batches * (design.cluster.npus // program.stages) * sum(each_stage))


class EventCounter:
    """Events of one NPU."""

    def __init__(self, design: Design, placement: Placement, links: bool) -> None:
        self.design, self.placement, self.links = design, placement, links
        self.chunker = Chunker(design)
        self.segments = MOST_SEGMENTS if design.cluster.switching == "interleaved" else 1
        self._known: dict[tuple[str, str, float], float] = {}

    def count_stage(self, program: Program, stage: int) -> float:
        """Events of an NPU of `stage`."""
        events = 0.0
        for segment, often in program.segments_of(stage):
            times = often * segment.repeat
            for operator in segment.operators:
                if isinstance(operator, Compute):
                    events += times
                elif isinstance(operator, Start):
                    events += times * self.count_collective(operator.kind, operator.group, operator.size)
        return events + self._count_sends(program)

    def count_rank(self, rank: Rank) -> float:
        """Events of one NPU of an explicit graph."""
        table, placement = rank.table, self.placement
        events = float(table.nodes)
        for number in table.operands[table.actions == Action.COLLECTIVE].tolist():
            kind, group, size = table.collectives[number]
            if placement[rank.groups[group]]:
                events += self.count_collective(kind, rank.groups[group], size)
        hops = (1,) * len(placement["all"])
        for slot in table.operands[table.actions == Action.SEND].tolist():
            size = table.sizes[slot]
            events += self.count_split("all", self.chunker.split_message(placement["all"], hops, size))
        return events

    def count_collective(self, kind: str, group: str, size: float) -> float:
        """Events of one member of a collective."""
        key = (kind, group, size)
        if key not in self._known:
            played = "send_recv" if kind in TO_OTHER_END else kind
            split = self.chunker.split_collective(played, self.placement[group], size)
            self._known[key] = self.count_split(group, split if self.links else as_served(self.design, split))
        return self._known[key]

    def count_split(self, group: str, split: Chunks) -> float:
        """Events of one member of a collective that is split like this."""
        slices = {where.dimension: where.part for where in self.placement[group]}
        events = 1.0
        for path, chunks in split.count_paths():
            for phase in path:
                part = slices.get(phase.dimension, _ALONE)
                if self.links:
                    events += chunks * 2 * self.segments * self._count_links(phase.dimension, phase.kind, part)
                else:
                    events += chunks * (2 + 1 / part.members)
        return events

    def _count_links(self, dimension: int, kind: str, part: Slice) -> float:
        """Links that the messages of one member pass in a phase."""
        where = self.design.cluster.dimensions[dimension]
        its = block_of(where)
        shape, links = its.shape(part), _count_passed(its, part)
        if kind == "send_recv":
            return links
        if kind.startswith(FLAT):
            return 4 * links * self.design.cluster.npus
        if kind == "shift":
            return links * (2 if shape.kind != "star" else 1)
        algorithm = algorithm_for(self.chunker.algorithm(dimension, kind), kind, shape)
        return links * sum(_count_crossed(step.pattern, shape, part) for step in algorithm.steps(kind, part.members))

    def _count_sends(self, program: Program) -> float:
        if program.stages == 1:
            return 0.0
        hops = (1,) * len(self.placement["pipeline"])
        virtual = len(program.part_of)
        sizes = [program.sent_bytes(k, 1) for k in range(virtual)] if program.sends else [program.send_bytes]
        splits = (self.chunker.split_message(self.placement["pipeline"], hops, size) for size in sizes)
        each = sum(self.count_split("pipeline", split) for split in splits) / len(sizes)
        return 2 * program.microbatches * program.chunks * each


_ALONE = Slice(1, 1, 1)
"""Who takes part where an NPU's chunk passes to or from the memory that weights stream in from."""


def _count_passed(block: Block, part: Slice) -> float:
    """Links that a message between neighbours, or through switches, passes; of one of many ways, all their links."""
    if isinstance(block, SharedBlock):
        return float(sum(map(len, block.chosen(part.size, 0, part.size // 2))))
    return 2.0 if block.switched else float(part.stride)


def _count_crossed(pattern: Pattern | Listed, shape: Shape, part: Slice) -> float:
    """Links between members, or ways through a switch, that one member's messages of a step pass."""
    n, beside = part.members, shape.kind != "star"
    match pattern:
        case Shift(steps):
            return (2 if shape.kind == "ring" else 1) * steps
        case Exchange(distance):
            return distance if beside else 1
        case Spread():
            return {"star": n - 1, "ring": 2 * (n // 2), "line": 2 * (n - 1)}[shape.kind]
        case Tree(depth):
            return 4 * PIECES * (depth if beside else 1)
        case Chain(pieces):
            return (2 if shape.kind == "ring" else 1) * pieces
        case Send(distance):
            return distance if beside else 1
        case Listed(messages):
            return len(messages) / n * (n / 2 if beside else 1)
        case _:
            assert_never(pattern)
