"""The rows of NPUs along a dimension that differ in who is where: which class each node is of, and who sends on.

Each row of NPUs along a dimension has its own copy of the links. Rows in which nodes of the same classes stand at the
same places carry the same, so one of them is enough. Where classes are the stages, only the digits of the pipeline
count, whatever the number of NPUs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.engine.flow.classes import Classes
from simcore.system.placement import GroupSlice

Ints = NDArray[np.int64]


class Onward(NamedTuple):
    """Messages to another stage that cross a dimension in a row."""

    sender: int
    """Class of the senders."""
    target: int
    """Stage of the receivers."""
    sources: bytes
    """The nodes of the row where they enter it, as int64."""
    distance: int
    """How many members of the pipeline's slice further on they go."""


class Row(NamedTuple):
    """A row of NPUs along a dimension."""

    classes: bytes
    """The class of each node, as int64."""
    onward: tuple[Onward, ...]


def unpack(packed: bytes) -> Ints:
    """The numbers in a field of a row."""
    return np.frombuffer(packed, np.int64)


@dataclass(frozen=True)
class Rows:
    """The different rows of a job's dimensions."""

    classes: Classes
    hops: frozenset[tuple[int, int]]
    """(Stage, stage that it sends to)."""

    def along(self, dimension: int) -> list[Row]:
        """The different rows of a dimension, in the order of their first NPUs."""
        return list(dict.fromkeys(self._rows(dimension)))

    def _rows(self, dimension: int) -> Iterator[Row]:
        size = self._sizes[dimension]
        others = [range(size) if d == dimension else self._places(d) for d in range(len(self._sizes))]
        outer = [places if d != dimension else (0,) for d, places in enumerate(others)]
        seen: set[bytes] = set()
        for coordinates in itertools.product(*reversed(outer)):
            row = self.row_at(dimension, list(reversed(coordinates)))
            key = row.classes + b"".join(one.sources for one in row.onward)
            if key not in seen:
                seen.add(key)
                yield row

    def row_at(self, dimension: int, at: Sequence[int]) -> Row:
        """The row along a dimension through the coordinates `at`, that of the dimension itself being 0."""
        return Row(self._classes_along(dimension, at).tobytes(), tuple(self._onward(dimension, at)))

    @cached_property
    def _sizes(self) -> list[int]:
        return [dimension.size for dimension in self.classes.design.cluster.dimensions]

    @cached_property
    def _pipeline(self) -> dict[int, GroupSlice]:
        return {where.dimension: where for where in self.classes.placement.get("pipeline", ())}

    def _places(self, dimension: int) -> Sequence[int]:
        """The coordinates of a dimension that stand for all others."""
        if not self.classes.simple:
            return range(self._sizes[dimension])
        if dimension not in self._pipeline:
            return (0,)
        part = self._pipeline[dimension].part
        return range(0, part.members * part.stride, part.stride)

    def _classes_along(self, dimension: int, at: Sequence[int]) -> Ints:
        """The class of each NPU of the row through the coordinates `at`."""
        places = np.arange(self._sizes[dimension])
        if self.classes.simple and self._side_by_side:
            return self._group_of_places if dimension == 0 else np.full(len(places), self._group_of_places[at[0]])
        if self.classes.simple:
            weight, stage = 1, np.zeros(len(places), np.int64)
            for where in self._pipeline.values():
                here = places if where.dimension == dimension else np.full(len(places), at[where.dimension])
                stage += weight * (here // where.part.stride % where.part.members)
                weight *= where.part.members
            return stage
        npus, stride = np.zeros(len(places), np.int64), 1
        for d, size in enumerate(self._sizes):
            npus += stride * (places if d == dimension else at[d])
            stride *= size
        return self.classes.numbers[npus]

    @cached_property
    def _side_by_side(self) -> bool:
        return "pipeline" not in self.classes.placement and "group 0" in self.classes.placement

    @cached_property
    def _group_of_places(self) -> Ints:
        sizes = [slices[0].part.members for slices in self.classes.placement.values()]
        return np.repeat(np.arange(len(sizes)), sizes)

    def _onward(self, dimension: int, at: Sequence[int]) -> Iterator[Onward]:
        """Messages pass the inner dimensions first, so they enter this one where their receivers are further in."""
        if dimension not in self._pipeline:
            return
        for stage, target in sorted(self.hops):
            here, there = self._digits(stage), self._digits(target)
            if here[dimension] == there[dimension]:
                continue
            inner = [d for d in self._pipeline if d < dimension]
            if any(self._digit(d, at[d]) != there[d] for d in inner):
                continue
            origin = list(at)
            for d in inner:
                origin[d] += (here[d] - there[d]) * self._pipeline[d].part.stride
            classes = self._classes_along(dimension, origin)
            for its in self._classes_of_stage(stage):
                sources = np.flatnonzero(classes == its)
                if len(sources):
                    yield Onward(its, target, sources.tobytes(), there[dimension] - here[dimension])

    def _classes_of_stage(self, stage: int) -> Iterable[int]:
        return (its for its, of in enumerate(self.classes.stages) if of == stage)

    def _digit(self, dimension: int, place: int) -> int:
        part = self._pipeline[dimension].part
        return place // part.stride % part.members

    def _digits(self, stage: int) -> dict[int, int]:
        """Where a stage is in each dimension of the pipeline."""
        digits = {}
        for dimension, where in self._pipeline.items():
            stage, digits[dimension] = divmod(stage, where.part.members)
        return digits
