"""One collective among the members of one slice, message by message, as its plan says.

A message leaves once its sender has begun and the messages it waits for have arrived. A member is done when every
message from it or to it has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from simcore.collective import Plan
from simcore.engine.reference.links import Then


class LinkCarrier(Protocol):
    """What carries messages: the links of a dimension, or of several."""

    def send(self, nodes: Sequence[int], size: float, key: int, arrived: Then, slowed: float = 1.0) -> None:
        """See `LinkNetwork.send`."""


@dataclass
class PlanExchange:
    """A plan on its way."""

    plan: Plan
    network: LinkCarrier
    nodes: Sequence[int]
    """The node of each member."""
    size: float
    """The buffer [B]."""
    key: int = 0
    slowed: float = 1.0
    """See `Transit`."""

    def __post_init__(self) -> None:
        messages = self.plan.messages
        self.missing = [len(message.after) for message in messages]
        self.dependents: list[list[int]] = [[] for _ in messages]
        self.leaving: dict[int, list[int]] = {member: [] for member in range(len(self.nodes))}
        self.left = dict.fromkeys(self.leaving, 0)
        self.done: dict[int, Then] = {}
        for number, message in enumerate(messages):
            self.leaving[message.source].append(number)
            for end in (message.source, message.target):
                self.left[end] += 1
            for earlier in message.after:
                self.dependents[earlier].append(number)

    def begin(self, member: int, done: Then) -> None:
        """A member takes part from now on; `done` is called when its part is over."""
        self.done[member] = done
        if not self.left[member]:
            done()
        for number in self.leaving[member]:
            if not self.missing[number]:
                self._send(number)

    def _send(self, number: int) -> None:
        message = self.plan.messages[number]
        nodes = [self.nodes[member] for member in (message.source, *message.way, message.target)]
        size = self.plan.share(message) * self.size
        self.network.send(nodes, size, self.key, lambda: self._on_arrived(number), self.slowed)

    def _on_arrived(self, number: int) -> None:
        message = self.plan.messages[number]
        for later in self.dependents[number]:
            self.missing[later] -= 1
            if not self.missing[later] and self.plan.messages[later].source in self.done:
                self._send(later)
        for end in (message.source, message.target):
            self.left[end] -= 1
            if not self.left[end]:
                self.done[end]()
