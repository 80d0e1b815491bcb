"""A result on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from dse.report.units import human
from simcore.design import Design
from simcore.result import Result


def print_result(design: Design, result: Result) -> None:
    """Print time and its parts, memory, network, cost."""
    console = Console()
    for table in (_time(result), _memory(result), _network(result), _cost(result)):
        if table is not None:
            console.print(table)
    if not result.fits and result.memory_bytes is not None:
        over = result.memory_bytes.peak - result.memory_capacity_bytes
        console.print(
            f"does not fit: {human(over, 'B')} more than the {human(result.memory_capacity_bytes, 'B')} of an NPU"
        )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def _time(result: Result) -> Table:
    total = result.iteration_time_s
    rate = f", {result.throughput_tokens_per_s:,.0f} tokens/s" if result.throughput_tokens_per_s else ""
    mfu = f", MFU {100 * result.mfu:.1f} %" if result.mfu else ""
    table = _table(
        f"iteration {human(total, 's')} on {result.npus:,} NPUs{rate}{mfu}", "where the time goes", "", "share"
    )
    exposed = result.exposed_communication_s
    parts = {
        "compute": result.compute_s,
        "exposed tensor-parallel communication": exposed.tensor,
        "exposed data-parallel communication": exposed.data,
        "exposed pipeline communication": exposed.pipeline,
        "exposed expert-parallel communication": exposed.expert,
        "exposed context-parallel communication": exposed.context,
        "pipeline bubble": result.bubble_s,
        "optimizer": result.optimizer_s,
        "other": result.other_s,
    }
    for name, seconds in parts.items():
        if seconds:
            table.add_row(name, human(seconds, "s"), f"{100 * seconds / total:.1f} %")
    return table


def _memory(result: Result) -> Table | None:
    memory = result.memory_bytes
    if memory is None:
        return None
    verdict = "fits" if result.fits else "does not fit"
    table = _table(
        f"\nmemory of the fullest stage: {verdict} in {human(result.memory_capacity_bytes, 'B')}", "", "per NPU"
    )
    for name in ("weights", "gradients", "optimizer", "activations", "peak"):
        table.add_row(name, human(getattr(memory, name), "B"))
    return table


def _network(result: Result) -> Table:
    table = _table("\nnetwork", "dimension", "sent per NPU", "busy", "utilization")
    for use in result.network:
        table.add_row(
            use.dimension, human(use.bytes_per_npu, "B"), human(use.busy_s, "s"), f"{100 * use.utilization:.1f} %"
        )
    return table


def _cost(result: Result) -> Table:
    cost = result.cost
    table = _table(f"\ncost {human(cost.total, '$')}, {human(result.power_w, 'W')}", "", "")
    table.add_row("network", human(cost.network, "$"))
    table.add_row("NPUs", human(cost.npu, "$"))
    if cost.memory:
        table.add_row("expanded memory", human(cost.memory, "$"))
    table.add_row("energy of an iteration", human(result.energy_j, "J"))
    if result.perf_per_cost is not None:
        table.add_row("performance per cost", f"{result.perf_per_cost:.4g} tokens/s/$")
    return table
