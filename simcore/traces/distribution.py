"""Traces drawn from a distribution that a short document describes.

    traces:
      ranks: 8
      operators: 100                               # compute operators of a rank
      compute: {median: 200 us, spread: 1.5}       # log-normal: two thirds lie within a factor of 1.5 of the median
      imbalance: 1.05                              # the same, of a rank's times around those of all
      collectives:
        - {collective: all_reduce, share: 0.25, size: {median: 8 MiB, spread: 2}, blocking: false}
        - {collective: all_gather, share: 0.5, size: {choice: [1 MiB, 4 MiB]}, group: 4}

After each compute operator every kind of collective comes with its `share` as probability, for all ranks alike: among
all ranks, or within groups of that many neighbours. What blocks is followed by the next compute operator, what does not
by the end of the trace.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simcore.astra.files.chakra import CommType, NodeType, TraceNode, bool_attribute, collective_node, compute_node
from simcore.astra.files.nanoseconds import Clock
from simcore.document.form import describe_error
from simcore.document.problem import InputError, Problem
from simcore.document.quantity import Size, Time
from simcore.document.text import Document
from simcore.traces.base import TraceSet

KEY = "traces"
MOST_NODES = 1_000_000

T = TypeVar("T")


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Choice(_Form, Generic[T]):
    """One of some values, each as likely."""

    choice: tuple[T, ...] = Field(min_length=1)


class LogNormal(_Form, Generic[T]):
    """A log-normal value: its median, and the factor within which two thirds lie."""

    median: T
    spread: float = Field(default=1.0, ge=1.0, le=100.0, allow_inf_nan=False)


class Collectives(_Form):
    """Collectives of one kind; `group` neighbours take part, all ranks where it is not given."""

    collective: Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
    share: float = Field(gt=0.0, le=1.0)
    size: Choice[Size] | LogNormal[Size] | Size
    group: int | None = Field(default=None, ge=2)
    blocking: bool = True


class Distribution(_Form):
    """What a document says of the traces to draw."""

    ranks: int = Field(ge=1, le=100_000)
    operators: int = Field(ge=1, le=1_000_000)
    compute: Choice[Time] | LogNormal[Time] | Time
    imbalance: float = Field(default=1.0, ge=1.0, le=10.0)
    collectives: Annotated[tuple[Collectives, ...], Field(max_length=100)] = ()


def read_distribution(document: Document) -> Distribution:
    """The distribution in a document. Raises `InputError` with every problem."""
    try:
        found = Distribution.model_validate(document.data[KEY])
    except ValidationError as error:
        problems = [
            Problem((KEY, *_place(wrong["loc"])), *describe_error(wrong), document.line((KEY, *_place(wrong["loc"]))))
            for wrong in error.errors(include_url=False)
        ]
        raise InputError(problems, document.source) from None
    problems = [
        Problem((KEY, "collectives", index, "group"), f"a divisor of {found.ranks} ranks", str(entry.group))
        for index, entry in enumerate(found.collectives)
        if entry.group is not None and found.ranks % entry.group
    ]
    total = found.ranks * found.operators * (1 + len(found.collectives))
    if total > MOST_NODES:
        problems.append(Problem((KEY, "operators"), f"at most {MOST_NODES:,} nodes in all", f"up to {total:,}"))
    if others := sorted(set(document.data) - {KEY}):
        problems.append(Problem((str(others[0]),), f"'{KEY}' alone", f"'{others[0]}'"))
    if problems:
        raise InputError(problems, document.source)
    return found


def _place(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The keys of a place, without pydantic's names of alternatives."""
    return tuple(part for part in place if isinstance(part, int) or (part.isidentifier() and part[0].islower()))


@dataclass(frozen=True)
class _Step:
    """A compute operator's time [s], and what comes after it: an entry's place and a size [B] each."""

    time: float
    after: tuple[tuple[int, int], ...]


def draw_traces(distribution: Distribution, seed: int) -> TraceSet:
    """The traces that a seed gives."""
    draw = random.Random(seed)  # nothing here is secret
    steps = []
    for _ in range(distribution.operators):
        time = _draw(draw, distribution.compute)
        after = [
            (place, max(1, round(_draw(draw, entry.size))))
            for place, entry in enumerate(distribution.collectives)
            if draw.random() < entry.share
        ]
        steps.append(_Step(time, tuple(after)))
    widths = sorted(
        {entry.group for entry in distribution.collectives if entry.group not in (None, distribution.ranks)}
    )
    numbers: dict[tuple[int, int], int] = {}
    groups: dict[int, tuple[int, ...]] = {}
    for width in widths:
        assert width is not None
        for first in range(0, distribution.ranks, width):
            numbers[width, first] = len(groups) + 1
            groups[len(groups) + 1] = tuple(range(first, first + width))
    ranks = tuple(_trace(distribution, steps, rank, numbers, draw) for rank in range(distribution.ranks))
    return TraceSet(ranks, groups)


def _draw(draw: random.Random, value: Any) -> float:
    if isinstance(value, Choice):
        return float(draw.choice(value.choice))
    if isinstance(value, LogNormal):
        return float(value.median) * _factor(draw, value.spread)
    return float(value)


def _factor(draw: random.Random, spread: float) -> float:
    return math.exp(draw.gauss(0.0, 1.0) * math.log(spread))


def _trace(
    distribution: Distribution,
    steps: list[_Step],
    rank: int,
    numbers: dict[tuple[int, int], int],
    draw: random.Random,
) -> tuple[TraceNode, ...]:
    """The trace of one rank."""
    nodes: list[TraceNode] = []
    after: tuple[int, ...] = ()
    flying: list[int] = []
    clock = Clock()
    for step in steps:
        time = step.time * (_factor(draw, distribution.imbalance) if distribution.imbalance > 1 else 1.0)
        nodes.append(compute_node(len(nodes), clock.round(time * 1e6), after))
        last = nodes[-1].id
        blocking: list[int] = []
        for place, size in step.after:
            entry = distribution.collectives[place]
            width = entry.group or distribution.ranks
            group = numbers.get((width, rank - rank % width))
            kind = CommType[entry.collective.upper()]
            nodes.append(collective_node(len(nodes), kind, size, (last,), group=str(group) if group else ""))
            (blocking if entry.blocking else flying).append(nodes[-1].id)
        after = tuple(blocking) or (last,)
    if flying:
        ends = tuple(sorted({*after, *flying}))
        nodes.append(TraceNode(len(nodes), "end", NodeType.COMP, data_deps=ends, attributes=(_DEVICE,)))
    return tuple(nodes)


_DEVICE = bool_attribute("is_cpu_op", False)
