"""What is to be done, as a graph: gates, tasks that occupy a resource of an NPU for a time, and messages.

A piece of work waits for others, and for a time (`lag`) from then on. It is known by its number.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.engine.packets.layout import GATE, MESSAGE, TASK

Numbers = NDArray[np.int64]


def _numbers() -> array[int]:
    return array("q")


class Bulk(NamedTuple):
    """Many messages."""

    begins: list[Numbers]
    """Connection by connection, what sends them."""
    ends: Numbers
    """What is over when they have arrived."""


@dataclass
class Graph:
    """Work of `npus` NPUs with `dimensions` dimensions each, of which the last one has packets.

    Between two NPUs there are as many queue pairs as `connections`; each message is spread evenly over them.
    """

    npus: int
    dimensions: int = 1
    connections: int = 1
    kinds: array[int] = field(default_factory=_numbers)
    where: array[int] = field(default_factory=_numbers)
    """The resource of a task, the queue pair of a message: (sender x `npus` + receiver) x `connections` + which."""
    amounts: array[int] = field(default_factory=_numbers)
    """The duration of a task [ps], the bytes of a message."""
    lags: array[int] = field(default_factory=_numbers)
    """[ps]."""
    orders: array[int] = field(default_factory=_numbers)
    earlier: array[int] = field(default_factory=_numbers)
    later: array[int] = field(default_factory=_numbers)
    """For each wait who is waited for, and who waits."""

    def __len__(self) -> int:
        return len(self.kinds)

    def processor(self, npu: int) -> int:
        """The resource that computes."""
        return npu

    def queue(self, npu: int, dimension: int) -> int:
        """The resource that serves a dimension without packets; of the last one, the port that packets leave by."""
        return (1 + dimension) * self.npus + npu

    @property
    def resources(self) -> int:
        """Number of resources."""
        return (1 + self.dimensions) * self.npus

    def _add(self, kind: int, where: int, amount: int, lag: int, order: int) -> int:
        self.kinds.append(kind)
        self.where.append(where)
        self.amounts.append(amount)
        self.lags.append(lag)
        self.orders.append(order)
        return len(self.kinds) - 1

    def gate(self, *after: int, lag: int = 0) -> int:
        """Add what only waits."""
        return self._after(self._add(GATE, -1, 0, lag, 0), after)

    def task(self, resource: int, duration: int, *after: int, order: int = 0) -> int:
        """Add what occupies a resource for `duration` [ps]."""
        return self._after(self._add(TASK, resource, duration, 0, order), after)

    def message(self, source: int, target: int, size: float, *after: int, order: int = 0) -> int:
        """Add a message of `size` [B], at least 1 for each connection; what is over when all of it has arrived.

        Raises `ValueError` where an NPU would send to itself.
        """
        if source == target:
            raise ValueError(f"NPU {source} has no way to itself")
        where, whole = (source * self.npus + target) * self.connections, max(1, round(size))
        parts = [
            self._after(self._add(MESSAGE, where + which, self._share(whole, which), 0, order), after)
            for which in range(self.connections)
        ]
        return parts[0] if len(parts) == 1 else self.gate(*parts)

    def _share(self, whole: int, which: int) -> int:
        """What of a message goes over one of its connections [B]."""
        return max(1, (whole + self.connections - 1 - which) // self.connections)

    def _after(self, work: int, after: tuple[int, ...]) -> int:
        for before in after:
            self.wait(work, before)
        return work

    def wait(self, later: int, earlier: int) -> None:
        """Let one piece of work wait for another."""
        self.later.append(later)
        self.earlier.append(earlier)

    def messages(self, source: Numbers, target: Numbers, sizes: NDArray[np.float64], order: int) -> Bulk:
        """Add many messages."""
        many = len(source)
        whole = np.maximum(1, np.rint(sizes)).astype(np.int64)
        where = (source * self.npus + target) * self.connections
        begins = []
        for which in range(self.connections):
            begins.append(len(self) + np.arange(many))
            shares = np.maximum(1, (whole + self.connections - 1 - which) // self.connections)
            self._add_many(MESSAGE, where + which, shares, order)
        if self.connections == 1:
            return Bulk(begins, begins[0])
        ends = len(self) + np.arange(many)
        self._add_many(GATE, np.full(many, -1), np.zeros(many, np.int64), 0)
        for parts in begins:
            self.wait_each(ends, parts)
        return Bulk(begins, ends)

    def _add_many(self, kind: int, where: Numbers, amounts: Numbers, order: int) -> None:
        for numbers, more in ((self.where, where), (self.amounts, amounts)):
            _extend(numbers, more)
        for numbers, one in ((self.kinds, kind), (self.lags, 0), (self.orders, order)):
            _extend(numbers, np.full(len(where), one))

    def wait_each(self, later: Numbers, earlier: Numbers) -> None:
        """Let each of many pieces of work wait for another."""
        _extend(self.later, later)
        _extend(self.earlier, earlier)


def _extend(numbers: array[int], more: Numbers) -> None:
    numbers.frombytes(np.ascontiguousarray(more, np.int64).tobytes())
