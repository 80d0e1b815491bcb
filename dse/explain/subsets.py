"""Which changes from one design towards another help most: each alone, each two together, within a budget.

The *interaction* of two changes is how much their joint effect on the iteration time differs from the sum of their
effects alone [s]; below 0 they help each other. It is not known where one of them alone is no design.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from dse.explain.changes import Change, Document, Tried, attempt
from simcore.result import Result

BUDGET = 200
"""Simulations unless told: a second or two."""


Progress = Callable[[int, int], None]
"""Told how many designs of how many were simulated."""


def be_silent(done: int, total: int) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class Pair:
    """Two changes together."""

    tried: Tried
    interaction: float | None


@dataclass(frozen=True)
class Subsets:
    """Single changes and pairs, those that make the iteration shortest first; what is no design last."""

    singles: tuple[Tried, ...]
    pairs: tuple[Pair, ...]
    left_out: int
    """Pairs beyond the budget."""


def try_subsets(
    document: Document,
    result: Result,
    changes: Sequence[Change],
    budget: int = BUDGET,
    progress: Progress = be_silent,
) -> Subsets:
    """All single changes of a design (whose result is given), then as many pairs as the budget allows.

    Pairs of the changes that help most, or are no design alone, come first.
    """
    wanted = list(changes)[:budget]
    most = len(wanted) + min(budget - len(wanted), len(changes) * (len(changes) - 1) // 2)
    singles = []
    for change in wanted:
        singles.append(attempt(document, [change]))
        progress(len(singles), most)
    singles.sort(key=by_seconds)
    alone = {tried.changes[0].name: tried for tried in singles}
    promising = sorted(singles, key=lambda tried: (tried.result is not None, by_seconds(tried)))
    chosen = list(combinations([tried.changes[0] for tried in promising], 2))
    pairs = []
    for one, other in chosen[: budget - len(singles)]:
        tried = attempt(document, [one, other])
        pairs.append(Pair(tried, _interaction(result, alone[one.name], alone[other.name], tried)))
        progress(len(singles) + len(pairs), most)
    pairs.sort(key=lambda pair: by_seconds(pair.tried))
    return Subsets(tuple(singles), tuple(pairs), len(chosen) - len(pairs))


def by_seconds(tried: Tried) -> tuple[bool, float]:
    """What may be built before what does not fit, the shortest iteration first; what is no design last."""
    return bool(tried.why), float("inf") if tried.result is None else tried.result.iteration_time_s


def _interaction(base: Result, one: Tried, other: Tried, both: Tried) -> float | None:
    if one.result is None or other.result is None or both.result is None:
        return None
    apart = one.result.iteration_time_s + other.result.iteration_time_s - base.iteration_time_s
    return both.result.iteration_time_s - apart
