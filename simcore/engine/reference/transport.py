"""The seam between programs and networks: a collective is issued by every member, and is done at some time.

Two networks stand behind it: `phase_level` (queues that serve phases) and `link_level` (messages over links). Either
tells the NPUs' processors what it serves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import simpy

from simcore.engine.reference.processor import Processor


@dataclass(frozen=True, slots=True)
class Use:
    """What the network did for one NPU."""

    busy: list[int]
    """Time each dimension served [ps]."""
    sent: list[float]
    """Bytes sent over each dimension [B]."""


class Transport(ABC):
    """A network that carries the collectives of every NPU."""

    processors: list[Processor]
    """What computes beside the network of each NPU."""

    @abstractmethod
    def issue_collective(self, npu: int, kind: str, group: str, size: float) -> simpy.Event:
        """`npu` issues a collective of `size` [B] over its group; the event at which its part of it is done."""

    @abstractmethod
    def send_message(self, npu: int, group: str, target: int, size: float) -> simpy.Event:
        """`npu` sends `size` [B] to the member `target` of its group; the event at which it has arrived."""

    @abstractmethod
    def use_of(self, npu: int) -> Use:
        """What the network has done for `npu` so far."""
