"""NCCL's collectives against the catalogue's fabrics, by device, kind and size; run it to see the section."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse.measured.fabric import DimensionFit, MeasuredCollective, fit_fabric
from dse.measured.fabric.fit import times_between, times_in_node
from simcore.design.dimension import Dimension
from simcore.design.fabric import fabric_dimensions

DATA = Path(__file__).parent / "data"
FABRICS = {"a100-80gb": "dgx-a100", "h100-80gb": "dgx-h100", "b200": "dgx-b200"}
KINDS = {
    "all_reduce": "all_reduce",
    "reduce_scatter": "reduce_scatter",
    "all_gather": "all_gather",
    "alltoall": "all_to_all",
}
"""Operation of the table -> kind of collective."""
FROM = (0, 64 << 10, 1 << 20, 16 << 20)
"""Least sizes of the columns [B]."""
OTHERS = {
    "A100, 2 and 8 GPUs": ("a100", (2, 8), "dgx-a100-nccl"),
    "B200, 8 GPUs": ("b200", (8,), "dgx-b200-nccl"),
    "B200, 4 nodes of 8": ("b200", (32,), "dgx-b200-nccl"),
}
"""All-reduces of other machines: what they are called -> device, GPUs and fabric."""
WHY = """\
**What is fitted.** A step's latency, a launch (of the ring's kernels, of the all-to-all's), one `piece`, and for
each kind the rate of the library's passes over memory: 8 numbers a generation (`docs/model.md`, *Libraries of
collectives*), one more where a whole node's largest all-reduces show that its switch reduces. Links keep the data
sheet's rate. The fabrics for training use these times as they are: the passes over memory are in them, and no
operator stands beside a collective.

**Why no table by message size.** NCCL chooses its protocol by the size of the buffer, of which a message is some
share that depends on the algorithm and the number of chunks in the *model*: a table fitted for 64 chunks held for
64. A rate of passes over memory also says why 2 GPUs get less than 8, which no table by size does: what was fitted
to 8 GPUs was 25 % off on 2. Tables (`efficiency`) stay for networks that are described so.

**What falls short.** All-to-alls of H100 below 1 MiB: one of 2 KiB took 6.5, 7.0 and 16.6 us on 2, 4 and 8 GPUs,
one of 8 KiB on 8 took 7.5. Between 1 and 16 MiB NCCL changes its protocol in a step (all-gathers on 4 B200: 124
GB/s at 8 MiB, 354 at 32 MiB); the law goes through the middle. `whole_memory` rests on one row a device. No public
times between nodes have kinds other than all-reduce: there the training fabrics keep the shares that iterations
gave. A collective pays no launch of the host, as operators do (`launch`): where the host is slower than the kernel,
it is too short.
"""


def rows(device: str) -> list[MeasuredCollective]:
    """All measured collectives of a device."""
    with (DATA / "collectives.csv").open(newline="", encoding="utf-8") as stream:
        return [
            MeasuredCollective(
                KINDS[r["operation"]], int(r["gpus"]), 1, int(r["bytes"]), float(r["time_us"]) / 1e6, "collectives.csv"
            )
            for r in csv.DictReader(stream)
            if r["device"] == device
        ]


def all_reduces(device: str, npus: Sequence[int]) -> list[MeasuredCollective]:
    """All-reduces of other machines, in nodes of 8."""
    with (DATA / "nccl_all_reduce.csv").open(newline="", encoding="utf-8") as stream:
        return [
            MeasuredCollective(
                "all_reduce", n, max(1, n // 8), int(r["bytes"]), float(r["measured_us"]) / 1e6, "nccl_all_reduce.csv"
            )
            for r in csv.DictReader(stream)
            if r["device"] == device and (n := int(r["npus"])) in npus
        ]


def dimensions(fabric: str, nodes: int) -> list[Dimension]:
    """The dimensions of a fabric, that between nodes with so many of them."""
    return [Dimension.model_validate(dimension) for dimension in fabric_dimensions(fabric, 8 * nodes)]


def nccl_section() -> Iterator[str]:
    """NCCL's collectives against the catalogue's fabrics."""
    yield "## Collectives of NCCL\n"
    yield "Mean |ln(predicted / measured)| in percent of 378 times that nccl-tests printed on 2, 4 and 8 GPUs,"
    yield "256 B to 512 MiB: of the catalogue's fabrics, in brackets of fits that had not seen a row's size"
    yield "(`dse calibrate-fabric` does the same).\n"
    yield "| device | kind | times | below 64 KiB | to 1 MiB | to 16 MiB | above | all |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for device, fabric in FABRICS.items():
        node = dimensions(fabric, 1)[0]
        (fit,) = fit_fabric(rows(device), [node])
        shipped = np.abs(fit.errors(times_in_node(node, fit.rows)))
        for kind in (*KINDS.values(), "all"):
            own = np.array([kind in (row.kind, "all") for row in fit.rows])
            yield f"| {device} | {kind} | {own.sum()} | " + " | ".join(_cells(fit, shipped, own)) + " |"
    yield "\nAll-reduces of other machines, with other versions of NCCL, which have fabrics of their own:\n"
    yield "| machine | times | fabric | error | sizes left out | with the training fabric |"
    yield "|---|--:|---|--:|--:|--:|"
    for title, (device, npus, fabric) in OTHERS.items():
        measured = all_reduces(device, npus)
        nodes = measured[0].nodes
        own, usual = dimensions(fabric, nodes), dimensions(fabric.removesuffix("-nccl"), nodes)
        fit = fit_fabric(measured, own)[-1]
        times = [times_in_node(ds[0], measured) if nodes == 1 else times_between(ds, measured) for ds in (own, usual)]
        errors = [100 * np.abs(fit.errors(found)).mean() for found in (times[0], fit.left_out, times[1])]
        yield f"| {title} | {len(measured)} | `{fabric}` | {errors[0]:.1f} | {errors[1]:.1f} | {errors[2]:.0f} |"
    yield ""
    yield WHY


def _cells(fit: DimensionFit, shipped: Any, own: Any) -> Iterator[str]:
    """Errors of a kind by size, and of all sizes."""
    sizes = np.array([row.size for row in fit.rows])
    left_out = np.abs(fit.errors(fit.left_out))
    for low, high in zip(FROM, (*FROM[1:], np.inf), strict=True):
        yield _cell(shipped, left_out, own & (sizes >= low) & (sizes < high))
    yield _cell(shipped, left_out, own)


def _cell(shipped: Any, left_out: Any, which: Any) -> str:
    return f"{100 * shipped[which].mean():.1f} ({100 * left_out[which].mean():.1f})" if which.any() else ""


if __name__ == "__main__":
    sys.stdout.write("\n".join(nccl_section()))
