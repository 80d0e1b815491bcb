"""The default sampler, `auto`: which sampler it stands for, by the space.

`guided` screens a small space whole and searches a large one, so it needs no second opinion on size. A sampler that
proves its answer complete belongs before it: `choose` asks each entry of `FINISHERS` whether it can finish the space.
"""

from __future__ import annotations

from collections.abc import Callable

from dse.space import Space

FINISHERS: tuple[tuple[str, Callable[[Space, int], bool]], ...] = ()
"""Samplers that end with a proven answer, by name, each with the test of whether it can within so many trials."""


def choose(space: Space, trials: int) -> str:
    """The sampler for a space and a number of trials: the first that can finish it, else `guided`."""
    return next((name for name, can in FINISHERS if can(space, trials)), "guided")
