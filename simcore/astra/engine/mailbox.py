"""Matching of sends and receives: by (tag, source, destination, bytes), first come first served.

A send completes when its message is delivered; a receive when it is posted and the message is there. Under
the rendezvous protocol a receive first sends 8,192 bytes the other way, and the data leave when those are in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from simcore.astra.engine.phase_time import RENDEZVOUS_BYTES

COLLECTIVE_TAGS = 500_000_000
"""First tag of collectives; smaller ones belong to the sends and receives of a workload."""

RENDEZVOUS_TAGS = 1_000_000_000
"""Offset of the tags of rendezvous requests."""

Action = Callable[[], None]
Key = tuple[int, int, int, int]


class Carrier(Protocol):
    """What the mailbox needs: a network, and a way to call back at once."""

    def carry(self, source: int, destination: int, size: int, arrive: Action) -> None:
        """Move a message; call `arrive` when it is delivered."""

    def soon(self, action: Action) -> None:
        """Call back at the same instant, after what is already due."""


class Mailbox:
    """All messages under way, and all receives waiting for one."""

    def __init__(self, carrier: Carrier, rendezvous: bool) -> None:
        self._carrier = carrier
        self._rendezvous = rendezvous
        self._waiting: dict[Key, deque[Action]] = {}
        self._arrived: dict[Key, int] = {}

    def send(self, source: int, destination: int, size: int, tag: int, done: Action | None) -> None:
        """Send a message; `done` is called when it is delivered."""
        if not self._rendezvous:
            self._send(source, destination, size, tag, done)
            return
        request = tag + RENDEZVOUS_TAGS
        self._receive(
            destination,
            source,
            RENDEZVOUS_BYTES,
            request,
            lambda: self._send(source, destination, size, tag, done),
        )

    def receive(self, source: int, destination: int, size: int, tag: int, done: Action) -> None:
        """Post a receive; `done` is called when the message is in."""
        if not self._rendezvous:
            self._receive(source, destination, size, tag, done)
            return
        request = tag + RENDEZVOUS_TAGS
        self._send(
            destination,
            source,
            RENDEZVOUS_BYTES,
            request,
            lambda: self._receive(source, destination, size, tag, done),
        )

    def _send(self, source: int, destination: int, size: int, tag: int, done: Action | None) -> None:
        key = (tag, source, destination, size)
        self._carrier.carry(source, destination, size, lambda: self._deliver(key, done))

    def _deliver(self, key: Key, done: Action | None) -> None:
        waiting = self._waiting.get(key)
        if done is not None:
            done()
        if waiting:
            waiting.popleft()()
        else:
            self._arrived[key] = self._arrived.get(key, 0) + 1

    def _receive(self, source: int, destination: int, size: int, tag: int, done: Action) -> None:
        key = (tag, source, destination, size)
        if self._arrived.get(key):
            self._arrived[key] -= 1
            self._carrier.soon(done)
        else:
            self._waiting.setdefault(key, deque()).append(done)
