"""What phases share: links whose messages come from several phases at once, and what each phase puts on them.

A *class* is a set of NPUs that do the same at the same time. While all NPUs of a class serve a phase, the messages that
they send are alike: a *stream*, whose messages all move at one rate. Links that the same streams load alike are one
shared link here. A link that the streams together cannot load beyond its capacity slows nobody down and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np


class Served(NamedTuple):
    """A phase that a class of NPUs serves: what its messages are, whatever their size."""

    npus: int
    """Number of the class."""
    group: str
    """The parallel group."""
    dimension: int
    """The dimension that serves it."""
    kind: str
    """As `Phase.kind`; of a message between stages `send_recv`."""
    target: int = -1
    """The stage that gets a message between stages."""


class Tail(NamedTuple):
    """What a chunk flies longer after a phase than on sound links, as a share of what the phase is served for alone."""

    whole: float = 0.0
    half: float = 0.0
    """The same of a phase that is half of an all-reduce."""


class Stream(NamedTuple):
    """The messages of a phase while it is served."""

    rate: float
    """Rate of one of its messages [B/s] at a pace of 1, which its phase's times are for."""
    links: tuple[tuple[int, float], ...]
    """(shared link, messages that are on it at the same time, on average over the phase)."""
    fastest: float = 1.0
    """The largest pace: more than 1 where times count what other stages put on its links at the same time."""
    tail: Tail = Tail()


@dataclass(frozen=True)
class Link:
    """A class of links that several streams share."""

    capacity: float
    """Capacity of one of them [B/s]."""
    name: str
    """What it is ("cluster.dimensions[1]: a leaf's uplinks")."""
    members: Sequence[tuple[int, int, int]] = ()
    """The links that it stands for, as (dimension, source, target) of their ends in the dimension."""


class SharedLinks(Protocol):
    """The links that streams share, and what each stream puts on them."""

    @property
    def links(self) -> Sequence[Link]:
        """All of them, as streams number them."""

    def stream(self, served: Served) -> Stream:
        """The stream of a phase; its rate relative to `Stream.rate` is the pace at which the phase is served."""


def overload(streams: Sequence[Stream], capacities: Sequence[float]) -> float:
    """What all streams together ask of the link that they exceed most, as a multiple of its capacity; at least 1."""
    asked = np.zeros(len(capacities))
    for rate, loads, *_ in streams:
        for link, count in loads:
            asked[link] += count * rate
    return max(1.0, *map(float, asked / capacities)) if capacities else 1.0
