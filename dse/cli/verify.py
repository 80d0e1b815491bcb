"""Simulate the front of a run again on the reference engine, and compare times and ranks.

A design that would exceed the budget is reduced first; the table shows how.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.arguments import check_jobs, duration, positive_integer

if TYPE_CHECKING:
    from dse.run.verify import Verified

EXAMPLES = """examples:
  dse verify runs/transformer1t --budget 300
  dse verify runs/small --links
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse verify`."""
    command.add_argument("run_folder", metavar="RUN", type=Path, help="folder of an earlier dse optimize")
    command.add_argument(
        "--budget", type=duration, default=300.0, metavar="S", help="approximate limit of seconds [300]"
    )
    command.add_argument("--jobs", type=positive_integer, default=2, metavar="N", help="worker processes [2]")
    command.add_argument("--links", action="store_true", help="simulate messages on links instead of phases")
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse verify`."""
    from rich.console import Console
    from rich.table import Table

    from dse.door.progress import Phases
    from dse.report.units import format_with_unit
    from dse.run.record import load_record
    from dse.run.verify import ranks, verify

    check_jobs(options.jobs)
    record = load_record(options.run_folder, bounded=False)
    if not record.front:
        print("nothing to verify: no feasible design", file=sys.stderr)
        return 1
    rows: list[Verified] = []
    total = sum(len(trial.parts) for trial in record.front)
    with Phases(options.interrupt) as phases:
        phases.phase("verifying")
        for row in verify(record, options.budget, options.jobs, options.links):
            rows.append(row)
            phases.say(f"{len(rows)}/{total} {_name(row)}: {_percent(row.difference)}")
            phases.note(f"{len(rows)} of {total} designs", len(rows) / total)
    compared = [row for row in rows if row.reference_s is not None]
    fast = ranks([row.fast_s for row in compared])
    reference = ranks([row.reference_s for row in compared if row.reference_s is not None])
    placed = {
        (row.trial, row.workload): pair for row, pair in zip(compared, zip(fast, reference, strict=True), strict=True)
    }
    if options.json:
        document = [
            {**asdict(row), "difference": row.difference, "ranks": placed.get((row.trial, row.workload))}
            for row in rows
        ]
        print(json.dumps(document, indent=2))
        return 0
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("trial", "whole", "fast", "reference", "difference", "rank", "reduced"):
        table.add_column(name, justify="left" if name == "reduced" else "right")
    for row in rows:
        a, b = placed.get((row.trial, row.workload), ("", ""))
        times = [format_with_unit(row.full_s, "s"), format_with_unit(row.fast_s, "s")]
        times.append("" if row.reference_s is None else format_with_unit(row.reference_s, "s"))
        rank = f"{a}" if a == b else f"{a} -> {b}"
        table.add_row(
            _name(row).removeprefix("trial "),
            *times,
            _percent(row.difference),
            rank,
            ", ".join(row.reduced) or "nothing",
        )
    Console().print(table)
    changed = sum(a != b for a, b in placed.values())
    worst = max((abs(row.difference) for row in rows if row.difference is not None), default=None)
    print(f"{len(compared)} of {len(rows)} compared, largest difference {_percent(worst)}, changes of rank {changed}")
    return 0 if compared else 1


def _name(row: Verified) -> str:
    return f"trial {row.trial} {row.workload}".rstrip()


def _percent(difference: float | None) -> str:
    return "not compared" if difference is None else "none" if difference == 0 else f"{100 * difference:+.3g} %"
