"""A result on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from dse.report.units import human, label
from simcore.metrics import METRICS
from simcore.result import Result


def print_result(result: Result) -> None:
    """Print time and its parts, memory, network, cost."""
    console = Console()
    for section in (_time(result), _memory(result), _network(result), _cost(result), _installed(result)):
        if section is not None:
            title, table = section
            console.print(title, style="bold", highlight=False)
            console.print(table)
            console.print()
    if not result.fits and result.memory_bytes is not None:
        over = result.memory_bytes.reserved - result.memory_capacity_bytes
        what = f"{human(over, 'B')} more than the {human(result.memory_capacity_bytes, 'B')} of an NPU"
        console.print(f"does not fit: {what if over > 0 else 'one of its two memories is too small'}")


Section = tuple[str, Table]


def _table(*columns: str) -> Table:
    table = Table(header_style="dim", box=None, pad_edge=False, show_header=any(columns))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def _time(result: Result) -> Section:
    total = result.iteration_time_s
    rate = (
        f", {result.throughput_tokens_per_s:,.0f} {result.throughput_counts}/s"
        if result.throughput_tokens_per_s
        else ""
    )
    mfu = f", MFU {100 * result.mfu:.1f} %" if result.mfu else ""
    table = _table("", "", "")
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
    if result.time_to_first_token_s is not None:
        table.add_row("time to first token", human(result.time_to_first_token_s, "s"))
    if result.time_per_output_token_s is not None:
        table.add_row("time per output token", human(result.time_per_output_token_s, "s"))
    return f"Iteration {human(total, 's')} on {result.npus:,} NPUs{rate}{mfu}", table


def _memory(result: Result) -> Section | None:
    memory = result.memory_bytes
    if memory is None:
        return None
    table = _table("", "")
    for name in ("weights", "gradients", "optimizer", "activations", "peak", "reserved"):
        table.add_row(name, human(getattr(memory, name), "B"))
        if name == "activations" and memory.kv_cache:
            table.add_row("keys and values", human(memory.kv_cache, "B"))
    if memory.expanded:
        table.add_row("of which in expanded memory", human(memory.expanded, "B"))
    verdict = "fits" if result.fits else "does not fit"
    return f"Memory per NPU of the fullest stage: {verdict} in {human(result.memory_capacity_bytes, 'B')}", table


def _network(result: Result) -> Section:
    table = _table("dimension", "sent per NPU", "busy", "utilization")
    for use in result.network:
        share = f"{100 * use.utilization:.1f} %"
        table.add_row(use.dimension, human(use.bytes_per_npu, "B"), human(use.busy_s, "s"), share)
    return "Network", table


def _cost(result: Result) -> Section:
    cost = result.cost
    table = _table("", "")
    table.add_row("network", human(cost.network, "$"))
    table.add_row("NPUs", human(cost.npu, "$"))
    if cost.memory:
        table.add_row("expanded memory", human(cost.memory, "$"))
    table.add_row("energy of an iteration", human(result.energy_j, "J"))
    if result.perf_per_cost is not None:
        table.add_row("performance per cost", f"{result.perf_per_cost:.4g} {result.throughput_counts}/s/$")
    return f"Cost {human(cost.total, '$')}, power {human(result.power_w, 'W')}", table


def _installed(result: Result) -> Section | None:
    """The metrics of installed packages."""
    if not result.metrics:
        return None
    table = _table("", "")
    for name, value in result.metrics.items():
        table.add_row(label(name), human(value, METRICS[name].unit, name))
    return "Metrics of installed packages", table
