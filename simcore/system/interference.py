"""What a collective costs the computation beside it, by the dimension that serves it."""

from __future__ import annotations

from simcore.design.design import Design
from simcore.system.streamed import count_queues

UNIT = 1000
"""Slowdowns are in thousandths."""


def slowdowns(design: Design) -> tuple[int, ...]:
    """Extra time of computation while each queue serves a phase, in thousandths of the time without one.

    Queues are those of the dimensions, and of what streams in and out, which controllers of the memory move.
    """
    share, dimensions = design.software.overlap, design.cluster.dimensions
    node, nodes = round(UNIT * share.node), round(UNIT * share.nodes)
    moved = (0,) * (count_queues(design) - len(dimensions))
    return (*(nodes if dimension.tier == "pod" else node for dimension in dimensions), *moved)
