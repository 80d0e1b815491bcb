"""A smaller design of the same kind that the reference engine can afford: fewer layers, microbatches, chunks, NPUs.

What repeats goes first, because it changes least: layers beyond two a stage, microbatches beyond what fills the
pipeline twice, chunks beyond eight, data-parallel NPUs beyond two; then what is left of each, in the same order. At
each step the largest value that fits is taken.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from simcore.check.check import check
from simcore.design.design import CollectiveWorkload, Design, TransformerWorkload
from simcore.engine.reference.events import estimate_events
from simcore.system.placement import GroupSlice, place, whole
from simcore.workload.documents import InferenceWorkload

Document = dict[str, Any]

BUDGET = 20_000_000
"""Events that a run may take unless told otherwise: a few minutes."""


class EventBudgetError(RuntimeError):
    """The reference engine would take more events than it may; says what would fit."""


def within_budget(design: Design, links: bool = False, budget: int = BUDGET) -> None:
    """Raise `EventBudgetError` where `design` takes more than `budget` events (with `links`: at link level)."""
    events = estimate_events(design, links)
    if events <= budget:
        return
    try:
        fitting = ", ".join(reduced(design, budget, links)[1])
    except EventBudgetError:
        fitting = "no smaller design of the same degrees"
    raise EventBudgetError(
        f"engine reference: expected at most {budget:,} events, got about {events:,}; what fits: {fitting}"
    )


def reduced(design: Design, budget_events: int, links: bool = False) -> tuple[Design, tuple[str, ...]]:
    """The design itself where it fits the budget, else a smaller valid one, and what was reduced ("layers 96 -> 8").

    Raises `EventBudgetError` where nothing smaller fits either.
    """
    current = design
    notes: dict[str, tuple[int, int]] = {}
    for name, smaller in _steps(design):
        if estimate_events(current, links) <= budget_events:
            break
        found = _largest(smaller(current), budget_events, links)
        if found is not None:
            before = notes[name][0] if name in notes else _value(design, name)
            notes[name] = before, _value(found, name)
            current = found
    if estimate_events(current, links) > budget_events:
        raise EventBudgetError(f"engine reference: no smaller design fits {budget_events} events")
    return current, tuple(f"{name} {before} -> {after}" for name, (before, after) in notes.items() if before != after)


def _largest(candidates: list[Design], budget: int, links: bool) -> Design | None:
    """The first of `candidates`, largest first, that fits; else the smallest."""
    low, high = 0, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        if estimate_events(candidates[middle], links) <= budget:
            high = middle
        else:
            low = middle + 1
    return candidates[high] if candidates else None


def _steps(design: Design) -> list[tuple[str, Callable[[Design], list[Design]]]]:
    """What can be reduced, in order, each with its candidates."""
    if isinstance(design.workload, CollectiveWorkload):
        return [
            ("chunks", lambda d: _chunks(d, 8)),
            ("NPUs", lambda d: _npus(d, 4)),
            ("chunks", lambda d: _chunks(d, 1)),
            ("NPUs", lambda d: _npus(d, 2)),
        ]
    p = design.parallelism.pipeline
    steps: list[tuple[str, Callable[[Design], list[Design]]]] = [
        ("layers", lambda d: _layers(d, 2)),
        ("microbatches", lambda d: _microbatches(d, 2 * p)),
        ("chunks", lambda d: _chunks(d, 8)),
        ("NPUs", lambda d: _npus(d, 2)),
        ("layers", lambda d: _layers(d, 1)),
        ("microbatches", lambda d: _microbatches(d, p)),
        ("chunks", lambda d: _chunks(d, 1)),
        ("NPUs", lambda d: _npus(d, 1)),
        ("microbatches", lambda d: _microbatches(d, 1)),
    ]
    if isinstance(design.workload, InferenceWorkload):
        return [("output tokens", lambda d: _outputs(d, 4)), *steps, ("output tokens", lambda d: _outputs(d, 1))]
    if isinstance(design.workload, TransformerWorkload):
        return steps
    return [step for step in steps if step[0] != "layers"]  # those of a table or a recommender all differ


def _value(design: Design, name: str) -> int:
    workload = design.workload
    if name == "layers":
        assert isinstance(workload, TransformerWorkload | InferenceWorkload)
        return workload.model.layers
    if name == "output tokens":
        assert isinstance(workload, InferenceWorkload)
        return workload.output_length
    values = {"chunks": lambda: design.system.chunks, "NPUs": lambda: design.cluster.npus}
    return values.get(name, lambda: design.microbatches)()


def _edited(design: Design, *edits: tuple[tuple[str, ...], Any]) -> Design:
    """The design with keys of its document set."""
    document: Document = copy.deepcopy(design.document())
    for path, value in edits:
        inner = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return Design.model_validate(document)


def _valid(candidates: list[Design]) -> list[Design]:
    return [candidate for candidate in candidates if not check(candidate)]


def _halves(value: int, least: int, unit: int = 1) -> list[int]:
    """Multiples of `unit` below `value`, about a factor of sqrt(2) apart, down to `least`."""
    steps = {round(value / unit / 2 ** (i / 2)) * unit for i in range(1, 2 * value.bit_length() + 1)}
    steps.add(max(least, unit))
    return sorted((step for step in steps if max(least, unit) <= step < value), reverse=True)


def _layers(design: Design, per_stage: int) -> list[Design]:
    workload, p = design.workload, design.parallelism
    assert isinstance(workload, TransformerWorkload | InferenceWorkload)
    stages = p.pipeline * p.interleave
    model = workload.model.model_dump(mode="json", exclude_defaults=True)
    counts = _halves(workload.model.layers, per_stage * stages, stages)
    return _valid([_edited(design, (("workload", "model"), {**model, "layers": count})) for count in counts])


def _outputs(design: Design, least: int) -> list[Design]:
    workload = design.workload
    assert isinstance(workload, InferenceWorkload)
    counts = _halves(workload.output_length, least)
    return _valid([_edited(design, (("workload", "output_length"), count)) for count in counts])


def _microbatches(design: Design, least: int) -> list[Design]:
    p = design.parallelism
    unit = p.pipeline if p.interleave > 1 else 1
    counts = _halves(design.microbatches, least, unit)
    each = design.data * design.microbatch
    return _valid([_edited(design, (("workload", "global_batch"), count * each)) for count in counts])


def _chunks(design: Design, least: int) -> list[Design]:
    return [_edited(design, (("system", "chunks"), count)) for count in _halves(design.system.chunks, least)]


def _npus(design: Design, least: int) -> list[Design]:
    """Fewer data-parallel NPUs (of a collective: fewer NPUs), each time by the least factor of an outer dimension."""
    out: list[Design] = []
    while True:
        group = _outer(design)
        if group is None or _members(design) // _factor(group.part.members) < least:
            return _valid(out)
        design = _without(design, group.dimension, _factor(group.part.members))
        out.append(design)


def _members(design: Design) -> int:
    return design.cluster.npus if isinstance(design.workload, CollectiveWorkload) else design.data


def _outer(design: Design) -> GroupSlice | None:
    alone = isinstance(design.workload, CollectiveWorkload)
    if isinstance(design.workload, CollectiveWorkload) and design.workload.groups:
        return None  # the sizes of the groups are what is asked about
    slices = whole(design) if alone else place(design)[0].get("data", ())
    return slices[-1] if slices else None


def _factor(number: int) -> int:
    return next(f for f in range(2, number + 1) if number % f == 0)


def _without(design: Design, dimension: int, factor: int) -> Design:
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
    if not isinstance(design.workload, CollectiveWorkload):
        document["parallelism"]["data"] //= factor
        document["workload"]["global_batch"] //= factor
    return Design.model_validate(document)
