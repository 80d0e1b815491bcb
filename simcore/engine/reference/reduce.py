"""A smaller design of the same kind that the reference engine can afford: fewer layers, microbatches, chunks, NPUs.

What repeats goes first, because it changes least (`WorkloadKind.reductions`). At each step the largest value that fits
is taken.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.engine.reference.events import estimate_events
from simcore.system.placement import place
from simcore.workload.base import NPUS, kind_of

Check = Callable[[Design], Sequence[Problem]]
Estimate = Callable[[Design], int]
Document = dict[str, Any]

BUDGET = 20_000_000
"""Events that a run may take unless told otherwise: a few minutes."""


class EventBudgetError(RuntimeError):
    """The reference engine would take more events than it may; says what would fit."""


def check_budget(design: Design, check: Check, links: bool = False, budget: int = BUDGET) -> None:
    """Raise `EventBudgetError` where `design` takes more than `budget` events (with `links`: at link level)."""
    events = estimate_events(design, links)
    if events <= budget:
        return
    try:
        fitting = ", ".join(reduce_design(design, check, budget, links)[1])
    except EventBudgetError:
        fitting = "no smaller design of the same degrees"
    raise EventBudgetError(
        f"engine reference: expected at most {budget:,} events, got about {events:,}; what fits: {fitting}"
    )


def reduce_design(
    design: Design, check: Check, budget_events: int, links: bool = False
) -> tuple[Design, tuple[str, ...]]:
    """The design itself where it fits the budget, else a smaller valid one, and what was reduced ("layers 96 -> 8").

    `check` gives the problems of a design. Raises `EventBudgetError` where nothing smaller fits either.
    """
    return reduce_to(design, check, budget_events, lambda smaller: estimate_events(smaller, links))


def reduce_to(design: Design, check: Check, budget: int, estimate: Estimate) -> tuple[Design, tuple[str, ...]]:
    """As `reduce_design`, for another engine's estimate of what a design takes."""
    current = design
    notes: dict[str, tuple[int, int]] = {}
    for name, least in kind_of(design.workload).reductions(design):
        if estimate(current) <= budget:
            break
        smaller = [candidate for candidate in _smaller(current, name, least) if not check(candidate)]
        found = _pick_largest(smaller, budget, estimate)
        if found is not None:
            before = notes[name][0] if name in notes else _count(design, name)
            notes[name] = before, _count(found, name)
            current = found
    if estimate(current) > budget:
        raise EventBudgetError(f"no smaller design fits a budget of {budget:,}")
    return current, tuple(f"{name} {before} -> {after}" for name, (before, after) in notes.items() if before != after)


def _pick_largest(candidates: list[Design], budget: int, estimate: Estimate) -> Design | None:
    """The first of `candidates`, largest first, that fits; else the smallest."""
    low, high = 0, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        if estimate(candidates[middle]) <= budget:
            high = middle
        else:
            low = middle + 1
    return candidates[high] if candidates else None


def _count(design: Design, name: str) -> int:
    return design.cluster.npus if name == NPUS else kind_of(design.workload).repeated(design)[name].number


def _smaller(design: Design, name: str, least: int) -> list[Design]:
    """Designs with less of what repeats, down to `least`, the largest first."""
    if name == NPUS:
        return list(_on_fewer_npus(design, least))
    repeated = kind_of(design.workload).repeated(design)[name]
    counts = _smaller_values(repeated.number, least, repeated.unit)
    return [_edit_design(design, repeated.path, repeated.written(count)) for count in counts]


def _edit_design(design: Design, path: Sequence[str], value: Any) -> Design:
    """The design with a key of its document set."""
    document: Document = copy.deepcopy(design.document())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return Design.model_validate(document)


def _smaller_values(value: int, least: int, unit: int = 1) -> list[int]:
    """Multiples of `unit` below `value`, about a factor of sqrt(2) apart, down to `least`."""
    steps = {round(value / unit / 2 ** (i / 2)) * unit for i in range(1, 2 * value.bit_length() + 1)}
    steps.add(max(least, unit))
    return sorted((step for step in steps if max(least, unit) <= step < value), reverse=True)


def _on_fewer_npus(design: Design, least: int) -> Iterator[Design]:
    """Fewer NPUs over which the batch is spread, each time by the least factor of an outer dimension."""
    group = kind_of(design.workload).spread
    while True:
        slices = place(design)[0].get(group, ())
        if not slices:
            return
        factor = _factor(slices[-1].part.members)
        if kind_of(design.workload).degrees(design)[group] // factor < least:
            return
        design = _divide_dimension(design, slices[-1].dimension, factor)
        yield design


def _factor(number: int) -> int:
    return next(f for f in range(2, number + 1) if number % f == 0)


def _divide_dimension(design: Design, dimension: int, factor: int) -> Design:
    """The design with a dimension, the data degree and the batch divided by `factor`."""
    document: Document = copy.deepcopy(design.document())
    cluster, system = document["cluster"], document["system"]
    sizes = cluster["dimensions"]
    sizes[dimension]["size"] //= factor
    if sizes[dimension]["size"] == 1 and len(sizes) > 1:
        del sizes[dimension], system["collective"][dimension]
    npus = design.cluster.npus // factor
    if design.cluster.stragglers:
        cluster["stragglers"] = [slow for slow in cluster["stragglers"] if slow["npu"] < npus]
    if "parallelism" in document:
        document["parallelism"]["data"] //= factor
        document["workload"]["global_batch"] //= factor
    return Design.model_validate(document)
