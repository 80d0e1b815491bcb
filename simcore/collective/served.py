"""What a push of gradients to parameter servers, and a pull of their sums, cost a chunk.

W workers with S bytes each and n servers with a share of the parameters each. Of dedicated servers every one receives
W S / n in a push, and sends as much in a pull; a worker sends S and receives S. The busiest link takes

    u = S max(1 / B, W / (n b)),    b = nics x B

each way: the incast at the servers' links, or the worker's own. Where every chunk is pulled when it has been pushed,
pushes use one direction of the links and pulls the other: many chunks take u together, one alone 2 u. That is
max(S / B, W S / (n b)) of BytePS (Jiang et al. 2020, OSDI, section 2.3). Colocated servers are workers as well: what
they push and what others pull of them leaves by one link, S (1 - 1 / n) + (W - 1) S / n. With n = W that is
2 S (W - 1) / W, an all-reduce.

A dedicated server's sums pass its memory: a byte that is pushed is written, read with its sum, the sum written, and
read again for the pull, five bytes in all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_WAITING = "push_pull"
_ALONE = "push_pull_alone"
MEMORY_PASSES = 5.0
"""Bytes of a server's memory that a pushed byte moves."""


class Served(NamedTuple):
    """What a kind of collective says of its servers."""

    servers: int
    nics: int
    """NICs of a dedicated server; 0 of colocated ones."""
    memory: float
    """Bandwidth of a dedicated server's memory [B/s]; 0 of colocated ones."""
    alone: bool
    """Whether no worker waits for another."""

    @property
    def kind(self) -> str:
        """The kind of collective that pushes to these servers and pulls; all that a network must know is in it."""
        return f"{_ALONE if self.alone else _WAITING}[{self.servers},{self.nics},{self.memory!r}]"


@lru_cache(maxsize=1024)
def served_of(kind: str) -> Served | None:
    """What a kind says of servers; None of other kinds."""
    name, _, rest = kind.partition("[")
    if name not in (_WAITING, _ALONE):
        return None
    servers, nics, memory = rest.rstrip("]").split(",")
    return Served(int(servers), int(nics), float(memory), name == _ALONE)


class ServerCost(NamedTuple):
    """What a push, or a pull, of a buffer of one byte takes, in seconds of a link of 1 B/s."""

    alone: float
    """Time of one chunk alone on the busiest link."""
    occupied: float
    """Time of a chunk among many, whose pulls pass the pushes of others in the other direction."""
    pushed: float
    """Bytes that an NPU sends in the push, on average."""
    pulled: float
    """Bytes that an NPU sends in the pull, on average."""


def server_cost(served: Served, workers: int, npus: int) -> ServerCost:
    """The cost for groups of `workers`, of which there are as many as `npus` have room for."""
    n = served.servers
    if served.nics:
        busiest = max(1.0, npus / (n * served.nics))
        return ServerCost(busiest, busiest / 2, 1.0, 0.0)
    others = (workers - 1) / workers
    alone = max((workers - 1) / n, 1.0 if n < workers else 1 - 1 / n)
    both = max(1 - 1 / n + (workers - 1) / n, 1.0 if n < workers else 0.0)
    return ServerCost(alone, both / 2, others, others)


def memory_seconds(served: Served, npus: int) -> float:
    """Seconds that the memory of a dedicated server takes for a pushed and pulled byte of each of `npus`."""
    return MEMORY_PASSES * npus / (served.servers * served.memory) if served.memory else 0.0
