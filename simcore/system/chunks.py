"""From a collective to the phases of its chunks: what occupies which dimension for how long.

A collective is split into equal chunks; a chunk passes one phase per dimension of its group (an all-reduce up to two):
reduce_scatter on its dimensions in order, its bytes shrinking, then all_gather backwards; all_gather (input s)
outermost first, m = s (n - 1), s <- s n; all_to_all a full exchange on each dimension, of routed tokens with the copies
that cross it (`simcore.collective.routed`); broadcast outermost first; send_recv from the first member to the last one,
innermost first; shift from every member to the next. A phase takes the sum of bytes / bandwidth of its steps and their
latencies. It occupies its dimension for what its busiest link carries: where steps use different links, the next chunk
begins while this one is on the others, so the rest of the steps' time delays only this chunk, as a latency does. Where
the dimension's library of collectives is known, the phase takes what the library adds as well: what grows with the
bytes as part of its service (it keeps the NPU busy whichever the links), the kernel's launch as part of its latency.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from simcore.collective import FLAT_RING, CustomAlgorithm, ListedKind, ListedMessage, kernel_seconds, routed_of
from simcore.collective.routed import LATENCY
from simcore.collective.served import Served, memory_seconds, served_of, server_cost
from simcore.design.algorithm import CUSTOM
from simcore.design.design import Design
from simcore.design.dimension import Dimension, block_of
from simcore.design.efficiency import best_share, slowdown
from simcore.design.library import Kernel, Passes
from simcore.policy.inter_dimension import INTER_DIMENSION
from simcore.policy.inter_dimension.in_turn import take_turns
from simcore.system.flat_ring import flat_ring_phase
from simcore.system.hierarchy import goes_by_tree, phases_in_order, tree_phases
from simcore.system.known_phases import KnownPhases, Way, known_phases
from simcore.system.pace import LINKS_ALONE, Pace
from simcore.system.phase import FLAT, LONGEST, PICOSECONDS, Chunks, Phase, picoseconds, too_long_error
from simcore.system.phase_cost import PhaseCost, phase_cost, send_cost
from simcore.system.placement import GroupSlice
from simcore.system.rings import RING_KINDS, goes_round, ring_phases
from simcore.system.streamed import STREAMED, streamed_phases
from simcore.system.trees import crowded_out

__all__ = [
    "FLAT",
    "LINKS_ALONE",
    "LONGEST",
    "ORDERED_KINDS",
    "PICOSECONDS",
    "Chunker",
    "Chunks",
    "Pace",
    "Phase",
    "block_of",
    "custom_of",
    "distances_between",
    "picoseconds",
    "too_long_error",
]

ORDERED_KINDS = ("reduce_scatter", "all_reduce", "all_gather")
"""Collectives whose order of dimensions matters."""


def custom_of(design: Design, name: str) -> str | CustomAlgorithm:
    """The algorithm of the user that `custom:NAME` names; any other name as it is."""
    if not name.startswith(CUSTOM):
        return name
    kinds = []
    for kind, listed in design.system.algorithms[name.removeprefix(CUSTOM)].items():
        messages = tuple(ListedMessage(m.step, m.source, m.target, m.blocks, m.reduce) for m in listed.messages)
        kinds.append(ListedKind(kind, listed.members, listed.blocks, messages))
    return CustomAlgorithm(name, tuple(kinds))


def distances_between(here: Sequence[int], there: Sequence[int]) -> tuple[int, ...]:
    """Distance of two places in each dimension."""
    return tuple(abs(a - b) for a, b in zip(here, there, strict=True))


@lru_cache(maxsize=256)
def _steps_on(sizes: tuple[int, ...], members: int) -> tuple[tuple[int, ...], ...]:
    """See `Chunker.steps_on`, for a group with `sizes` members in its dimensions."""
    places = np.zeros((members, len(sizes)), np.int64)
    left = np.arange(members)
    for column, size in enumerate(sizes):
        left, places[:, column] = np.divmod(left, size)
    return tuple(tuple(way) for way in np.abs(places - np.roll(places, -1, axis=0)).tolist())


@dataclass(frozen=True)
class Chunker:
    """Splits collectives of one design into chunks and phases."""

    design: Design
    links_alone: bool = False
    """Whether phases take what their links take; what a library adds is in `Phase.passes` all the same."""
    _known: KnownPhases = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", known_phases(self.design))

    def algorithm(self, dimension: int, kind: str) -> str | CustomAlgorithm:
        """The algorithm of a dimension (of its library, for kinds that trees lack): its name, or the user's own."""
        name, library = self.design.algorithms[dimension], self.design.cluster.dimensions[dimension].library
        if kind in RING_KINDS and library is not None and name in library.algorithms:
            name = library.algorithm or name
        return custom_of(self.design, name)

    def rate(self, dimension: Dimension) -> float:
        """Most bandwidth that messages get on a dimension [B/s]; a fat tree knows which its spines slow down."""
        share = best_share(dimension.efficiency) * self.design.cluster.transport_share(dimension)
        return dimension.bandwidth * share / block_of(dimension).slowed

    def rate_reached(self, where: GroupSlice) -> float:
        """Most bandwidth that the collectives of a group get on its slice of a dimension [B/s]."""
        dimension = self.design.cluster.dimensions[where.dimension]
        return self.rate(dimension) * (dimension.affinity if where.crosses else 1.0)

    def _kernel_of(self, kind: str, where: GroupSlice) -> Kernel | None:
        """What the library adds to a collective of a group; None where there is none, or none that knows it."""
        dimension = self.design.cluster.dimensions[where.dimension]
        library = self.design.library_of(dimension)
        if library is None:
            return None
        return library.kernel(kind, where.part.members == dimension.size and block_of(dimension).reduces)

    def seconds(
        self, cost: PhaseCost, size: float, dimension: Dimension, rate: float, kernel: Kernel | None = None
    ) -> float:
        """The time that the steps of a phase of `size` bytes take [s]."""
        links = cost.load_of(size, dimension.efficiency) * size / rate
        return links if kernel is None else kernel.seconds(links, size, self.design.system.chunks)

    def pace(self, kind: str, where: GroupSlice, size: float) -> Pace:
        """What the library adds to a phase of `size` bytes that is played message by message."""
        if kind == "send_recv":  # from the first member to the last one
            return self.message_pace(where, where.part.members - 1, size)
        its = self._way(kind, where)
        return self._pace(its.cost, size, its.dimension, its.rate, its.kernel)

    def message_pace(self, where: GroupSlice, distance: int, size: float) -> Pace:
        """What the library adds to a message of `size` bytes between members that are `distance` apart."""
        dimension = self.design.cluster.dimensions[where.dimension]
        kernel = self._kernel_of("send_recv", where)
        return self._pace(
            send_cost(block_of(dimension), where.part, distance), size, dimension, self.rate(dimension), kernel
        )

    def _pace(self, cost: PhaseCost, size: float, dimension: Dimension, rate: float, kernel: Kernel | None) -> Pace:
        if kernel is None:
            return LINKS_ALONE
        links = self.seconds(cost, size, dimension, rate)
        return Pace(self.seconds(cost, size, dimension, rate, kernel) / links, picoseconds(kernel.launch, least=0))

    def phase(
        self,
        kind: str,
        where: GroupSlice,
        size: float,
        entering: float,
        of_two: bool = False,
        ring_steps: int | None = None,
    ) -> Phase:
        """See `PhaseMaker.phase`."""
        its = self._way(kind, where, of_two)
        cost, rate, kernel = its.cost, its.rate, its.kernel
        further = 0 if ring_steps is None else self._further_steps(ring_steps, cost, where)
        if its.elsewhere is not None:  # most phases: the same in fewer calls
            links = cost.load * size / rate
            if kernel is not None and not self.links_alone:
                links = kernel.seconds(links, size, self.design.system.chunks)
            steps, other = picoseconds(links), 0
            if its.elsewhere > 0:
                other = min(picoseconds(its.elsewhere * size / rate, least=0), steps - 1)
        else:
            timed = self.seconds(cost, size, its.dimension, rate, None if self.links_alone else kernel)
            steps = picoseconds(timed)
            other = self._other_links(cost, size, its.dimension, rate, steps)
        return Phase(
            where.dimension,
            steps - other,
            its.latency + other + further,
            entering,
            cost.sent * size,
            kind,
            None if kernel is None else self._passes(kernel, size),
            other,
            cost.in_switch,
            its.in_a_row,
            False,
            further,
        )

    def _further_steps(self, ring_steps: int, cost: PhaseCost, where: GroupSlice) -> int:
        """The latency of so many steps to a neighbour, beyond that of the algorithm's own steps [ps]."""
        dimension = self.design.cluster.dimensions[where.dimension]
        a_step = phase_cost("ring", block_of(dimension), "shift", where.part).hops
        return picoseconds(max(0.0, ring_steps * a_step - cost.hops) * dimension.latency, least=0)

    def _links_phase(self, kind: str, where: GroupSlice, size: float) -> Phase:
        """A phase of `size` [B] by a kernel of its own, no library's, which is counted beside it."""
        cost, dimension, rate, *_, in_a_row, _ = self._way(kind, where)
        steps = picoseconds(self.seconds(cost, size, dimension, rate))
        other = self._other_links(cost, size, dimension, rate, steps)
        latency = picoseconds(cost.hops * dimension.latency, least=0)
        phase = Phase(where.dimension, steps - other, latency + other, size, cost.sent * size, kind, None, other)
        return phase._replace(steps=in_a_row)

    def _other_links(self, cost: PhaseCost, size: float, dimension: Dimension, rate: float, steps: int) -> int:
        """The part of the time that the `steps` of a phase take in which its busiest link is free [ps].

        The rest occupies the dimension: at least 1 ps, and all that a library does beyond the links.
        """
        elsewhere = cost.elsewhere_of(size, dimension.efficiency)
        return min(picoseconds(elsewhere * size / rate, least=0), steps - 1) if elsewhere else 0

    def _way(self, kind: str, where: GroupSlice, of_two: bool = False) -> Way:
        """Collectives differ in size more than in kind and place."""
        known: Way | None = self._known.ways.get((kind, where, of_two))
        if known is None:
            dimension = self.design.cluster.dimensions[where.dimension]
            algorithm = self.algorithm(where.dimension, kind)
            reduces = self.has_tree(where) and (not of_two or self.design.system.reduction == "tree")
            cost = phase_cost(algorithm, block_of(dimension), kind, where.part, reduces, of_two)
            kernel = self._kernel_of(kind, where)
            latency = picoseconds(cost.hops * dimension.latency + (kernel.launch if kernel else 0.0), least=0)
            elsewhere = (
                None if isinstance(dimension.efficiency, tuple) else cost.elsewhere_of(0.0, dimension.efficiency)
            )
            known = Way(cost, dimension, self.rate_reached(where), latency, kernel, cost.in_a_row, elsewhere)
            self._known.ways[kind, where, of_two] = known
        return known

    def split_collective(self, kind: str, group: Sequence[GroupSlice], size: float) -> Chunks:
        """Phases of the chunks of a collective of `size` [B]; others may have the same, so nobody changes them."""
        key = kind, tuple(group), size, self.links_alone
        return self._known.collectives.get(key) or self._known.keep(key, self._split(kind, group, size))

    def _split(self, kind: str, group: Sequence[GroupSlice], size: float) -> Chunks:
        chunks = self.design.system.chunks
        chunk = size / chunks
        if kind == "send_recv":
            return self.split_message(group, tuple(where.part.members - 1 for where in group), size)
        if kind == "shift":
            return Chunks([[self._shift_phase(group, chunk)]], [0] * chunks)
        if routed_of(kind):
            return Chunks([self._routed_phases(kind, group, chunk)], [0] * chunks)
        if kind in STREAMED:
            return Chunks([streamed_phases(self, kind, group, chunk)], [0] * chunks)
        if served := served_of(kind):
            return Chunks([self._served_phases(served, group, chunk)], [0] * chunks)
        if goes_by_tree(self, kind, group):
            return Chunks([tree_phases(self, kind, group, chunk)], [0] * chunks)
        if kind not in ORDERED_KINDS:
            order = group[::-1] if kind == "broadcast" else group
            return Chunks([[self.phase(kind, where, chunk, chunk) for where in order]], [0] * chunks)
        if len(group) > 1 and any(self.design.algorithms[where.dimension] == FLAT_RING for where in group):
            reached, kernels = map(self.rate_reached, group), (self._kernel_of(kind, where) for where in group)
            phase = flat_ring_phase(self.design, kind, group, chunk, [*reached], next(filter(None, kernels), None))
            return Chunks([[phase]], [0] * chunks)
        policy = INTER_DIMENSION[self.design.system.inter_dimension]
        sizes = [where.part.members for where in group]
        whole = chunk * math.prod(sizes) if kind == "all_gather" else chunk
        if goes_round(self.design, kind, group):  # has no order to choose
            return Chunks([ring_phases(self, kind, group, whole)], [0] * chunks)
        if turns := self._turns(group):
            plan = take_turns(turns, chunks)
        else:
            rates = [self._group_rate(where, whole, kind == "all_reduce") for where in group]
            plan = policy.orders(sizes, rates, chunks)
        merge, known = policy.merges_turn, dict[Any, Any]()
        paths = [phases_in_order(self, kind, [group[i] for i in order], whole, merge, known) for order in plan.orders]
        return Chunks(paths, plan.chosen)

    def _turns(self, group: Sequence[GroupSlice]) -> list[bool]:
        """Which dimensions of a group its chunks begin on in turn; nothing where they take one order, or a policy's."""
        at_once = [self.design.cluster.dimensions[where.dimension].at_once for where in group]
        return at_once if self.design.system.inter_dimension == "baseline" and sum(at_once) > 1 else []

    def has_tree(self, where: GroupSlice) -> bool:
        """See `PhaseMaker.has_tree`."""
        return self.design.cluster.dimensions[where.dimension].in_network and where not in crowded_out(self.design)

    def _routed_phases(self, kind: str, group: Sequence[GroupSlice], size: float) -> list[Phase]:
        """Exchanges of the copies of `size` bytes of tokens that cross each dimension; a kernel feeds the innermost."""
        routed = routed_of(kind)
        assert routed is not None
        phases, shares = [], 1
        for where in reversed(group):
            shares *= where.part.members
            copies = size * routed.routing.copies(shares)
            phases.append(self._links_phase("all_to_all", where, copies))
        if routed.row:
            first, beside = (picoseconds(time, least=0) for time in kernel_seconds(routed, size, shares))
            inner = phases[-1]
            steps = first + max(beside, inner.serialization + inner.other_links)
            phases[-1] = inner._replace(
                serialization=steps - inner.other_links,
                latency=inner.latency + picoseconds(LATENCY),
            )
        return phases if routed.way == "dispatch" else phases[::-1]

    def _served_phases(self, served: Served, group: Sequence[GroupSlice], size: float) -> list[Phase]:
        """Added up on inner dimensions, pushed to servers on the outermost one, pulled, and gathered back."""
        *inner, outer = group
        scatter, gather = [], []
        for where in inner:
            scatter.append(self.phase("reduce_scatter", where, size, size, of_two=True))
            gather.append(self.phase("all_gather", where, size, size / where.part.members, of_two=True))
            size /= where.part.members
        dimension, npus = self.design.cluster.dimensions[outer.dimension], self.design.cluster.npus
        cost, rate = server_cost(served, outer.part.members, npus), self.rate_reached(outer)
        slowed = slowdown(dimension.efficiency, size / served.servers) * size / rate
        memory = 0.0 if self.links_alone else memory_seconds(served, npus) * size / 2
        alone, occupied = (picoseconds(max(time, memory)) for time in (cost.alone * slowed, cost.occupied * slowed))
        latency, other = picoseconds(dimension.latency, least=0) + alone - occupied, alone - occupied
        pushed, pulled = (
            Phase(outer.dimension, occupied, latency, size, sent * size, kind, None, other)
            for kind, sent in (("push", cost.pushed), ("pull", cost.pulled))
        )
        return [*scatter, pushed, pulled, *reversed(gather)]

    def _shift_phase(self, group: Sequence[GroupSlice], size: float) -> Phase:
        """Every member of a group passes a chunk on to the next one of a ring: all wait for the slowest dimension."""
        phases = [self.phase("shift", where, size, size) for where in group]
        return max(phases, key=lambda phase: (phase.serialization + phase.latency, phase.dimension))

    def paths_in_every_order(self, kind: str, group: Sequence[GroupSlice], size: float) -> list[list[Phase]]:
        """The path of a chunk for every order of the group's dimensions."""
        whole = size / self.design.system.chunks
        if goes_by_tree(self, kind, group):
            return [tree_phases(self, kind, group, whole)]
        if kind == "all_gather":
            whole *= math.prod(where.part.members for where in group)
        if goes_round(self.design, kind, group):
            return [ring_phases(self, kind, group, whole)]
        merge = INTER_DIMENSION[self.design.system.inter_dimension].merges_turn
        known: dict[Any, Any] = {}
        return [phases_in_order(self, kind, order, whole, merge, known) for order in itertools.permutations(group)]

    def _group_rate(self, where: GroupSlice, size: float, of_two: bool) -> float:
        """Bandwidth of a group on its slice: bytes of a reduce-scatter of `size` [B] / its serialization."""
        cost, dimension, rate, _, kernel, _, elsewhere = self._way("reduce_scatter", where, of_two)
        if elsewhere is None:
            elsewhere = cost.elsewhere_of(size, dimension.efficiency)
        if kernel is None:
            return rate * cost.sent / (cost.load_of(size, dimension.efficiency) - elsewhere)
        return cost.sent * size / (self.seconds(cost, size, dimension, rate, kernel) - elsewhere * size / rate)

    def place_of(self, group: Sequence[GroupSlice], member: int) -> tuple[int, ...]:
        """Where a member of a group is in each of its dimensions, counted in members."""
        place = []
        for where in group:
            member, here = divmod(member, where.part.members)
            place.append(here)
        return tuple(place)

    def hops(self, group: Sequence[GroupSlice], origin: int, target: int) -> tuple[int, ...]:
        """How far apart two members of a group are in each of its dimensions, in members."""
        return distances_between(self.place_of(group, origin), self.place_of(group, target))

    def steps_on(self, group: Sequence[GroupSlice], members: int) -> tuple[tuple[int, ...], ...]:
        """How far each of the first `members` of a group is from the next one; the last one's next is the first."""
        return _steps_on(tuple(where.part.members for where in group), members)

    def split_message(self, group: Sequence[GroupSlice], hops: tuple[int, ...], size: float) -> Chunks:
        """Phases of the chunks of a message between members that are `hops` apart.

        Where they differ in several dimensions the message passes them innermost first, on the sender's queues.
        Others may have the same, so nobody changes them.
        """
        key = "message", tuple(group), size, self.links_alone, hops
        return self._known.collectives.get(key) or self._known.keep(key, self._split_message(group, hops, size))

    def _split_message(self, group: Sequence[GroupSlice], hops: tuple[int, ...], size: float) -> Chunks:
        chunks = self.design.system.chunks
        path = [self._hop_phase(where, hop, size / chunks) for where, hop in zip(group, hops, strict=True) if hop]
        return Chunks([path], [0] * chunks)

    def _hop_phase(self, where: GroupSlice, distance: int, size: float) -> Phase:
        dimension = self.design.cluster.dimensions[where.dimension]
        cost = send_cost(block_of(dimension), where.part, distance)
        kernel = self._kernel_of("send_recv", where)
        timed = self.seconds(cost, size, dimension, self.rate(dimension), None if self.links_alone else kernel)
        latency = picoseconds(cost.hops * dimension.latency + (kernel.launch if kernel else 0.0), least=0)
        return Phase(where.dimension, picoseconds(timed), latency, size, size, "send_recv", self._passes(kernel, size))

    def _passes(self, kernel: Kernel | None, size: float) -> Passes | None:
        return None if kernel is None else Passes(kernel, size, self.design.system.chunks)
