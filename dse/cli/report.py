"""Write the front, the tables, the plots and the page of a run folder again, from its journal.

No trial is simulated again. The analyses of other batches and of steps around the front take up to --simulations.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dse.cli.arguments import whole_number

EXAMPLES = """examples:
  dse report runs/transformer1t
  dse report runs/transformer1t --out /tmp/report
  dse report runs/transformer1t --simulations 2000
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse report`."""
    command.add_argument("run_folder", metavar="RUN", type=Path, help="folder of an earlier dse optimize")
    command.add_argument("--out", type=Path, metavar="DIR", help="where to write [the run folder]")
    command.add_argument(
        "--simulations",
        type=whole_number,
        metavar="N",
        help="limit of simulations for steps around the front and other batches "
        "[200 with engines auto, fast and flow, else 0]",
    )
    command.add_argument("--json", action="store_true", help="print pareto.json on stdout instead of the table")


def run(options: argparse.Namespace) -> int:
    """Run `dse report`."""
    from dse.door.progress import Phases
    from dse.door.reports import report_run
    from dse.report import explain_infeasible, print_front

    with Phases(options.interrupt) as phases:
        reported = report_run(options.run_folder, options.out, options.simulations, phases)
    record = reported.record
    if options.json:
        sys.stdout.write((reported.folder / "pareto.json").read_text(encoding="utf-8"))
    elif record.feasible_trials:
        from rich.console import Console

        print_front(record, Console(), reported.answers)
    print(f"wrote {len(reported.files)} files to {reported.folder}/", file=sys.stderr)
    if not record.feasible_trials:
        print(explain_infeasible(record), file=sys.stderr)
        return 1
    return 0
