"""A result on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from dse.report.jobs import HEADS, describe_jobs, job_rows
from dse.report.orders import describe_order
from dse.report.power import power_rows
from dse.report.screen import Unbroken
from dse.report.units import format_with_unit, label, scale
from simcore.metrics import METRICS
from simcore.result import NOTICES, Result, notices_in


def print_result(result: Result) -> None:
    """Print time and its parts, memory, network, cost, and what stands behind them."""
    console = Console()
    for section in (
        _jobs_section(result),
        _time_section(result),
        _memory_section(result),
        _network_section(result),
        _traffic_section(result),
        _cost_section(result),
        _power_section(result),
        _training_section(result),
        _installed(result),
        _provenance_section(result),
        _crossing_section(result),
        *_notice_sections(result),
        _solved_section(result),
    ):
        if section is not None:
            title, table = section
            console.print(title, style="bold", highlight=False)
            console.print(table)
            console.print()
    if not result.fits and result.memory_bytes is not None:
        over = result.memory_bytes.reserved - result.memory_capacity_bytes
        capacity = format_with_unit(result.memory_capacity_bytes, "B")
        what = f"{format_with_unit(over, 'B')} more than the {capacity} of an NPU"
        console.print(f"does not fit: {what if over > 0 else 'one of its two memories is too small'}")
    if told := describe_order(result):
        console.print(Unbroken(told))


Section = tuple[str, Table]


def _table(*columns: str) -> Table:
    table = Table(header_style="dim", box=None, pad_edge=False, show_header=any(columns))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def _time_section(result: Result) -> Section:
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
        "exposed communication": exposed.ungrouped,
        "pipeline bubble": result.bubble_s,
        "optimizer": result.optimizer_s,
        "other": result.other_s,
    }
    for name, seconds in parts.items():
        if seconds:
            table.add_row(name, format_with_unit(seconds, "s"), f"{100 * seconds / total:.1f} %")
    if result.time_to_first_token_s is not None:
        table.add_row("time to first token", format_with_unit(result.time_to_first_token_s, "s"))
    if result.time_per_output_token_s is not None:
        table.add_row("time per output token", format_with_unit(result.time_per_output_token_s, "s"))
    title = f"Iteration {format_with_unit(total, 's')} on {result.npus:,} NPUs"
    if len(result.jobs) > 1:
        title = f"Iteration of the slowest job {format_with_unit(total, 's')}; all jobs, {result.npus:,} NPUs"
    return f"{title}{rate}{mfu}", table


def _jobs_section(result: Result) -> Section | None:
    """What each of several jobs takes alone and beside the others."""
    if not result.jobs:
        return None
    table = _table(*HEADS)
    for row in job_rows(result.jobs):
        table.add_row(*row)
    counted = "One job" if len(result.jobs) == 1 else f"{len(result.jobs)} jobs"
    return " ".join([f"{counted}, engine {result.engine}.", *describe_jobs(result.jobs)]), table


def _memory_section(result: Result) -> Section | None:
    memory = result.memory_bytes
    if memory is None:
        return None
    table = _table("", "")
    for name in ("weights", "gradients", "optimizer", "activations", "peak", "reserved"):
        table.add_row(name, format_with_unit(getattr(memory, name), "B"))
        if name == "activations" and memory.kv_cache:
            table.add_row("keys and values", format_with_unit(memory.kv_cache, "B"))
    if memory.expanded:
        table.add_row("of which in expanded memory", format_with_unit(memory.expanded, "B"))
    verdict = "fits" if result.fits else "does not fit"
    return (
        f"Memory per NPU of the fullest stage: {verdict} in {format_with_unit(result.memory_capacity_bytes, 'B')}",
        table,
    )


def _network_section(result: Result) -> Section:
    table = _table("dimension", "sent per NPU", "busy", "utilization")
    for use in result.network:
        share = f"{100 * use.utilization:.1f} %"
        table.add_row(use.dimension, format_with_unit(use.bytes_per_npu, "B"), format_with_unit(use.busy_s, "s"), share)
    return "Network", table


def _traffic_section(result: Result) -> Section | None:
    """What packets went through, and the ports that held most of them up."""
    traffic = result.traffic
    if traffic is None:
        return None
    counted = {
        "sent again": traffic.retransmitted,
        "dropped": traffic.dropped,
        "marked": traffic.marked,
        "pauses": traffic.pauses,
    }
    title = f"packets: {traffic.packets:,} over {traffic.packet_hops:,} links; "
    title += ", ".join(f"{count:,} {name}" for name, count in counted.items()) + f"; fairness {traffic.fairness:.3f}"
    table = _table("port", "used", "queue 99 %", "longest", "paused", "held up", "marked")
    for port in traffic.ports:
        table.add_row(
            port.port,
            f"{port.utilization:.1%}",
            format_with_unit(port.queue_p99_bytes, "B"),
            format_with_unit(port.queue_max_bytes, "B"),
            format_with_unit(port.paused_s, "s"),
            format_with_unit(port.head_of_line_s, "s"),
            f"{port.marked:,}",
        )
    return title, table


def _cost_section(result: Result) -> Section:
    cost = result.cost
    table = _table("", "")
    table.add_row("network", format_with_unit(cost.network, "$"))
    table.add_row("NPUs", format_with_unit(cost.npu, "$"))
    more = {"expanded memory": cost.memory, "storage": cost.storage, "racks and management": cost.other}
    for part, price in more.items():
        if price:
            table.add_row(part, format_with_unit(price, "$"))
    if result.perf_per_cost is not None:
        table.add_row("performance per cost", f"{result.perf_per_cost:.4g} {result.throughput_counts}/s/$")
    for name, value in _owned(result):
        table.add_row(label(name), format_with_unit(value, METRICS[name].unit))
    return f"Cost {format_with_unit(cost.total, '$')}", table


def _owned(result: Result) -> Iterator[tuple[str, float]]:
    """What it costs to own the cluster, by metric."""
    named = {"cost.yearly": result.yearly_cost, "cost.tco": result.ownership_cost}
    yield from ((name, value) for name, value in named.items() if value is not None)


def _power_section(result: Result) -> Section:
    table = _table("", "")
    for name, watts in [] if result.power is None else power_rows(result.power):
        table.add_row(name, watts)
    table.add_row("energy of an iteration", format_with_unit(result.energy_j, "J"))
    return f"Power {format_with_unit(result.power_w, 'W')} on average, with cooling", table


def _training_section(result: Result) -> Section | None:
    """What failures leave of the time, and what the whole training takes with them."""
    if result.goodput is None or (result.mtbf_s is None and result.tokens_to_train is None):
        return None
    table = _table("", "")
    if result.tokens_to_train is not None:
        table.add_row("tokens at this batch", _tokens(result))
    for name in ("mtbf", "checkpoint_interval", "time_to_train", "cost_to_train", "energy_to_train"):
        read = METRICS[name].read
        value = None if read is None else read(result)
        if value is not None:
            table.add_row(label(name), format_with_unit(value, METRICS[name].unit, name))
    return f"Goodput {100 * result.goodput:.1f} %: the share of the time in which work lasts", table


def _tokens(result: Result) -> str:
    """Tokens that the training needs at this batch, and between which they lie."""
    ends = result.tokens_to_train_interval
    unit = scale("tokens", ends or [result.tokens_to_train])
    return unit.text(result.tokens_to_train) + (" ({} to {})".format(*map(unit.number, ends)) if ends else "")


def _crossing_section(result: Result) -> Section | None:
    """What passes between the workers of a pruned network, before and after its neurons are assigned."""
    if result.crossing is None:
        return None
    table = _table("", "")
    table.add_row("with neurons in the order given", format_with_unit(result.crossing.given, "B"))
    table.add_row("as they are assigned", format_with_unit(result.crossing.assigned, "B"))
    return "Between workers, a replica's batch", table


def _notice_sections(result: Result) -> Iterator[Section]:
    """What the result says beside its numbers, a section for each kind."""
    for words, texts in notices_in({kind: getattr(result, kind) for kind in NOTICES}):
        table = Table(box=None, pad_edge=False, show_header=False)
        for text in texts:
            table.add_row(text)
        yield words, table


def _solved_section(result: Result) -> Section | None:
    """The stages, and the layers that recompute, that were solved for the design."""
    if not result.solved:
        return None
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in result.solved.items():
        if key == "layers":
            for row in value:
                ways = ", ".join(f"{name} {_listed(found)}" for name, found in row.items() if name != "layers")
                table.add_row(f"layers {row['layers']}", ways)
        else:
            table.add_row(key, _listed(value))
    return "Solved for this design (parallelism)", table


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _provenance_section(result: Result) -> Section | None:
    """Where the numbers behind the prediction come from."""
    if result.iteration_time_interval_s is None:
        return None
    table = Table(box=None, pad_edge=False, show_header=False)
    for part, said in result.provenance.items():
        table.add_row(part, said)
    low, high = (format_with_unit(end, "s") for end in result.iteration_time_interval_s)
    return f"Nine of ten such jobs take {low} to {high}; where the numbers come from", table


def _installed(result: Result) -> Section | None:
    """The metrics of installed packages."""
    if not result.metrics:
        return None
    table = _table("", "")
    for name, value in result.metrics.items():
        table.add_row(label(name), format_with_unit(value, METRICS[name].unit, name))
    return "Metrics of installed packages", table
