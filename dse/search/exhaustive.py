"""Exhaustive: every combination of a finite space, in order."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from dse.search.base import Proposal, Sampler
from dse.space.draw import Odometer
from dse.space.space import Space
from simcore.document.problem import InputError, Problem


class Exhaustive(Sampler):
    """Needs a finite space: raises `InputError` where a hole is continuous."""

    behind = None

    def __init__(self, space: Space, seed: int) -> None:
        del seed
        if space.count() == float("inf"):
            fix = "give every range a step, or use another sampler"
            raise InputError([Problem(("study", "sampler"), "a finite space for exhaustive", "a continuous hole", fix)])
        self._space, self._odometer = space, Odometer()
        self._fills = space.enumerate(self._odometer)
        self._asked = 0

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`."""
        filled = next(self._fills, None)
        self._asked += 1
        return None if filled is None else Proposal(filled)

    def state(self) -> dict[str, Any] | None:
        """See `Sampler.state`: which alternative of each hole it has proposed, and of how many."""
        return {"asked": self._asked, "at": [*self._odometer.prefix], "of": [*self._odometer.counts]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Sampler.restore`."""
        at, of = ([operator.index(number) for number in state[name]] for name in ("at", "of"))
        if len(at) != len(of) or not all(0 <= value < count for value, count in zip(at, of, strict=True)):
            raise ValueError(f"no combination: {at} of {of}")
        self._asked = operator.index(state["asked"])
        self._odometer.prefix, self._odometer.counts = at, of
        if self._asked:
            next(self._fills)  # the one that was proposed last

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """Nothing to learn."""

    def reject(self, proposal: Proposal) -> None:
        """Nothing to learn."""
