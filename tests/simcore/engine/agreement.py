"""What it means that two engines agree: every time equal to the picosecond, every byte count up to rounding."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.design.design import Design
from simcore.result import Result
from simcore.simulate import simulate


def differences(design: Design) -> list[str]:
    """Where the reference engine's result differs from the fast engine's."""
    return compare(simulate(design, "fast"), simulate(design, "reference"))


def compare(fast: Result, reference: Result) -> list[str]:
    """Every key in which two results differ, the engine's name aside."""
    return _compare(fast.document(), reference.document(), "")


def _compare(one: Any, other: Any, path: str) -> list[str]:
    if isinstance(one, dict):
        return [found for key in one for found in _compare(one[key], other[key], f"{path}.{key}") if key != "engine"]
    if isinstance(one, list | tuple):
        return [
            found for i, (a, b) in enumerate(zip(one, other, strict=True)) for found in _compare(a, b, f"{path}[{i}]")
        ]
    summed_in_another_order = path.endswith((".bytes_per_npu", ".utilization", ".network_utilization"))
    equal = one == (pytest.approx(other, rel=1e-12) if summed_in_another_order else other)
    return [] if equal else [f"{path}: fast {one!r}, reference {other!r}"]
