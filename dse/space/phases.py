"""Plans of buying a cluster in phases: `phases` of a space, what is bought when.

A plan is a list of phases, each with the year in which it begins, the NPUs that the cluster then has in all, and what a
cluster costs then, as a share of today's price. Beside the plans that are listed, what they end with may be bought at
once, and what they begin with may be all. Clusters of one plan are alike but for their size, which must be one of the
space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dse.space.fill import npus_count
from simcore.document.problem import Path, Problem, Refusal, suggest_nearest

_KEYS = ("year", "npus", "price")
_LEAST_PRICE, _MOST = 1e-6, 1000.0


@dataclass(frozen=True, slots=True)
class Phase:
    """From when on the cluster has so many NPUs."""

    year: float
    npus: int
    """In all, with those of earlier phases."""
    price: float = 1.0
    """What is bought then, over what it would cost today."""


Plan = tuple[Phase, ...]
"""Phases in order, the first in year 0."""


def parse_plans(data: Mapping[str, Any], cluster: Any, life: float | None, problems: list[Problem]) -> tuple[Plan, ...]:
    """The plans of a space, those of one purchase first; what is wrong is added to `problems`.

    `cluster` is the template of its clusters, `life` the years over which they are written off.
    """
    if "phases" not in data:
        return ()
    listed, place = data["phases"], ("phases",)
    several = isinstance(listed, list) and bool(listed) and all(isinstance(plan, list) for plan in listed)
    plans = [
        _parse_plan(plan, (*place, index) if several else place, problems)
        for index, plan in enumerate(listed if several else [listed])
    ]
    if not all(plans):
        return ()
    for index, plan in enumerate(plans):
        problems += _plan_problems(plan, (*place, index) if several else place, life)
    problems += _size_problems(plans, place, cluster)
    sizes = [*(plan[-1].npus for plan in plans), *(plan[0].npus for plan in plans)]
    once = {(Phase(0.0, npus),): None for npus in sizes}
    return tuple({**once, **dict.fromkeys(plans)})


def _parse_plan(listed: Any, place: Path, problems: list[Problem]) -> Plan:
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        fix = "e.g. [{year: 0, npus: 512}, {year: 2, npus: 1024}]"
        problems.append(Problem(place, "a list of phases, each {year, npus, price}", repr(listed)[:60], fix))
        return ()
    wrong = [problem for index, entry in enumerate(listed) for problem in _entry_problems(entry, (*place, index))]
    problems += wrong
    if wrong:
        return ()
    return tuple(Phase(float(e["year"]), e["npus"], float(e.get("price", 1.0))) for e in listed)


def _entry_problems(entry: Mapping[str, Any], place: Path) -> Iterator[Problem]:
    for key in entry:
        if key not in _KEYS:
            fix = suggest_nearest(str(key), _KEYS) or f"known keys: {', '.join(_KEYS)}"
            yield Problem((*place, key), "a key of a phase", f"'{key}'", fix)
    npus, year, price = entry.get("npus"), entry.get("year"), entry.get("price", 1.0)
    if isinstance(npus, bool) or not isinstance(npus, int) or npus < 1:
        yield Problem((*place, "npus"), "a whole number of NPUs, those of all phases so far", repr(npus))
    if not _is_within(year, 0.0):
        yield Problem((*place, "year"), "the year from today in which it is bought", repr(year))
    if not _is_within(price, _LEAST_PRICE):
        yield Problem((*place, "price"), "a share of today's price, above 0", repr(price))


def _is_within(value: Any, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= _MOST


def _plan_problems(plan: Sequence[Phase], place: Path, life: float | None) -> Iterator[Problem]:
    if plan[0].year != 0:
        yield Problem((*place, 0, "year"), "0, the first phase being bought today", f"{plan[0].year:g}")
    for index, (before, after) in enumerate(pairwise(plan), 1):
        if after.year <= before.year:
            yield Problem((*place, index, "year"), f"a later year than {before.year:g}", f"{after.year:g}")
        if after.npus <= before.npus:
            yield Problem((*place, index, "npus"), f"more NPUs than {before.npus:,}", f"{after.npus:,}")
    if life is not None and plan[-1].year >= life:
        what = f"a year before the end of the lifetime of {life:g} (cost.lifetime)"
        yield Problem((*place, len(plan) - 1, "year"), what, f"{plan[-1].year:g}")


def _size_problems(plans: Sequence[Plan], place: Path, cluster: Any) -> Iterator[Problem]:
    try:
        sizes = sorted(npus_count(cluster))
    except Refusal:
        return  # what is wrong with the cluster is told elsewhere
    for npus in dict.fromkeys(phase.npus for plan in plans for phase in plan):
        if npus not in sizes:
            fix = "let the size of the cluster be a choice that has it"
            known = ", ".join(f"{size:,}" for size in sizes)
            yield Problem(place, f"a size of the space's clusters ({known} NPUs)", f"{npus:,}", fix)
