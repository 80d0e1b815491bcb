"""Compare runs: their fronts against one reference point, common designs, settings that differ, what each key does.

The runs must have the same objectives; their spaces may differ. Nothing is simulated.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.report.runs import RunSide

EXAMPLES = """examples:
  dse compare runs/transformer1t runs/transformer1t-seed1
  dse compare runs/a100 runs/h100 runs/mixed
  dse compare runs/guided runs/random --json | jq '.runs[].share'

--json prints {objectives, reference_point, runs, union, common, shared, changed, levels, settings, effects};
docs/commands.md says what is in them.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse compare`."""
    command.add_argument("run_folders", metavar="RUN", nargs="+", help="folders of earlier runs, two or more")
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse compare`."""
    from rich.console import Console

    from dse.report.runs import print_runs, runs_document, set_side_by_side
    from simcore.document.problem import InputError, Problem

    folders: list[str] = options.run_folders
    if len(folders) < 2:
        fix = f"dse show {folders[0]} shows one"
        raise InputError([Problem(("RUN",), "two runs or more", "one", fix)], "command line")
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise InputError([Problem(("RUN",), "runs that differ", "one folder twice")], "command line")
    with Console(stderr=True).status("reading the runs"):
        together = set_side_by_side(_read(folders))
    if options.json:
        print(json.dumps(runs_document(together), ensure_ascii=False, allow_nan=False))
    else:
        print_runs(together, Console(highlight=False))
    return 0


def _read(folders: list[str]) -> list[RunSide]:
    """The runs, called by their folders' names, or their paths where two have one name."""
    from dse.report.counted import convert_units
    from dse.report.runs import RunSide
    from dse.run.document import open_study
    from dse.run.record import record_in

    names = [Path(folder).resolve().name for folder in folders]
    called = names if len(set(names)) == len(names) else folders
    sides = []
    for name, folder in zip(called, folders, strict=True):
        study = open_study(Path(folder))
        record = convert_units(record_in(study, bounded=False))
        sides.append(RunSide(name, folder, record, study.document))
    return sides
