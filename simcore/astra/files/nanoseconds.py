"""Compute nodes of whole nanoseconds, though a Chakra node's duration is in microseconds.

The nanoseconds are its `num_ops`, over a `tensor_size` of 1: ASTRA-sim in roofline mode at 1 FLOP per nanosecond
(`roofline-enabled: 1`, `peak-perf: 0.001`) takes exactly these. Its duration is rounded so that the sum over a trace is
right to half a microsecond. Readers that would take `num_ops` for FLOPs of an NPU are told not to (`IN_NANOSECONDS`).
"""

from __future__ import annotations

from simcore.astra.files.chakra import NodeType, TraceNode, bool_attribute, int_attribute

IN_NANOSECONDS = "num_ops_in_ns"
"""A flag of nodes whose `num_ops` is a time [ns]; ASTRA-sim does not read it."""


class Clock:
    """Rounds times of one trace to whole microseconds and carries what is left."""

    def __init__(self) -> None:
        self._carried = 0.0

    def round(self, microseconds: float) -> int:
        """The time, rounded [µs]."""
        whole = max(0, round(microseconds + self._carried))
        self._carried += microseconds - whole
        return whole


def nanosecond_node(number: int, name: str, nanoseconds: int, after: tuple[int, ...], clock: Clock) -> TraceNode:
    """A compute node of some nanoseconds, after others."""
    attributes = (
        bool_attribute("is_cpu_op", False),
        int_attribute("num_ops", nanoseconds),
        int_attribute("tensor_size", 1),
        bool_attribute(IN_NANOSECONDS, True),
    )
    duration = clock.round(nanoseconds / 1e3)
    return TraceNode(number, name, NodeType.COMP, data_deps=after, duration_us=duration, attributes=attributes)
