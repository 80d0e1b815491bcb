"""The section of `docs/accuracy.md` on measured training iterations, with what others publish beside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dse.measured import read_measured
from dse.validate import accuracy, predict

TABLES = Path(__file__).parent / "data"

OTHERS = {
    "megatron_recompute": "Calculon (tuned on these) 3.65 mean, 8.87 worst",
    "a100_multi_node": "vTrain 14.73; Calculon 15-20",
    "a100_single_node": "vTrain 8.37; Calculon 39",
    "b200": "SimuMax (calibrated on the machine) -13.5 to +0.1",
}
"""Errors in percent: as published by vTrain (MICRO 2024) and SimuMax; Calculon's as run on these tables."""


def measured_section() -> Iterator[str]:
    """Prediction against measurement, table by table."""
    yield "## Measured training iterations\n"
    yield "`dse validate` with the catalogue's curves, which were fitted to these rows (see *Calibration* for rows"
    yield "left out); errors in percent, regret over the best measured time. Others' errors are as published, on their"
    yield "own measurements.\n"
    yield "| table | rows | MAPE | median | worst | pairwise order | regret | others' error |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for name, others in OTHERS.items():
        rows = list(predict(read_measured(TABLES / f"{name}.csv")))
        found = accuracy(rows)
        order = "" if found.pairwise_order is None else f"{found.pairwise_order:.3f}"
        figures = f"{100 * found.mape:.2f} | {100 * found.median:.2f} | {100 * found.worst:.1f} | {order}"
        yield f"| {name} | {len(rows)} | {figures} | {100 * found.regret_mean:.2f} | {others} |"
    yield ""
