"""What a run gives back, and its per-layer table."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class LayerTimes:
    """A layer of a 1.0 workload, summed over all passes [ns]; columns as in the tutorials' tables."""

    name: str
    fwd_compute: int = 0
    weight_grad_compute: int = 0
    input_grad_compute: int = 0
    exposed_fwd_comm: int = 0
    exposed_weight_grad_comm: int = 0
    exposed_input_grad_comm: int = 0
    fwd_comm: int = 0
    weight_grad_comm: int = 0
    input_grad_comm: int = 0


@dataclass(frozen=True)
class OperationTimes:
    """A node of a 2.x trace on the NPU that finishes last [ns]."""

    name: str
    node: int
    kind: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class AstraResult:
    """Times of a run, all in whole [ns].

    Attributes
    ----------
    finish_ns
        When the last NPU finishes.
    finish_ns_per_npu
        When each NPU finishes, shape [N].
    compute_ns
        GPU computation of the NPU with the most exposed communication (1.0: of NPU 0).
    exposed_communication_ns
        Largest over NPUs of (finish time - GPU computation); it includes idle time and pipeline bubbles.
    layers
        The 1.0 workload layer by layer, or the 2.x trace node by node on the NPU that finishes last.
    warnings
        What was accepted and had no effect, one sentence each.
    simulation_seconds
        Wall-clock time of the simulation, without reading the files [s].
    """

    finish_ns: int
    finish_ns_per_npu: npt.NDArray[np.int64]
    compute_ns: int
    exposed_communication_ns: int
    layers: tuple[LayerTimes, ...] | tuple[OperationTimes, ...] = ()
    warnings: tuple[str, ...] = ()
    simulation_seconds: float = 0.0


def write_csv(result: AstraResult, path: str | Path) -> None:
    """Write the layers of a result, one row each, then a row of totals; times in [ns]."""
    rows = result.layers
    names = [field.name for field in fields(rows[0] if rows else LayerTimes)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "workload_finished_at", "total_compute", "total_exposed_comm"])
        for place, row in enumerate(rows):
            totals = [result.finish_ns, result.compute_ns, result.exposed_communication_ns] if place == 0 else []
            writer.writerow([*(getattr(row, name) for name in names), *totals])
