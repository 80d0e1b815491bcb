"""The summary of traces on the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from dse.report.screen import Unbroken, say
from dse.report.units import clean_text, format_percent, format_with_unit
from simcore.traces.show import RankSummary, Summary, Traffic

MOST_RANKS = 8
"""Ranks that have a line; of more, the first, the last, and those with the shortest and longest path."""
MOST_GROUPS = 12


def print_summary(summary: Summary) -> None:
    """Print operators, ranks, traffic and oddities, in 80 columns."""
    console = Console()
    ranks = summary.ranks
    nodes, dependencies = sum(rank.nodes for rank in ranks), sum(rank.dependencies for rank in ranks)
    head = f"{len(ranks):,} rank{'s' * (len(ranks) != 1)}, {nodes:,} operators, {dependencies:,} dependencies"
    console.print(head, style="bold", highlight=False)
    kinds = [f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(summary.operators.items())]
    flops = float(sum(rank.flops for rank in ranks))
    kinds += [format_with_unit(flops, "FLOP")] if flops else []
    console.print(Unbroken(", ".join(kinds)))
    for title, table in (
        ("Ranks", _ranks(ranks)),
        ("Communication (bytes that ranks put in)", _traffic(summary.groups, summary.members)),
    ):
        console.print(f"\n{title}", style="bold", highlight=False)
        console.print(table)
    if len(ranks) > MOST_RANKS:
        console.print(f"… of {len(ranks):,} ranks; all of them: --json", highlight=False)
    console.print()
    if summary.collectives and not any(rank.communication_s for rank in ranks):
        say(console, "Communication has no times here, and counts none in the longest path.")
    if summary.operators.get("compute") and not any(rank.compute_s for rank in ranks):
        say(console, "Computation has no times here, but FLOPs and bytes, which an NPU turns into times.")
    if not summary.anomalies:
        say(console, "Sends and receives match, and the members of every group agree.")
    for anomaly in summary.anomalies:
        console.print(Unbroken(f"odd: {clean_text(anomaly)}"))


def _ranks(ranks: tuple[RankSummary, ...]) -> Table:
    table = _table("rank", "operators", "compute", "host", "comm.", "longest path", "of it compute")
    for rank in _shown(ranks):
        share = rank.path_parts.get("compute", 0.0) / rank.path_s if rank.path_s else 0.0
        times = (rank.compute_s, rank.host_s, rank.communication_s, rank.path_s)
        table.add_row(
            str(rank.rank),
            f"{rank.nodes:,}",
            *(format_with_unit(time, "s") if time else "–" for time in times),
            format_percent(share) if rank.path_s else "–",
        )
    return table


def _shown(ranks: tuple[RankSummary, ...]) -> list[RankSummary]:
    if len(ranks) <= MOST_RANKS:
        return list(ranks)
    least, most = min(ranks, key=lambda rank: rank.path_s), max(ranks, key=lambda rank: rank.path_s)
    chosen = {rank.rank: rank for rank in (ranks[0], least, most, ranks[-1])}
    return [chosen[number] for number in sorted(chosen)]


def _traffic(groups: Mapping[str, Mapping[str, Traffic]], members: Mapping[str, object]) -> Table:
    table = _table("group", "members", "collective", "calls", "bytes", "bytes a call")
    for group in sorted(groups, key=_order)[:MOST_GROUPS]:
        listed = members.get(group)
        who = _members(listed) if isinstance(listed, list) else "–"
        for kind, traffic in sorted(groups[group].items()):
            each = format_with_unit(traffic.bytes / traffic.count, "B")
            total = format_with_unit(float(traffic.bytes), "B")
            table.add_row(clean_text(group)[:20], who, kind.replace("_", " "), f"{traffic.count:,}", total, each)
    if len(groups) > MOST_GROUPS:
        table.add_row("…", f"{len(groups) - MOST_GROUPS:,} more groups", "", "", "", "")
    return table


def _order(group: str) -> tuple[bool, int, str]:
    return group.isdecimal(), int(group) if group.isdecimal() else 0, group


def _members(members: list[int]) -> str:
    text = ", ".join(map(str, members[:4]))
    return f"{text}, … ({len(members):,})" if len(members) > 4 else text


def _table(*columns: str) -> Table:
    table = Table(header_style="dim", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 or column in ("members", "collective") else "right")
    return table
