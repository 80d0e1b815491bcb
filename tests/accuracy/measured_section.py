"""The section of `docs/accuracy.md` on measured training iterations: rows that were fitted, and rows that were not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dse.measured.measured import read_measured
from dse.measured.validate import accuracy, predict
from simcore.catalog.preset import preset
from simcore.design.npu import Npu

TABLES = Path(__file__).parent / "data"

FITTED = {
    "megatron_recompute": ("8", "3.3", "Calculon, tuned on these rows: 3.65 mean, 8.87 worst"),
    "a100_multi_node": ("73", "6.7", ""),
    "a100_single_node": ("16", "6.1", ""),
    "b200": ("22", "3.5", "SimuMax, calibrated on this machine: -13.5 to +0.1"),
}
"""By table: its independent observations, the error with one job left out (*Calibration*), others' fits of it."""
LEFT_OUT = {
    "h100_dgxc": "GPT-3 175B and Llama-3 70B, 2 to 80 layers, 8 to 2,048 NPUs, bf16 and fp8",
    "h100_mlperf": "GPT-3 175B, 512 to 11,616 NPUs, fp8",
}

TEXT = """
## Measured training iterations

Errors of `dse validate` in percent. An error on rows that a curve was fitted to says little about the next job, so
fitted rows and rows left out of every fit have tables of their own.

**Fitted (in-sample).** The catalogue's curves were fitted to these rows. Regret is over the best measured time. The
540 single-node rows are 16 observations (see [Calibration](#calibration)). Peak memory was measured in one table.

| table | rows | observations | MAPE | median | worst | order | regret | memory MAPE | others, in-sample |
|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
{fitted}

With one job at a time left out of the fit the mean errors are {jobs} (November 2026, before inputs were gathered again
for weight gradients). Others' errors on jobs that they were not fitted to: vTrain publishes 14.73 % on several
nodes and 8.37 % on one, from kernels profiled on the machine; Calculon, run on these tables, has 15 to 20 % and 39 %.

**Left out of every fit.** Nothing was fitted to an H100. It has its data sheet, the A100's curve, and a published
rate of fused attention. The rows are those of the catalogue's models in NVIDIA's DGX Cloud benchmarking recipes
(v24.11 to v25.04) and in MLPerf Training v4.0 and v4.1.

| table | rows | MAPE | median | worst | order | regret | what |
|---|--:|--:|--:|--:|--:|--:|---|
{left_out}

With the A100's curve in place of its own, the B200 has a MAPE of {other:.1f} %; every prediction is too fast.

**Speed.** `tests/benchmarks/bench_simulator.py` simulated 725 and 743 designs of Transformer-1T a second and core, by
CPU time, in two runs on a quiet machine (November 2026), and 523 to 600 in four runs on a busy one.
"""


def measured_section() -> Iterator[str]:
    """Prediction against measurement, table by table."""
    jobs = ", ".join(f"{left} % ({name})" for name, (_, left, _) in FITTED.items())
    fitted, left_out = "\n".join(_fitted()), "\n".join(_left_out())
    yield from TEXT.format(fitted=fitted, jobs=jobs, left_out=left_out, other=_without_own_rows()).lstrip().splitlines()
    yield ""


def _fitted() -> Iterator[str]:
    for name, (observations, _, others) in FITTED.items():
        count, figures, memory = _figures(name)
        yield f"| {name} | {count} | {observations} | {figures} | {memory} | {others} |"


def _left_out() -> Iterator[str]:
    for name, what in LEFT_OUT.items():
        count, figures, _ = _figures(name)
        yield f"| {name} | {count} | {figures} | {what} |"


def _figures(name: str) -> tuple[int, str, str]:
    """Rows of a table, the cells of its errors in time, and its error in memory."""
    rows = list(predict(read_measured(TABLES / f"{name}.csv")))
    found = accuracy(rows)
    order = "" if found.pairwise_order is None else f"{found.pairwise_order:.3f}"
    figures = f"{100 * found.mape:.2f} | {100 * found.median:.2f} | {100 * found.worst:.1f} | {order}"
    memory = "" if found.memory_mape is None else f"{100 * found.memory_mape:.2f}"
    return len(rows), f"{figures} | {100 * found.regret_mean:.2f}", memory


def _without_own_rows() -> float:
    """Mean error of the B200's rows with the curve of the A100 [%]."""
    npu: Npu = preset(Npu, "npus", "b200-simumax").model_copy(update={"curve": preset(Npu, "npus", "a100-80gb").curve})
    return 100 * accuracy(list(predict(read_measured(TABLES / "b200.csv", npu)))).mape
