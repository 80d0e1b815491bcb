"""Which designs to try: one file per way."""

from dse.search.base import Proposal, Prover, Sampler
from dse.space import Space

SMALL = 2000
"""A space of at most this many combinations is searched exhaustively by `auto`."""


def resolve(name: str, space: Space, trials: int) -> str:
    """The sampler that `auto` stands for: exhaustive where the space is small, else NSGA-II."""
    if name != "auto":
        return name
    return "exhaustive" if space.count() <= max(SMALL, trials) else "nsga2"


def make_sampler(name: str, space: Space, seed: int) -> Sampler:
    """A sampler by name (one of `dse.settings.SAMPLERS` but `auto`)."""
    if name == "exhaustive":
        from dse.search.exhaustive import Exhaustive

        return Exhaustive(space, seed)
    if name == "exact":
        from dse.search.exact import Exact

        return Exact(space, seed)
    from dse.search.optuna_sampler import MAKERS

    return MAKERS[name](space, seed)


__all__ = ["Proposal", "Prover", "Sampler", "make_sampler", "resolve"]
