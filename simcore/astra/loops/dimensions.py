"""Which dimensions a layer's collectives span, and how a model-parallel group breaks one in two."""

from __future__ import annotations

from simcore.astra.files.errors import AstraInputError
from simcore.astra.loops import LOOPS
from simcore.astra.loops.base import PartKind
from simcore.astra.loops.workload import TextLayer, TextWorkload

EVERYWHERE = "ALL"
"""Instead of a loop: all dimensions, whichever part it is."""


def logical_sizes(workload: TextWorkload, sizes: tuple[int, ...], boost: bool) -> tuple[tuple[int, ...], int]:
    """Return the logical dimensions, and how many of the lowest are model-parallel (loops with groups).

    A model-parallel group takes the lowest dimensions until their product reaches it; the last of them is
    broken in two where it is too large, rounding down. NPUs that then are in no whole group make ASTRA-sim abort,
    but for its `boost` mode, which plays only the NPUs that stand for all.

    Raises
    ------
    AstraInputError
        If NPUs are left over without `boost`.
    """
    if not LOOPS[workload.loop].has_group or workload.group == 1:
        return sizes, 0
    product = 1
    for index, size in enumerate(sizes):
        if product * size >= workload.group:
            inner = workload.group // product
            if size % inner and not boost:
                raise AstraInputError(
                    f"{workload.path}: model_parallel_NPU_group: expected a group that breaks dimension {index} "
                    f"evenly, got {workload.group}, parts of {inner} of its {size} NPUs; "
                    "ASTRA-sim aborts, but not with boost-mode: 1"
                )
            broken = (inner,) if inner == size else (inner, size // inner)
            return sizes[:index] + broken + sizes[index + 1 :], index + 1
        product *= size
    return sizes, 0


def involved_dimensions(layer: TextLayer, part: PartKind, count: int, model: int) -> tuple[bool, ...]:
    """Return which of `count` logical dimensions a collective spans; the lowest `model` are model-parallel."""
    return (True,) * count if layer.loop == EVERYWHERE else LOOPS[layer.loop].spans(part, count, model)
