"""The bill of a cluster, as a table on the terminal, as JSON and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dse.report.screen import Unbroken
from dse.report.units import clean_text, format_brief, format_with_unit
from simcore.cost.bill import GROUPS, Bill, Group, Item
from simcore.design.design import Design
from simcore.result import Cost

TITLES: dict[Group, str] = {
    "npu": "Nodes",
    "network": "Network",
    "memory": "Memory",
    "storage": "Storage",
    "other": "Racks and management",
}
COLUMNS = ("part", "where", "group", "count", "unit", "price", "low", "high", "sum", "watts", "watts_max", "source")


def bill_document(design: Design, bill: Bill, cost: Cost) -> dict[str, Any]:
    """The JSON form: `items`, `cost`, `watts` while a job runs and `watts_max`, `price_list`."""
    items = [
        {**asdict(item), "price_range": list(item.price_range), "sum": item.count * item.price} for item in bill.items
    ]
    return {
        "items": items,
        "cost": asdict(cost),
        "watts": bill.watts,
        "watts_max": bill.watts_max,
        "price_list": design.cost.name,
    }


def write_bill(bill: Bill, path: Path) -> None:
    """The bill as CSV, a line an item: dollars and watts of one, and the sum [$]."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(_row(item) for item in bill.items)


def _row(item: Item) -> tuple[Any, ...]:
    what = (item.part, item.where, item.group, item.count, item.unit, item.price, *item.price_range)
    return (*what, item.count * item.price, item.watts, item.watts_max, item.source)


def print_bill(design: Design, bill: Bill, cost: Cost, console: Console) -> None:
    """The bill by group, with sums, and the sources of its prices and watts."""
    npus = f"{design.cluster.npus:,} x {clean_text(design.cluster.npu.name or 'NPU')}"
    console.print(Text(f"{npus}, price list {clean_text(design.cost.name or 'given in the design')}", style="bold"))
    table = Table(header_style="dim", box=None, pad_edge=False)
    for name in ("part", "where"):
        table.add_column(name, overflow="fold")
    for name in ("count", "each", "sum", "watts"):
        table.add_column(name, justify="right", no_wrap=True)
    for group, items in _by_group(bill):
        _add_group(table, group, items)
    table.add_row("all", "", "", "", format_with_unit(cost.total, "$"), format_with_unit(bill.watts, "W"), style="bold")
    console.print(table)
    console.print(
        Unbroken(
            f"\nWatts while a job runs, NPUs aside; {format_with_unit(bill.watts_max, 'W')} at the most, with NPUs."
        )
    )
    console.print(Text("\nSources", style="bold"))
    for part, source in dict.fromkeys((item.part, item.source) for item in bill.items if item.source):
        console.print(Unbroken(clean_text(f"{part}: {source}")))


def _by_group(bill: Bill) -> Iterator[tuple[Group, Sequence[Item]]]:
    ordered = sorted(bill.items, key=lambda item: GROUPS.index(item.group))
    for group, items in groupby(ordered, key=lambda item: item.group):
        yield group, tuple(items)


def _add_group(table: Table, group: Group, items: Sequence[Item]) -> None:
    whole, watts = sum(item.count * item.price for item in items), sum(item.count * item.watts for item in items)
    sums = (format_with_unit(whole, "$"), format_with_unit(watts, "W"))
    table.add_row(TITLES[group], "", "", "", *sums, style="bold")
    for item in items:
        count = f"{format_brief(item.count)} {item.unit}".strip()
        each, total = format_with_unit(item.price, "$"), format_with_unit(item.count * item.price, "$")
        drawn = format_with_unit(item.count * item.watts, "W")
        table.add_row(f"  {clean_text(item.part)}", clean_text(item.where), count, each, total, drawn)
