"""From a collective to chunks, and from a chunk to its ordered phases.

A collective is cut in `splits` equal chunks (a remainder counts as a whole chunk). Each chunk visits the
active dimensions: reduce-scatter and all-to-all upwards, all-gather downwards; an all-reduce does a full
all-reduce in every dimension (`baseline`), or reduce-scatters up to the last active dimension, all-reduces
there and all-gathers on the way back (`localBWAware`). Queues of a dimension are dealt out in turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from simcore.astra.engine.themis import LoadBalancer
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.network import Network
from simcore.astra.files.system import AlgorithmFamily, Collective, DimensionAlgorithm, SystemSettings

MAX_CHUNKS = 1 << 16
"""Most chunks of one collective; ASTRA-sim's own runs have 4 to 64."""


@dataclass(frozen=True)
class Group:
    """A communicator group: its id and its members in file order."""

    id: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """A collective as a workload asks for it; `size` in [B], `involved` one flag a dimension."""

    kind: Collective
    size: int
    involved: tuple[bool, ...] | None = None
    group: Group | None = None
    priority: int = 0


@dataclass(frozen=True)
class Level:
    """A logical dimension: `size` NPUs, `stride` ids apart; or the members of a group."""

    size: int
    stride: int
    members: tuple[int, ...] = ()

    def position(self, npu: int) -> int:
        """Return an NPU's place in its team."""
        return self.members.index(npu) if self.members else npu // self.stride % self.size

    def team(self, npu: int) -> tuple[int, tuple[int, ...]]:
        """Return an NPU's position and the ids of its team, position by position."""
        position = self.position(npu)
        if self.members:
            return position, self.members
        first = npu - position * self.stride
        return position, tuple(range(first, first + self.size * self.stride, self.stride))


@dataclass(frozen=True)
class QueuedPhase:
    """One stop of a chunk: what is run where, on how many bytes entering, in which queue."""

    kind: Collective
    algorithm: DimensionAlgorithm
    level: Level
    size: int
    queue: int
    clockwise: bool = True
    tree: int = 0  # double binary tree: 0 rooted at the last NPU, 1 at the first

    @property
    def final_size(self) -> int:
        """Bytes leaving the phase."""
        if self.algorithm.family is AlgorithmFamily.DOUBLE_BINARY_TREE:
            return self.size
        if self.kind is Collective.REDUCE_SCATTER:
            return self.size // self.level.size
        return self.size * self.level.size if self.kind is Collective.ALL_GATHER else self.size


Chunk = tuple[QueuedPhase, ...]


class QueueTurns:
    """Deals out the queues of one dimension: all in turn, the first half, or the second half."""

    def __init__(self, first: int, count: int) -> None:
        self._first = first
        self._count = count
        self._next = {"all": 0, "low": 0, "high": count // 2}

    def take(self, part: str) -> tuple[int, bool]:
        """Return the next queue of a part, and whether its ring runs clockwise."""
        place = self._next[part]
        start = self._count // 2 if part == "high" else 0
        end = self._count // 2 if part == "low" else self._count
        self._next[part] = place + 1 if place + 1 < end else start
        clockwise = part == "low" or (part == "all" and (self._count == 1 or place < self._count // 2))
        return self._first + place, clockwise


class Planner:
    """Plans the collectives of one NPU; it remembers whose turn it is among queues and trees.

    `sizes` are the logical dimensions: those of the network unless a training loop broke one in two.
    """

    def __init__(self, network: Network, system: SystemSettings, queues: int = 1, sizes: tuple[int, ...] = ()) -> None:
        self._npus = network.npus
        self._system = system
        self._sizes = sizes or network.sizes
        self._turns = [QueueTurns(index * queues, queues) for index in range(len(self._sizes))]
        self._trees: dict[tuple[Collective, int], int] = defaultdict(int)
        self._rotation = 0
        self._levels: dict[Collective, tuple[Level, ...]] = {}
        self._plans: dict[Request, tuple[Chunk, ...]] = {}
        self._queues = queues
        self.balancer: LoadBalancer | None = None

    @property
    def endpoint_delay(self) -> int:
        """Endpoint delay outside groups [ns]."""
        return self._system.endpoint_delay

    def plan(self, request: Request) -> tuple[Chunk, ...]:
        """Return the chunks of a collective, empty when no dimension takes part.

        Raises
        ------
        AstraInputError
            If ASTRA-sim would hang or leave: zero-byte chunks, a group of one, unfit algorithms.
        """
        if request in self._plans:
            return self._plans[request]
        if request.group is not None and len(request.group.members) != self._npus:
            chunks = tuple(self._group_chunks(request, request.group))
        else:
            chunks = tuple(self._chunks(request))
        if self._is_repeatable(request.kind):
            self._plans[request] = chunks
        return chunks

    def _is_repeatable(self, kind: Collective) -> bool:
        """Return whether the same request will always be planned the same: nobody takes turns."""
        trees = any(found.family is AlgorithmFamily.DOUBLE_BINARY_TREE for found in self._system.algorithms_of(kind))
        return self._queues == 1 and not trees and self._system.chunk_order == "ascending"

    def chunk_sizes(self, request: Request) -> list[int]:
        """Return the bytes of each chunk; the rules differ between 1.0 and 2.x."""
        splits, size = self._system.splits, request.size
        chunk = size // splits
        if not self._system.one and request.kind is not Collective.ALL_GATHER and chunk < self._npus:
            chunk, size = self._npus, splits * self._npus
        if chunk == 0:
            raise AstraInputError(
                f"{request.kind.value} of {size} B: expected at least preferred-dataset-splits = {splits} B; "
                "ASTRA-sim never finishes chunks of 0 B; lower the splits or raise the size"
            )
        count = -(-size // chunk)
        if count > MAX_CHUNKS:
            raise AstraInputError(
                f"preferred-dataset-splits: expected at most {MAX_CHUNKS} chunks a collective, got {count}"
            )
        sizes = [chunk] * count
        if self._system.one:
            sizes[-1] = size - (count - 1) * chunk
        return sizes

    def levels(self, kind: Collective) -> tuple[Level, ...]:
        """Return the logical dimensions that a collective's algorithm list spans."""
        if kind not in self._levels:
            self._levels[kind] = tuple(self._build_levels(self._system.algorithms_of(kind)))
        return self._levels[kind]

    def _build_levels(self, algorithms: tuple[DimensionAlgorithm, ...]) -> Iterator[Level]:
        if len(algorithms) > len(self._sizes):
            raise AstraInputError(
                f"{self._system.source}: expected at most {len(self._sizes)} algorithms, one a dimension, "
                f"got {len(algorithms)}"
            )
        stride = 1
        for algorithm, size in zip(algorithms, self._sizes, strict=False):
            if algorithm.flat:
                yield Level(self._npus, 1)
                return
            yield Level(size, stride)
            stride *= size
        if algorithms[-1].family is AlgorithmFamily.DOUBLE_BINARY_TREE and stride != self._npus:
            raise AstraInputError(f"{self._system.source}: doubleBinaryTree: expected one algorithm per dimension")

    def _chunks(self, request: Request) -> Iterator[Chunk]:
        algorithms, levels = self._system.algorithms_of(request.kind), self.levels(request.kind)
        involved = self._involved_flags(request, len(levels))
        if not any(flag and level.size > 1 for flag, level in zip(involved, levels, strict=False)):
            return
        repeatable = self._is_repeatable(request.kind)
        chunk: Chunk = ()
        sizes = self.chunk_sizes(request)
        for size in sizes:
            if repeatable and chunk and chunk[0].size == size:
                yield chunk
                continue
            # Themis books a remainder like the whole chunks before it.
            order = self._order(request.kind, sizes[0], involved, len(levels))
            active = [dim for dim in order if involved[dim] and levels[dim].size > 1]
            stops = self._stops(request.kind, active)
            chunk = self._chunk(request.kind, size, stops, algorithms, levels)
            yield chunk

    def _involved_flags(self, request: Request, levels: int) -> tuple[bool, ...]:
        if request.involved is None:
            return (True,) * levels
        if len(request.involved) < levels:
            raise AstraInputError(
                f"involved_dim: expected {levels} flags, one a dimension, got {len(request.involved)}"
            )
        return request.involved

    def _order(self, kind: Collective, size: int, involved: tuple[bool, ...], count: int) -> list[int]:
        """Return the order in which a chunk visits the dimensions."""
        order = list(range(count))
        if kind is Collective.ALL_GATHER:
            order.reverse()
        if self._system.chunk_order == "roundRobin":
            order = order[self._rotation :] + order[: self._rotation]
            self._rotation = (self._rotation + 1) % count
        elif self.balancer is not None and kind is not Collective.ALL_TO_ALL:
            order = self.balancer.order(kind is Collective.ALL_GATHER, size, involved)
        return order

    def _stops(self, kind: Collective, active: list[int]) -> list[tuple[int, Collective, str]]:
        """Return (dimension, operation, part of its queues) in the order of visit."""
        halves = ("all", "all") if self._system.one else ("low", "high")
        if kind is not Collective.ALL_REDUCE or not self._system.hierarchical:
            return [(dim, kind, "all") for dim in active]
        if self.balancer is not None:
            return [(dim, Collective.REDUCE_SCATTER, "all") for dim in active] + [
                (dim, Collective.ALL_GATHER, "all") for dim in reversed(active)
            ]
        up = [(dim, Collective.REDUCE_SCATTER, halves[0]) for dim in active[:-1]]
        down = [(dim, Collective.ALL_GATHER, halves[1]) for dim in reversed(active[:-1])]
        return [*up, (active[-1], Collective.ALL_REDUCE, halves[0]), *down]

    def _chunk(
        self,
        kind: Collective,
        size: int,
        stops: list[tuple[int, Collective, str]],
        algorithms: tuple[DimensionAlgorithm, ...],
        levels: tuple[Level, ...],
    ) -> Chunk:
        phases = []
        for dim, operation, part in stops:
            queue, clockwise = self._turns[dim].take(part)
            tree = 0
            if algorithms[dim].family is AlgorithmFamily.DOUBLE_BINARY_TREE:
                tree = self._trees[kind, dim] % 2
                self._trees[kind, dim] += 1
            phase = QueuedPhase(operation, algorithms[dim], levels[dim], size, queue, clockwise, tree)
            phases.append(phase)
            size = phase.final_size
        return tuple(phases)

    def _group_chunks(self, request: Request, group: Group) -> Iterator[Chunk]:
        """A smaller group is one flat ring over its members, unless there is a single algorithm."""
        if len(group.members) < 2:
            raise AstraInputError(
                f"group {group.id}: expected at least 2 members, got {len(group.members)}; "
                "ASTRA-sim never finishes a collective on one NPU"
            )
        algorithms = self._system.algorithms_of(request.kind)
        algorithm = algorithms[0] if len(algorithms) == 1 else DimensionAlgorithm(AlgorithmFamily.RING)
        if algorithm.family is AlgorithmFamily.DOUBLE_BINARY_TREE:
            raise AstraInputError(f"group {group.id}: expected ring, direct or halvingDoubling, got doubleBinaryTree")
        level = Level(len(group.members), 0, group.members)
        part = "low" if request.kind is Collective.ALL_REDUCE and self._system.hierarchical else "all"
        for size in self.chunk_sizes(request):
            queue, clockwise = self._turns[0].take(part)
            yield (QueuedPhase(request.kind, algorithm, level, size, queue, clockwise),)
