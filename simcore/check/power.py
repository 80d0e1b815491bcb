"""Whether the power of NPUs can be capped as a design says."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Path, Problem
from simcore.document.quantity import write_quantity

_WHERE: Path = ("cluster", "power_cap")


def power_problems(design: Design) -> Iterator[Problem]:
    """What is wrong with the cap of a design, if it has one."""
    npu, cap = design.cluster.npu, design.cluster.power_cap
    if cap is None:
        return
    found = write_quantity(cap, "power")
    if not npu.power.idle < cap <= npu.power.max:
        least, most = (write_quantity(watts, "power") for watts in (npu.power.idle, npu.power.max))
        name = npu.name or "the NPU"
        expected = f"above the {least} that {name} draws at idle, and at most its maximum of {most}"
        yield Problem(_WHERE, expected, found, "choose a cap between them, or leave it out")
    if npu.compute is not None and npu.compute.table is not None:
        expected = "no cap on an NPU of measured products, whose times under a cap were not measured"
        yield Problem(_WHERE, expected, found, "leave it out")
