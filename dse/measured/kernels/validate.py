"""What curves say of measured kernels: errors by device and precision, and the rows that they cannot say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dse.measured.kernels.table import UnexpressedKernel, read_kernels
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.compute import Roofline
from simcore.design.npu import Npu


@dataclass(frozen=True)
class KernelErrors:
    """Errors of the rows of one group."""

    by: Mapping[str, str]
    logs: tuple[float, ...]
    """Logarithm of predicted over measured time, of each row."""

    @property
    def mean_abs_log(self) -> float:
        """Mean of their absolute values [%]."""
        return 100 * sum(map(abs, self.logs)) / len(self.logs)

    @property
    def bias(self) -> float:
        """Their mean [%]: above 0 where predictions are too long."""
        return 100 * sum(self.logs) / len(self.logs)

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {"by": self.by, "rows": len(self.logs), "mean_abs_log": self.mean_abs_log, "bias": self.bias}


@dataclass(frozen=True)
class KernelReport:
    """What curves say of a table of kernels."""

    kind: str
    groups: tuple[KernelErrors, ...]
    unexpressed: tuple[UnexpressedKernel, ...]

    @property
    def rows(self) -> int:
        """Rows that were predicted."""
        return sum(len(group.logs) for group in self.groups)

    def reasons(self) -> dict[str, int]:
        """Why rows were not predicted -> how many."""
        return dict(Counter(row.why for row in self.unexpressed))

    def document(self) -> dict[str, Any]:
        """The JSON form; errors in percent."""
        everything = KernelErrors({}, tuple(log for group in self.groups for log in group.logs))
        return {
            "kind": "kernels",
            "rows": self.rows,
            "mean_abs_log": everything.mean_abs_log if self.groups else None,
            "bias": everything.bias if self.groups else None,
            "groups": [group.document() for group in self.groups],
            "not_expressed": [{"row": row.line, "device": row.device, "why": row.why} for row in self.unexpressed],
        }


def validate_kernels(path: Path, device: Npu | None = None) -> KernelReport:
    """Predict the kernels of a table, with `device` in place of the catalogue's where it is given.

    Kernels are measured in milliseconds: what an NPU sustains for minutes does not count.

    Raises `InputError` for a file that is no table of kernels.
    """
    table = read_kernels(path)
    logs: dict[tuple[tuple[str, str], ...], list[float]] = {}
    unexpressed = list(table.unexpressed)
    times_of = _make_finder(device)
    for row in table.rows:
        times = times_of(row.device, row.precision)
        if isinstance(times, str):
            unexpressed.append(UnexpressedKernel(row.line, row.device, times))
        else:
            logs.setdefault(tuple(row.group.items()), []).append(math.log(row.predict(times) / row.seconds))
    groups = tuple(KernelErrors({**dict(by), "operation": table.kind.name}, tuple(found)) for by, found in logs.items())
    return KernelReport(table.kind.name, groups, tuple(sorted(unexpressed, key=lambda row: row.line)))


def _make_finder(device: Npu | None) -> Callable[[str, str], Roofline | str]:
    """The operator times of an NPU by its name and a precision, or why there are none."""

    @cache
    def find(name: str, precision: str) -> Roofline | str:
        if device is None and name not in catalog.section("npus"):
            return f"no device '{name}' in the catalogue"
        npu: Npu = device or preset(Npu, "npus", name)
        if npu.curve is None:
            return f"'{npu.name}' has no curve of its generation"
        if not npu.computes(precision):
            return f"'{npu.name}' has no peak at {precision}"
        return Roofline(npu.model_copy(update={"sustained": 1.0}), precision)

    return find
