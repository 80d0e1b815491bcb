"""What a run gives back, and its per-layer table."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simcore.astra.files.errors import AstraInputError


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
    sent: tuple[int, ...] = ()  # bytes over each dimension [B]


@dataclass(frozen=True)
class DimensionBytes:
    """What the NPU that finishes last sends over a dimension in all [B], and over its bandwidth until the finish."""

    name: str
    sent: int
    utilization: float


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
    dimensions
        Of a 2.x trace, what that NPU sends over each dimension.
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
    dimensions: tuple[DimensionBytes, ...] = ()
    warnings: tuple[str, ...] = ()
    simulation_seconds: float = 0.0


def write_csv(result: AstraResult, path: str | Path) -> None:
    """Write the layers of a result, one row each, the first one with totals beside it; times in [ns].

    Of a 2.x trace each row has the bytes that it sends over each dimension, and the totals have their sums and the
    share of each dimension's bandwidth that they use.
    """
    rows, each = result.layers, range(len(result.dimensions))
    names = [field.name for field in fields(rows[0] if rows else LayerTimes) if field.name != "sent"]
    totals = ["workload_finished_at", "total_compute", "total_exposed_comm"]
    totals += [f"{what}_dim{number}" for number in each for what in ("total_bytes", "utilization")]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, *(f"bytes_dim{number}" for number in each), *totals])
        for place, row in enumerate(rows):
            sent = row.sent if isinstance(row, OperationTimes) else ()
            writer.writerow([*(getattr(row, name) for name in names), *sent, *(_totals(result) if not place else ())])


def _totals(result: AstraResult) -> list[int | float]:
    used = [value for dimension in result.dimensions for value in (dimension.sent, round(dimension.utilization, 6))]
    return [result.finish_ns, result.compute_ns, result.exposed_communication_ns, *used]


def write_timeline(result: AstraResult, path: str | Path) -> None:
    """Write the nodes of a 2.x trace as a Chrome trace: open the file at ui.perfetto.dev or chrome://tracing.

    Raises
    ------
    AstraInputError
        If the workload is one of 1.0, whose layers have sums of times and no beginnings.
    """
    spans = [row for row in result.layers if isinstance(row, OperationTimes)]
    if len(spans) < len(result.layers):
        raise AstraInputError("--trace: expected a 2.x trace, got a 1.0 text workload; --csv has its layers")
    events = [
        {
            "name": span.name,
            "ph": "X",
            "pid": 0,
            "tid": _THREADS.get(span.kind, "communication"),
            "ts": span.start / 1000,
            "dur": (span.end - span.start) / 1000,
            "args": {"node": span.node, "bytes": list(span.sent)},
        }
        for span in spans
        if span.end > span.start
    ]
    other = {"finish_ns": result.finish_ns, "npus": len(result.finish_ns_per_npu)}
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": other})
    Path(path).write_text(text, encoding="utf-8")


_THREADS = {"delay": "computation", "instant": "computation", "memory": "memory"}
