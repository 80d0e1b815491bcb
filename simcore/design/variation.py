"""Whether an NPU is what its name says."""

from __future__ import annotations

from typing import Any

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.npu import Npu


def is_itself(npu: Npu) -> bool:
    """Whether an NPU is what its name says: a variation at other rates is another device."""
    if not is_in_catalogue(npu):
        return True
    own = preset(Npu, "npus", npu.name)
    return npu is own or _rates_of(npu) == _rates_of(own)


def name_as_it_is(npu: Npu) -> str:
    """Its name, where it is what that says; else that it is a variation."""
    return npu.name if is_itself(npu) else f"a variation of {npu.name}"


def is_in_catalogue(npu: Npu) -> bool:
    """Whether the catalogue has an NPU of its name."""
    return npu.name in catalog.section("npus")


def _rates_of(npu: Npu) -> tuple[Any, ...]:
    return npu.peak, npu.memory.bandwidth, npu.multiprocessors, npu.flops_per_clock, npu.exponentials
