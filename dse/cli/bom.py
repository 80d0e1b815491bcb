"""List what a cluster is built of: parts, counts, prices and watts, with their sources.

At a list of parts (street-2025) whole nodes, NICs, switches, transceivers, cables, storage, management and racks; at a
linear list (libra) NPUs, and what the network has of bandwidth. The price of the design is the sum of its bill.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dse.cli.arguments import add_design, file_problems

EXAMPLES = """examples:
  dse bom design.yaml
  dse bom design.yaml --set cost=street-2025         # in parts that can be bought
  dse bom design.yaml --out bill.csv                 # a line an item, for a spreadsheet
  dse bom design.yaml --json | jq '.items[] | select(.group == "network")'
  dse show runs/transformer1t --design design.yaml   # the design of a run, to be listed

--json prints {items: [{part, where, group, count, unit, price, price_range, watts, watts_max, source, sum}], cost,
watts, watts_max, price_list}.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse bom`."""
    add_design(command)
    command.add_argument("--out", type=Path, metavar="FILE.csv", help="write it as CSV")
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse bom`."""
    from rich.console import Console

    from dse.cli.change import read_design
    from dse.report.bill import bill_document, print_bill, write_bill
    from simcore.cost.materials import bill_of
    from simcore.cost.price import cluster_cost
    from simcore.document.problem import InputError

    if problems := file_problems("--out", options.out):
        raise InputError(problems, "command line")
    design = read_design(options)
    bill, cost = bill_of(design), cluster_cost(design)
    if options.out is not None:
        write_bill(bill, options.out)
    if options.json:
        print(json.dumps(bill_document(design, bill, cost), indent=2, allow_nan=False))
    elif options.out is None:
        print_bill(design, bill, cost, Console(highlight=False))
    return 0
