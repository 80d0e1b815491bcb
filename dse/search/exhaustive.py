"""Exhaustive: every combination of a finite space, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.search.base import Proposal, Sampler
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
        self._fills: Any = space.enumerate()

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`."""
        filled = next(self._fills, None)
        return None if filled is None else Proposal(filled)

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """Nothing to learn."""

    def reject(self, proposal: Proposal) -> None:
        """Nothing to learn."""
