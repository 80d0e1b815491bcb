"""What ranks of a trace take of the dimensions of a cluster: rank r is NPU r, innermost dimension first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcore.network import Slice
from simcore.system.placement import GroupSlice

Slices = tuple[GroupSlice, ...]


def digits(npu: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """The place of an NPU in each dimension."""
    out = []
    for size in sizes:
        npu, here = divmod(npu, size)
        out.append(here)
    return tuple(out)


def slices_of(members: Sequence[int], sizes: Sequence[int]) -> Slices | None:
    """What a group takes of each dimension; None where its members are no regular part of the dimensions.

    On each dimension a group has all members of one size, equally far apart, and it has all combinations of these.
    """
    places = [digits(member, sizes) for member in members]
    slices = []
    for dimension, (column, size) in enumerate(zip(zip(*places, strict=True), sizes, strict=True)):
        here = sorted(set(column))
        if len(here) == 1:
            continue
        stride = here[1] - here[0]
        block = stride * len(here)
        if here != list(range(here[0], here[0] + block, stride)) or size % block or here[0] % block >= stride:
            return None
        slices.append(GroupSlice(dimension, Slice(size, len(here), stride)))
    return tuple(slices) if math.prod(where.part.members for where in slices) == len(members) else None


def everyone(sizes: Sequence[int]) -> Slices:
    """All of a cluster."""
    return tuple(GroupSlice(number, Slice(size, size, 1)) for number, size in enumerate(sizes) if size > 1)


def involved_with(rank: int, flags: Sequence[bool], sizes: Sequence[int]) -> tuple[int, ...]:
    """The ranks that differ from one in the dimensions with a flag alone; flags beyond the dimensions say nothing."""
    members, stride = [rank], 1
    for flag, size in zip(flags, sizes, strict=False):
        if flag:
            first = -(rank // stride % size) * stride
            members = [member + first + stride * i for i in range(size) for member in members]
        stride *= size
    return tuple(sorted(members))


def name_of(slices: Slices, sizes: Sequence[int]) -> str:
    """What a group of such slices is called: `all`, or what it takes of which dimension."""
    if math.prod(where.part.members for where in slices) == math.prod(sizes):
        return "all"
    return " x ".join(_described(where) for where in slices)


def _described(where: GroupSlice) -> str:
    apart = f", {where.part.stride} apart," if where.part.stride > 1 else ""
    return f"{where.part.members}{apart} of dimension {where.dimension}"
