"""Bytes that an NPU sends over each dimension, by the packets of what its trace does.

A message is counted where it is charged: in the lowest dimension in which its ends differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simcore.astra.algorithms.collective import Chunk, QueuedPhase, Request
from simcore.astra.engine.phase_time import packet_plan
from simcore.astra.files.network import Network
from simcore.astra.files.system import AlgorithmFamily, Collective
from simcore.astra.files.trace import Action, Operation


class SentBytes:
    """What one NPU sends; `plan` gives the chunks of a collective."""

    def __init__(self, network: Network, npu: int, plan: Callable[[Request], Sequence[Chunk]]) -> None:
        self._network, self._npu, self._plan = network, npu, plan
        self._known: dict[Request, tuple[int, ...]] = {}
        self._phases: dict[QueuedPhase, tuple[int, ...]] = {}

    def of(self, operation: Operation) -> tuple[int, ...]:
        """Bytes of an operation in each dimension [B]."""
        if operation.action is Action.SEND:
            return self._message(operation.destination, operation.size)
        if operation.request is None:
            return (0,) * len(self._network.dimensions)
        if operation.request not in self._known:
            chunks = self._plan(operation.request)
            phases = [self._phase(phase) for chunk in chunks for phase in chunk]
            self._known[operation.request] = tuple(map(sum, zip(*phases, strict=True)))
        return self._known[operation.request]

    def _message(self, destination: int, size: int) -> tuple[int, ...]:
        charged = self._network.link(self._npu, destination)[0]
        return tuple(size if index == charged else 0 for index in range(len(self._network.dimensions)))

    def _phase(self, phase: QueuedPhase) -> tuple[int, ...]:
        if phase not in self._phases:
            self._phases[phase] = self._count(phase)
        return self._phases[phase]

    def _count(self, phase: QueuedPhase) -> tuple[int, ...]:
        position, team = phase.level.team(self._npu)
        sent = [0] * len(self._network.dimensions)
        for distance, size in _packets(phase, position):
            ends = self._message(team[distance % len(team)], size)
            sent = [before + more for before, more in zip(sent, ends, strict=True)]
        return tuple(sent)


def _packets(phase: QueuedPhase, position: int) -> list[tuple[int, int]]:
    """The place in its team to which each packet of an NPU goes, and its bytes."""
    if phase.algorithm.family is AlgorithmFamily.DOUBLE_BINARY_TREE:
        nodes = phase.level.size
        turns = 2 if phase.kind is Collective.ALL_REDUCE else 1
        return [(position + 1, turns * (nodes - 1) * phase.size // nodes)]  # the mean of all: edges over NPUs
    plan = packet_plan(phase)
    packets = []
    for number in range(plan.sends):
        distance = plan.distance(number)
        other = position ^ distance if plan.exchange else position + (distance if phase.clockwise else -distance)
        packets.append((other, plan.size(number)))
    return packets
