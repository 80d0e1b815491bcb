"""Which part of which dimension each parallel group takes.

Groups take dimensions innermost first, in the order of `cluster.placement`. A group that takes a factor of a
dimension is contiguous; the next group on that dimension has stride of what lies inside. Sizes must divide: a degree
that does not fit into what is left of a dimension, and does not fill it, is a problem that names both sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.design import Design
from simcore.network import Slice
from simcore.once import once
from simcore.problem import Problem


@dataclass(frozen=True, slots=True)
class GroupSlice:
    """What a group takes of dimension `dimension`."""

    dimension: int
    part: Slice


Placement = dict[str, tuple[GroupSlice, ...]]


@once
def place(design: Design) -> tuple[Placement, list[Problem]]:
    """The slices of every group, and the problems that keep the degrees from filling the dimensions."""
    p = design.parallelism
    degrees = {"tensor": p.tensor, "context": p.context, "data": design.data, "pipeline": p.pipeline}
    sizes = [dimension.size for dimension in design.cluster.dimensions]
    slices: Placement = {}
    problems: list[Problem] = []
    dimension, stride = 0, 1
    for group in design.cluster.placement:
        left, taken = degrees[group], []
        while left > 1 and dimension < len(sizes):
            room = sizes[dimension] // stride
            if room == 1:
                dimension, stride = dimension + 1, 1
                continue
            members = min(left, room)
            if left % members or room % members:
                problems.append(_uneven(group, degrees[group], left, dimension, sizes[dimension], room))
                break
            taken.append(GroupSlice(dimension, Slice(sizes[dimension], members, stride)))
            left //= members
            stride *= members
        slices[group] = tuple(taken)
    return slices, problems


def _uneven(group: str, degree: int, left: int, dimension: int, size: int, room: int) -> Problem:
    what = f"{degree}" if left == degree else f"{degree} (of which {left} are left)"
    inside = f"{room} free of its {size}" if room != size else f"{size}"
    return Problem(
        ("parallelism", group),
        f"a degree that fills or divides cluster.dimensions[{dimension}] ({inside} NPUs)",
        what,
        "choose sizes that divide each other, or another placement",
        rule=f"{group} on dimension {dimension}",
    )


def whole(design: Design) -> tuple[GroupSlice, ...]:
    """All NPUs as one group."""
    sizes = [dimension.size for dimension in design.cluster.dimensions]
    return tuple(GroupSlice(d, Slice(size, size, 1)) for d, size in enumerate(sizes) if size > 1)
