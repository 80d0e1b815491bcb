"""Show one design of a run on one screen: what it is, how long, how much, how sure, and what lies beside it.

Without a pick the design that the run recommends: as a rule the robust one, else the knee of the front. Designs
that were cut, failed or infeasible are shown with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.arguments import file_problems

if TYPE_CHECKING:
    from dse.evaluate.record import TrialRecord

EXAMPLES = """examples:
  dse show runs/transformer1t                      # the design to build
  dse show runs/transformer1t knee
  dse show runs/transformer1t best:cost.total      # any metric: dse catalogue metrics
  dse show runs/transformer1t 371 --design design.yaml
  dse simulate design.yaml                         # the same numbers; dse explain design.yaml says more

--design writes the complete document; of a cluster for several workloads one file for each, design-1-NAME.yaml.
--json prints {space, trial, names, state, why, values, intervals, built, on_front, dominated_by, sureness, family,
neighbours, violations, params, design, metrics, workloads}.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse show`."""
    command.add_argument("run_folder", metavar="RUN", type=Path, help="folder of an earlier dse optimize")
    command.add_argument(
        "pick", metavar="TRIAL", nargs="?", help="a trial's number, knee, robust or best:METRIC [the design to build]"
    )
    command.add_argument("--design", type=Path, metavar="FILE", help="write its design document")
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse show`."""
    from rich.console import Console

    from dse.door.asked import ask_again
    from dse.report.counted import convert_units
    from dse.report.pick import ROBUST, pick
    from dse.report.show import gather_facts, print_shown, shown_document
    from dse.report.summary import summarize
    from dse.run.document import open_study
    from dse.run.record import record_in
    from simcore.document.problem import InputError, Problem

    if problems := file_problems("--design", options.design):
        raise InputError(problems, "command line")
    study = open_study(options.run_folder)
    record = convert_units(record_in(study, bounded=False))
    if not record.trials:
        raise InputError([Problem((), "a journal with trials", "one without any")], str(options.run_folder))
    asked = None if options.pick in (None, ROBUST) else pick(record, text=options.pick)
    if asked is not None:  # a wrong word is told, and a file written, before anything is asked
        _write(options, asked, study.engine)
    answers = ask_again(study, record, options.interrupt)
    trial = pick(record, answers, options.pick)
    shown = gather_facts(record, summarize(record, answers), trial)
    if options.json:
        print(json.dumps(shown_document(record, shown), ensure_ascii=False, allow_nan=False))
    else:
        print_shown(record, shown, Console(highlight=False))
    if asked is None:
        _write(options, trial, study.engine)
    return 0


def _write(options: argparse.Namespace, trial: TrialRecord, engine: str) -> None:
    """Write the design's document where `--design` says, if it does."""
    if options.design is None:
        return
    from dse.run.design_file import write_designs

    for file in write_designs(trial, options.design, engine):
        print(f"wrote {file.path}" + (f"; note: {file.note}" if file.note else ""), file=sys.stderr)
