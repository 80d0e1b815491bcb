"""From a Program to the arrays of the compiled engine: its instructions, and how its collectives go on a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from simcore.compute import OperatorTimes
from simcore.design.design import Design
from simcore.engine.fast import pipeline
from simcore.engine.fast.instructions import Instructions, Key, Row, instructions_of
from simcore.engine.fast.on_network import Counted, OnNetwork, Types, on_network
from simcore.engine.fast.state import Ints, pack
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.program import Compute, Program
from simcore.system.chunks import Chunker, Chunks, Phase
from simcore.system.interference import slowdowns
from simcore.system.placement import Placement
from simcore.system.steps import as_served


@dataclass
class Lowering:
    """The instructions of a job, and the phases of its types of collectives on a network."""

    design: Design
    placement: Placement
    compute: OperatorTimes
    directed: bool = False
    """See `Instructions.directed`."""
    types: Types = field(default_factory=list)
    """The group of each type of collective, and how it goes."""
    _shared: bool = False
    """Whether others have the same instructions, which are then copied before anything is added."""
    _on_network: OnNetwork | None = None
    """What is known of these instructions on this network, as long as they are those of others."""

    def __post_init__(self) -> None:
        self.chunker = Chunker(self.design)
        self.instructions = Instructions(self.compute, self.directed)

    @property
    def operators(self) -> list[Row]:
        """See `Instructions`."""
        return self.instructions.operators

    @property
    def segments(self) -> list[tuple[int, int, int]]:
        """See `Instructions`."""
        return self.instructions.segments

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """See `Instructions`."""
        return self.instructions.blocks

    def collective(self, kind: str, group: str, size: float) -> int:
        """Index of a type of collective."""
        self._own()
        index = self.instructions.collective(kind, group, size)
        self._split_new_types()
        return index

    def message(self, group: str, size: float, hops: tuple[int, ...], onward: bool | None = None) -> int:
        """Index of a message of `size` [B] between members of a group that are `hops` apart in its dimensions."""
        self._own()
        index = self.instructions.message(group, size, hops, onward)
        self._split_new_types()
        return index

    def add(self, program: Program) -> Ints:
        """Add a Program; what `Instructions.add_schedule` says, not to be changed."""
        onward = self.chunker.steps_on(self.placement.get("pipeline", ()), program.stages)
        if self.types or self.operators:
            self._own()
            choices = self.instructions.add_schedule(program, onward)
        else:
            self.instructions, choices = instructions_of(program, onward, self.compute, self.directed)
            self._shared = True
            self._on_network = on_network(self.design, self.instructions, self.placement)
        if self._on_network is None:
            self._split_new_types()
        else:
            if not self._on_network.types:
                self._split_new_types()
                self._on_network.types = self.types
            self.types = self._on_network.types
        return choices

    def _own(self) -> None:
        if self._shared:
            self.instructions, self._shared = self.instructions.copy(), False
            self.types, self._on_network = [*self.types], None

    def _split_new_types(self) -> None:
        for key in islice(self.instructions.types, len(self.types), None):
            kind, group, size = key[:3]
            if len(key) > 3:
                split = self.chunker.split_message(self.placement[group], key[3], size)
            else:
                split = self.chunker.split_collective(kind, self.placement[group], size)
            self.types.append((group, as_served(self.design, split)))

    def keyed(self) -> Iterator[tuple[Key, tuple[str, Chunks]]]:
        """The types of collectives in order, each with what identifies it: (kind, group, size) or that of a message."""
        return zip(self.instructions.types, self.types, strict=True)

    def duration(self, operator: Compute) -> int:
        """Time of an operator [ps]."""
        return self.instructions.duration(operator)

    def names(self) -> dict[int, str]:
        """Names of the compute operators, by index."""
        return self.instructions.names()

    def issues(self, block: int) -> dict[int, int]:
        """How often a block issues each type of collective."""
        return self.instructions.issues(block)

    def network(self) -> Ints:
        """The phases of every type of collective, packed, with what each does to computation beside it."""
        if self._on_network is None:
            return self._pack()
        if self._on_network.packed is None:
            self._on_network.packed = self._pack()
        return self._on_network.packed.copy()  # what is learnt is written into it

    def phases(self, kind: int) -> Counted:
        """What the chunks of a type of collective pass, counted; not to be changed."""
        if self._on_network is None:
            return self.types[kind][1].count_phases()
        known = self._on_network.phases
        if kind not in known:
            known[kind] = self.types[kind][1].count_phases()
        return known[kind]

    def serial(self) -> NDArray[np.float64]:
        """Time of each type of collective if none of its phases overlapped [ps]; not to be changed."""
        if self._on_network is None:
            return _serial_times(self.types)
        if self._on_network.serial is None:
            self._on_network.serial = _serial_times(self.types)
        return self._on_network.serial

    def _pack(self) -> Ints:
        system = self.design.system
        policy, order = INTRA_DIMENSION[system.intra_dimension], system.priority
        slots = 0 if system.active_chunks == "overlap" else system.active_chunks
        known: dict[tuple[str, float, bool], int] = {}

        def key_of(group: str, phase: Phase) -> int:
            its = group, phase.size, phase.begun
            if its not in known:
                known[its] = policy.key_of_step(policy.key(order, group, int(phase.size)), phase.begun)
            return known[its]

        packed = []
        for group, split in self.types:
            paths = [
                [(p.dimension, p.serialization, p.latency, key_of(group, p)) for p in path] for path in split.paths
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


def _serial_times(types: Types) -> NDArray[np.float64]:
    return np.array(
        [
            float(
                sum(
                    times * (phase.serialization + phase.latency)
                    for path, times in split.count_paths()
                    for phase in path
                )
            )
            for _, split in types
        ]
    )
