"""What a library of collectives (NCCL, RCCL) adds to the time that the links of a dimension take.

A collective of S bytes that the links carry in X0 takes, alone,

    launch + steps x latency + X + 2 sqrt(piece X),    X = X0 + S / memory

- `launch`: its kernel's own time, whatever the size. A step costs the dimension's `latency`.
- `memory`: the library passes the whole buffer S through the NPU's memory (staging, reduction, copies): this term, not
  the links, is why two NPUs get less bandwidth than eight. It is counted here and nowhere else.
- `piece`: a buffer goes in pieces, each of which costs so much; more pieces, more of that; fewer, longer waits for the
  first one. The best number leaves 2 sqrt(piece X). A library's protocols (LL, LL128, Simple) come near that envelope.

S is the whole buffer as nccl-tests counts it: not a message, and not one of the `chunks` in which the simulator plays a
collective. NCCL has one kernel for it, however many chunks stand for that kernel here: so what was fitted holds for any
number of chunks, where a table by message size holds for one.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simcore.catalog.preset import named
from simcore.design.algorithm import AlgorithmName
from simcore.document.field import Frozen, Name
from simcore.document.quantity import Bandwidth, Time

_STANDS_FOR = {"send_recv": "all_to_all", "shift": "all_to_all", "broadcast": "all_gather"}
"""Kinds that nobody measures apart -> the one whose numbers they have: an all-to-all is made of sends."""


class Kernel(NamedTuple):
    """What one kind of collective costs beyond its links, for a group."""

    launch: float
    """Whatever the size [s]."""
    memory: float
    """Rate at which the buffer passes through memory [B/s]; infinite where that costs nothing."""
    piece: float
    """See the module [s]."""

    def seconds(self, links: float, size: float, chunks: int) -> float:
        """The time that one of `chunks` equal chunks of `size` [B] takes whose links take `links` [s], launch aside."""
        busy = links + size / self.memory
        return busy + 2 * math.sqrt(self.piece * busy / chunks)


class Passes(NamedTuple):
    """What a library adds to one of `chunks` equal chunks of `size` [B]."""

    kernel: Kernel
    size: float
    chunks: int

    def seconds(self, links: NDArray[np.float64]) -> NDArray[np.float64]:
        """As `Kernel.seconds`, for the links of many networks."""
        busy = links + self.size / self.kernel.memory
        seconds: NDArray[np.float64] = busy + 2 * np.sqrt(self.kernel.piece * busy / self.chunks)
        return seconds


class LibraryKernel(Frozen):
    """One kind of collective, as a document gives it."""

    launch: Annotated[Time, Field(ge=0)] = 0.0
    """Its kernel's own time, whatever the size [s]."""
    memory: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Rate at which the whole buffer passes through the memory of an NPU [B/s]; at no cost unless given."""
    piece: Annotated[Time, Field(ge=0)] = 0.0
    """Time that each piece of a buffer costs [s] (docs/model.md, *Libraries of collectives*)."""
    whole_memory: Annotated[Bandwidth, Field(gt=0)] | None = None
    """`memory` of a group that is all of a dimension with switches, where that differs: NCCL then lets these reduce."""

    def of_group(self, whole: bool) -> Kernel:
        """What a group pays; `whole`: one that is all of a dimension whose switches may reduce."""
        memory = (self.whole_memory if whole else None) or self.memory
        return Kernel(self.launch, memory or math.inf, self.piece)


class Library(Frozen):
    """The kinds of collectives whose times were measured; the others cost what their links do."""

    name: Name = ""
    algorithm: AlgorithmName | None = None
    """Whose steps its collectives take, where the design names none; unless given, the topology's usual one."""
    algorithms: tuple[AlgorithmName, ...] = ()
    """Algorithms that it has, and designs may name on its dimension; any unless given (docs/model.md)."""
    rings: bool = False
    """Whether a reduce-scatter or an all-gather of a group over several dimensions goes round all of its NPUs."""
    all_reduce: LibraryKernel | None = None
    """What an all-reduce costs beyond its links."""
    reduce_scatter: LibraryKernel | None = None
    """What a reduce-scatter costs beyond its links."""
    all_gather: LibraryKernel | None = None
    """What an all-gather (or a broadcast) costs beyond its links."""
    all_to_all: LibraryKernel | None = None
    """What an all-to-all (or a send) costs beyond its links."""
    source: str = ""

    @property
    def adds(self) -> bool:
        """Whether it adds anything to the links: `{}` is a dimension that has these alone."""
        return any((self.all_reduce, self.reduce_scatter, self.all_gather, self.all_to_all))

    def has(self, algorithm: AlgorithmName) -> bool:
        """Whether all-reduces may go by an algorithm."""
        return algorithm in self.algorithms or (not self.algorithms and self.algorithm in (None, algorithm))

    def kernel(self, kind: str, whole: bool) -> Kernel | None:
        """What a collective of a kind costs beyond its links, or None where nothing is known of it."""
        found: LibraryKernel | None = getattr(self, _STANDS_FOR.get(kind, kind))
        return None if found is None else found.of_group(whole)


NamedLibrary = Annotated[Library, *named(Library, "libraries")]
