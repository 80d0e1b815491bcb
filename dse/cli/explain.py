"""Explain a design: where its time goes and why, and which single step would help most.

With --against another design: what differs, the difference in time, cost and memory by part, and which single changes
and which two together lead from the one towards the other. All of it is simulated by engine fast.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from time import monotonic
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
_QUIET_SECONDS = 2.0


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

    from dse.explain.explained import explain, explain_against
    from dse.explain.screen import print_compared, print_explained

    design = _read(options.design)
    other = None if options.against is None else _read(options.against)
    progress, console = _progress(), Console(highlight=False)
    if other is None:
        explained = explain(design, options.simulations, progress)
        if options.json:
            print(json.dumps(explained.as_json(), ensure_ascii=False, allow_nan=False))
        else:
            print_explained(options.design, explained, console)
        return 0
    compared = explain_against(design, other, options.simulations, progress)
    if options.json:
        print(json.dumps(compared.as_json(), ensure_ascii=False, allow_nan=False))
    else:
        print_compared((options.design, options.against), compared, console)
    return 0


def _read(path: str) -> Design:
    from simcore.check.load import design_from
    from simcore.document.text import read_document

    document = read_document(path)
    return design_from(document.data, document)


def _progress() -> Callable[[int, int], None]:
    """Says how many changes were simulated, once that takes longer than `_QUIET_SECONDS`."""
    said = monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal said
        if monotonic() - said >= _QUIET_SECONDS:
            said = monotonic()
            print(f"{done} of {total} changes simulated", file=sys.stderr)

    return tell
