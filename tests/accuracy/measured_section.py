"""The section of `docs/accuracy.md` on measured training iterations, with what others publish beside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dse.measured import read_measured
from dse.validate import accuracy, predict
from simcore.spec import Npu, preset

TABLES = Path(__file__).parent / "data"

OTHERS = {
    "megatron_recompute": "Calculon (tuned on these) 3.65 mean, 8.87 worst",
    "a100_multi_node": "vTrain 14.73; Calculon 15-20",
    "a100_single_node": "vTrain 8.37; Calculon 39",
    "b200": "SimuMax (calibrated on the machine) -13.5 to +0.1",
}
"""Errors in percent: as published by vTrain (MICRO 2024) and SimuMax; Calculon's as run on these tables."""


STATEMENTS = """
**H100.** No measured iterations of it are at hand: it is predicted from its data sheet and the A100's curve, and has
the interval of a device that was not calibrated. What stands for its error is that of the one device that can be left
out: with the A100's curve in place of its own the B200 has a MAPE of {error:.1f} %, always too fast.

**Speed.** `tests/benchmarks/bench_simulator.py` simulates 725 and 743 designs of Transformer-1T a second and core, by
CPU time, in two runs on a quiet machine (November 2026); 523 to 600 in four runs while others used it.
"""


def measured_section() -> Iterator[str]:
    """Prediction against measurement, table by table."""
    yield "## Measured training iterations\n"
    yield "`dse validate` with the catalogue's curves, which were fitted to these rows (see *Calibration* for rows"
    yield "left out); errors in percent, regret over the best measured time. Others' errors are as published, on their"
    yield "own measurements. Peak memory was measured in one table; SimuMax publishes errors of it within 1.4 %.\n"
    yield "| table | rows | MAPE | median | worst | pairwise order | regret | memory MAPE | others' error |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|---|"
    for name, others in OTHERS.items():
        rows = list(predict(read_measured(TABLES / f"{name}.csv")))
        found = accuracy(rows)
        order = "" if found.pairwise_order is None else f"{found.pairwise_order:.3f}"
        figures = f"{100 * found.mape:.2f} | {100 * found.median:.2f} | {100 * found.worst:.1f} | {order}"
        memory = "" if found.memory_mape is None else f"{100 * found.memory_mape:.2f}"
        yield f"| {name} | {len(rows)} | {figures} | {100 * found.regret_mean:.2f} | {memory} | {others} |"
    yield ""
    yield from STATEMENTS.format(error=_without_own_rows()).splitlines()
    yield ""


def _without_own_rows() -> float:
    """Mean error of the B200's rows with the curve of the A100 [%]."""
    npu: Npu = preset("npus", "b200").model_copy(update={"curve": preset("npus", "a100-80gb").curve})
    return 100 * accuracy(list(predict(read_measured(TABLES / "b200.csv", npu)))).mape
