"""Explain a design: where its time goes and why, and which single step would help most.

With --against another design: what differs, the difference in time, cost and memory by part, and which single changes
and which two together lead from the one towards the other. All of it is simulated by engine fast.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from dse.cli.arguments import positive_integer

if TYPE_CHECKING:
    from simcore.design.design import Design

EXAMPLES = """examples:
  dse explain design.yaml
  dse explain design.yaml --against cheaper.yaml
  dse explain design.yaml --against cheaper.yaml --simulations 1000 --json
  dse show runs/transformer1t knee --design knee.yaml && dse explain knee.yaml

--json prints {design, parts, operators, collectives, network_cost, simulations} with {steps}, or, against another one,
with {against, changes, difference, singles, pairs, pairs_left_out}; docs/commands.md says what is in them.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse explain`."""
    command.add_argument("design", metavar="DESIGN", help="YAML design document")
    command.add_argument("--against", metavar="DESIGN", help="another one to compare it with")
    command.add_argument(
        "--simulations", type=positive_integer, default=200, metavar="N", help="most changes to simulate [200]"
    )
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse explain`."""
    from rich.console import Console

    from dse.door.progress import Phases
    from dse.explain.explained import Explained, explain, explain_against
    from dse.explain.screen import print_compared, print_explained

    design = _read(options.design)
    other = None if options.against is None else _read(options.against)
    with Phases(options.interrupt) as phases:
        phases.phase("simulating changes")

        def tell(done: int, total: int) -> None:
            phases.note(f"{done} of {total}", done / total if total else None)

        most = options.simulations
        found = explain(design, most, tell) if other is None else explain_against(design, other, most, tell)
    console = Console(highlight=False)
    if options.json:
        print(json.dumps(found.as_json(), ensure_ascii=False, allow_nan=False))
    elif isinstance(found, Explained):
        print_explained(options.design, found, console)
    else:
        print_compared((options.design, options.against), found, console)
    return 0


def _read(path: str) -> Design:
    from simcore.check.load import design_from
    from simcore.document.text import read_document

    document = read_document(path)
    return design_from(document.data, document)
