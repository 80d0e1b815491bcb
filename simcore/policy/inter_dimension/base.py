"""In which order the chunks of a collective visit the dimensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

Order = tuple[int, ...]


class ChunkOrders(NamedTuple):
    """The different orders that chunks take, and which of them each chunk takes."""

    orders: list[Order]
    chosen: list[int]


class InterDimension(ABC):
    """A policy that gives each chunk its order of the group's dimensions (indices into the group's slices)."""

    @abstractmethod
    def orders(self, sizes: Sequence[int], rates: Sequence[float], chunks: int) -> ChunkOrders:
        """Order of the reduce-scatter of each of `chunks` equal chunks; all-gather runs it backwards.

        `sizes` are the members per dimension, `rates` their bandwidth for this group [B/s].
        """

    @property
    @abstractmethod
    def merges_turn(self) -> bool:
        """Whether an all-reduce does its last reduce-scatter and first all-gather, on one dimension, as one phase."""
