"""What a collective costs the computation beside it, by the dimension that serves it."""

from __future__ import annotations

from simcore.design.design import Design

UNIT = 1000
"""Slowdowns are in thousandths."""


def slowdowns(design: Design) -> tuple[int, ...]:
    """Extra time of computation while each dimension serves a phase, in thousandths of the time without one."""
    share = design.software.overlap
    node, nodes = round(UNIT * share.node), round(UNIT * share.nodes)
    return tuple(nodes if dimension.tier == "pod" else node for dimension in design.cluster.dimensions)
