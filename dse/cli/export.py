"""Write a design as the arguments or the configuration of a program that runs it, and say what it cannot be told.

With --optuna, write all trials of a run as a journal file of Optuna instead. Without a pick it is the design that the
run recommends. The file goes to stdout, or where --out says; what the program cannot be told goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.arguments import file_problems

if TYPE_CHECKING:
    from dse.export import Exported
    from simcore.design.design import Design

TARGETS = ("megatron", "torchtitan", "deepspeed", "vllm")
EXAMPLES = """examples:
  dse export runs/transformer1t --for megatron                    # the design to build
  dse export runs/llama70b knee --for torchtitan --out launch.sh
  dse export design.yaml --for deepspeed --out ds_config.json
  dse export runs/transformer1t --optuna trials.log               # all trials; optuna-dashboard trials.log

megatron, torchtitan and vllm give a shell script, to be run once on each node; deepspeed gives its JSON configuration.
vllm takes designs that serve, the others designs that train.
--json prints {target, file, text, unsaid, notes}; unsaid lists {path, design, runs}.
With --optuna it prints {file, trials}.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse export`."""
    command.add_argument(
        "subject", metavar="RUN", type=Path, help="folder of an earlier dse optimize, or a design document"
    )
    command.add_argument(
        "pick", metavar="TRIAL", nargs="?", help="a trial's number, knee, robust or best:METRIC [the design to build]"
    )
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--for", dest="target", choices=TARGETS, help="the program that trains or serves")
    what.add_argument("--optuna", type=Path, metavar="FILE", help="write the run's trials as an Optuna journal file")
    command.add_argument("--workload", metavar="NAME", help="of a run for several workloads, the one to export")
    command.add_argument("--out", type=Path, metavar="FILE", help="where the file goes [stdout]")
    command.add_argument("--json", action="store_true", help="print file, what is left out and notes as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse export`."""
    from dse.export import export
    from simcore.document.problem import InputError

    if options.optuna is not None:
        return _run_optuna(options)
    if problems := file_problems("--out", options.out):
        raise InputError(problems, "command line")
    exported = export(_design(options), options.target)
    if options.out is not None:
        _write(options.out, exported)
    if options.json:
        print(json.dumps(_document(exported), ensure_ascii=False))
    elif options.out is None:
        print(exported.text, end="")
    _say(exported)
    return 0


def _run_optuna(options: argparse.Namespace) -> int:
    """Write the trials of a run as a journal of Optuna."""
    from dse.run.document import open_study
    from dse.study.whole_journal import write_whole_journal
    from simcore.document.problem import InputError, Problem

    problems = file_problems("--optuna", options.optuna)
    given = {"TRIAL": options.pick, "--workload": options.workload, "--out": options.out}
    problems += [
        Problem((name,), "none with --optuna, which writes all trials", str(value))
        for name, value in given.items()
        if value is not None
    ]
    if problems:
        raise InputError(problems, "command line")
    study = open_study(options.subject)
    count = write_whole_journal(study.folder, study.space.name, study.space.objectives, options.optuna)
    if options.json:
        print(json.dumps({"file": str(options.optuna), "trials": count}))
    print(f"wrote {count} trials to {options.optuna}", file=sys.stderr)
    return 0


def _design(options: argparse.Namespace) -> Design:
    """The design of a document, or of a trial of a run."""
    from simcore.check.load import design_from, load_design
    from simcore.document.problem import InputError, Problem

    if options.subject.suffix in (".yaml", ".yml", ".json") and not options.subject.is_dir():
        if options.pick is not None:
            raise InputError([Problem(("TRIAL",), "none beside a design document", options.pick)], "command line")
        return load_design(options.subject)
    from dse.door.asked import ask_again
    from dse.report.pick import ROBUST, pick
    from dse.run.document import open_study
    from dse.run.record import record_in
    from dse.whatif.answers import NOTHING

    study = open_study(options.subject)
    record = record_in(study, bounded=False)
    asks = options.pick in (None, ROBUST) and bool(record.trials)
    trial = pick(record, ask_again(study, record, options.interrupt) if asks else NOTHING, options.pick)
    print(f"trial {trial.number} of {options.subject}", file=sys.stderr)
    designs = {name: part.design for name, part in trial.parts if part.design is not None}
    name = options.workload or next(iter(designs), "")
    if (options.workload is None and len(designs) > 1) or name not in designs:
        found = f"'{options.workload}'" if options.workload else "none"
        expected = (
            f"one of {', '.join(designs)}" if any(designs) else f"no workload's name: trial {trial.number} has one"
        )
        if not designs:
            expected, found = "a trial with a design", f"trial {trial.number}, which has none"
        raise InputError([Problem(("--workload",), expected, found)], "command line")
    return design_from(dict(designs[name] or {}))


def _write(path: Path, exported: Exported) -> None:
    from dse.study.files import write_whole

    write_whole(path, exported.text.encode())
    if exported.text.startswith("#!"):
        path.chmod(path.stat().st_mode | 0o111)
    print(f"wrote {path}", file=sys.stderr)


def _say(exported: Exported) -> None:
    """What the program cannot be told, and what its user has to know, on stderr."""
    if exported.unsaid:
        print(f"not expressed for {exported.target}:", file=sys.stderr)
        for entry in exported.unsaid:
            print(f"  {entry}", file=sys.stderr)
    for note in exported.notes:
        print(f"note: {note}", file=sys.stderr)


def _document(exported: Exported) -> dict[str, object]:
    return {
        "target": exported.target,
        "file": exported.file,
        "text": exported.text,
        "unsaid": [entry._asdict() for entry in exported.unsaid],
        "notes": list(exported.notes),
    }
