"""Searches for the least times of a shape, which can be left at any time, and what their bounds come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dse.proof.parts import SpacePart
from dse.space.objective import Objective

SECONDS = (Objective("iteration_time", "minimize", "s"),)

Times = Mapping[str, float]
"""Least times [s] and energy [J], by metric."""


@dataclass(frozen=True)
class Leader:
    """What a bound comes from: a job, and the lifted network on which it is least; None: whatever the network."""

    job: SpacePart
    network: SpacePart | None


class Search(Protocol):
    """A search for the least times of a shape that can be left at any time."""

    done: bool

    @property
    def leader(self) -> Leader | None:
        """What the bound on the iteration time comes from, where that is known."""
        return None

    @property
    def times(self) -> Times | None:
        """What is proven so far [s], by metric; None where no design of the shape is feasible."""
        ...

    def advance(self) -> None:
        """Go on, if it is not done."""
        ...


class Unknown(Search):
    """Nothing is known."""

    def __init__(self) -> None:
        self.done = True

    @property
    def times(self) -> Times | None:
        """See `Search.times`."""
        return {}

    def advance(self) -> None:
        """See `Search.advance`."""


class Together(Search):
    """Several searches of one shape."""

    def __init__(self, searches: Sequence[Search]) -> None:
        self.done = False
        self._searches = searches

    @property
    def leader(self) -> Leader | None:
        """See `Search.leader`: that of the first."""
        return self._searches[0].leader

    @property
    def times(self) -> Times | None:
        """See `Search.times`."""
        found: dict[str, float] = {}
        for search in self._searches:
            if search.times is None:
                return None
            found |= search.times
        return found

    def advance(self) -> None:
        """See `Search.advance`."""
        for search in self._searches:
            if not search.done:
                search.advance()
        self.done = all(search.done for search in self._searches)
