"""Search a space for the designs worth building, and write the run folder.

SPACE is a YAML space, or the study.yaml of an earlier run, which repeats that run byte for byte.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.arguments import EXECUTORS, check_jobs, duration, positive_integer, seed, share

if TYPE_CHECKING:
    from dse.door.interrupt import Interrupt
    from dse.door.progress import Progress
    from dse.door.reports import Reported
    from dse.evaluate.record import StudyRecord
    from dse.run.proving import Proving
    from dse.space.space import Space

ENDED = {
    "exhausted": "stopped after {trials} trials: the sampler found no other design that may be simulated",
    "time": "stopped after {trials} trials: the time is up",
    "stagnation": "stopped after {trials} trials: the front no longer grows",
    "gap": "stopped after {trials} trials: every objective is within --gap of its proven bound",
}
EXAMPLES = """examples:
  dse optimize spaces/transformer1t.yaml
  dse optimize spaces/gpt3.yaml --trials 1000 --sampler tpe --jobs 2 --out runs/gpt3-tpe
  dse optimize spaces/gpt3.yaml --trials 2000 --out runs/gpt3-tpe --sampler tpe --resume
  dse optimize spaces/gpt3.yaml --live
  dse optimize runs/transformer1t/study.yaml --out runs/again
  dse optimize spaces/transformer1t.yaml --trials 100000 --sampler random --executor ray --address auto
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse optimize`."""
    command.add_argument("space", metavar="SPACE", help="YAML space, or study.yaml of an earlier run")
    command.add_argument(
        "--trials",
        type=positive_integer,
        metavar="N",
        help="distinct designs to try [study.trials, 400; exact: all it needs]",
    )
    command.add_argument("--timeout", type=duration, metavar="SECONDS", help="stop after this long [study.timeout]")
    command.add_argument(
        "--stagnation",
        type=positive_integer,
        metavar="N",
        help="stop when the hypervolume grew by less than 0.1 %% over N trials [study.stagnation, never]",
    )
    command.add_argument(
        "--gap", type=share, metavar="X", help="stop when within X of every proven bound [study.gap, never]"
    )
    command.add_argument(
        "--sampler",
        metavar="NAME",
        help="auto, exact, guided-exact, guided, multi-fidelity, random, exhaustive, qmc, nsga2, nsga3, tpe, gp, an "
        "installed one, package.module:Class of Optuna, optunahub:samplers/NAME:Class [study.sampler, auto]",
    )
    command.add_argument("--seed", type=seed, metavar="N", help="seed of the sampler [study.seed, 0]")
    _add_where(command)
    command.add_argument("--out", type=Path, metavar="FOLDER", help="run folder [runs/<space name>]")
    command.add_argument("--resume", action="store_true", help="continue the study in the run folder")
    command.add_argument(
        "--engine",
        metavar="E",
        help="auto (fast where it is exact, else flow), fast, flow, packets, reference, reference_links, "
        "or package.module:function [auto]",
    )
    command.add_argument("--live", action="store_true", help="show the front while it grows (on a terminal)")
    command.add_argument("--json", action="store_true", help="print pareto.json on stdout instead of the table")


def _add_where(command: argparse.ArgumentParser) -> None:
    """The options that say where designs are evaluated, and for how long."""
    command.add_argument(
        "--jobs",
        type=positive_integer,
        metavar="N",
        help="workers [1, then one per core, at most 8, once designs have taken 10 s; on a cluster, one per CPU]",
    )
    command.add_argument(
        "--executor", choices=EXECUTORS, help="where to evaluate: local, ray, or through Ray Tune [local]"
    )
    command.add_argument(
        "--address", metavar="A", help="Ray cluster: auto, local, HOST:PORT [RAY_ADDRESS, else a private one here]"
    )
    command.add_argument(
        "--storage",
        metavar="URL",
        help="database of a study that several drivers share, as an Optuna storage URL",
    )
    command.add_argument("--study-name", metavar="NAME", help="name of a shared study [space name]")
    command.add_argument(
        "--design-timeout",
        type=duration,
        metavar="SECONDS",
        help="time limit of one design [study.design_timeout, none]",
    )
    command.add_argument(
        "--start-timeout",
        type=duration,
        default=60.0,
        metavar="SECONDS",
        help="give up after this long without a worker [60]",
    )


def run(options: argparse.Namespace) -> int:
    """Run `dse optimize`."""
    from dse.door.progress import Progress
    from dse.run.document import open_space
    from dse.run.drive import run_study
    from dse.run.extensions import check_installed
    from dse.run.place import RunFolder, make_room
    from dse.run.proving import Proving
    from dse.run.settings import settle

    if options.resume and options.out is not None:
        check_installed(options.out)  # else a name that only a missing package brings is said to be unknown
    space, earlier = open_space(options.space)
    settings = replace(settle(space, earlier, vars(options)), grows=True)
    check_jobs(settings.jobs, elsewhere=settings.where.is_remote)
    folder: Path = options.out or Path("runs") / space.name
    if options.out is None and not options.resume and (folder / "journal.log").exists():
        print(f"the earlier run is kept in {make_room(folder)}", file=sys.stderr)

    interrupt: Interrupt = options.interrupt
    live = _is_live(options.live)
    place = RunFolder(folder, options.resume)
    with (
        contextlib.closing(place),
        Progress(space, settings.trials, interrupt, live) as progress,
        Proving(beside=True) as proving,
    ):
        interrupt.farewell = lambda: _farewell(progress, folder)
        with _silence_ray(settings.executor), _full_disks_told(progress, folder):
            ended = run_study(space, settings, place, progress, proving)
        if ended == "interrupted":
            raise KeyboardInterrupt
        reported = _report(folder, progress, proving)
    record = _print_report(reported, options.json)
    proven = ended == "exhausted" and (record.proof is not None or len(record.trials) >= space.count())
    if ended in ENDED and len(record.trials) < settings.trials and not proven:
        print(ENDED[ended].format(trials=len(record.trials)), file=sys.stderr)
    _print_without_value(options.space, space, record)
    if not record.feasible_trials:
        from dse.report import explain_infeasible

        print(explain_infeasible(record), file=sys.stderr)
        return _explain_invalid(space, record, ended, settings.engine)
    return 0


def _is_live(asked: bool) -> bool:
    """Whether the front is shown while it grows, for which it takes a terminal."""
    from dse.door.display import is_redrawn

    if asked and not is_redrawn():
        print("warning: --live needs a terminal; lines tell how the search goes", file=sys.stderr)
    return asked and is_redrawn()


def _report(folder: Path, progress: Progress, proving: Proving) -> Reported:
    """Write the reports of a run folder."""
    progress.phase("bounding")
    from dse.door.reports import report_run  # brings what draws: only now, and shown

    return report_run(folder, watcher=progress, may_be_empty=True, prove=proving.certify)


def _print_report(reported: Reported, as_json: bool) -> StudyRecord:
    """Print the front of a run, and where its files are; its record."""
    from dse.report import print_front

    record, folder = reported.record, reported.folder
    if as_json:
        sys.stdout.write((folder / "pareto.json").read_text(encoding="utf-8"))
    elif record.feasible_trials:
        from rich.console import Console

        print_front(record, Console(), reported.answers)
    print(f"wrote {sum(1 for _ in folder.iterdir())} files to {folder}/", file=sys.stderr)
    return record


def _print_without_value(source: str, space: Space, record: StudyRecord) -> None:
    """Print for how many designs each constraint has no value."""
    from simcore.document.problem import format_path

    for constraint in space.constraints:
        count = record.trials.count_errors_at(format_path(constraint.place)) if constraint.place else 0
        if count:
            place = f"{source}: line {constraint.line}: {format_path(constraint.place)}"
            print(
                f"{place}: '{constraint.name}' has no value for {count} of the designs, which are infeasible",
                file=sys.stderr,
            )


def _farewell(progress: Progress, folder: Path) -> str:
    """The last message of an interrupted run: how many trials are saved, and how to go on."""
    if not progress.done:
        return "interrupted before the first trial was done"
    if progress.has_searched:
        what = f"interrupted after the search, its {progress.done} trials all saved"
        return f"{what}; write the reports: dse report {folder}"
    what = f"interrupted after {progress.done} trials, all saved"
    return f"{what}; continue with --resume, or write the reports: dse report {folder}"


@contextlib.contextmanager
def _full_disks_told(progress: Progress, folder: Path) -> Iterator[None]:
    """Say what is saved where a disk takes no more."""
    from dse.run.drive import OF_DISKS

    try:
        yield
    except OSError as error:
        if error.errno not in OF_DISKS:
            raise
        what = f"{folder}: {error.strerror}; {progress.done} trials are saved"
        raise OSError(error.errno, f"{what}: make room, then continue with --resume") from error


def _explain_invalid(space: Space, record: StudyRecord, ended: str, engine: str) -> int:
    """Print which rules rule designs out. The exit status is 2 if the space has no design at all, else 1."""
    from dse.report.infeasible import describe_closest
    from dse.run.invalid import closest_design, drawn_reasons, explained, trial_reasons
    from simcore.engine.registry import QUICK

    reasons = trial_reasons(record.trials) if record.trials else drawn_reasons(space)
    if not reasons:
        return 1
    print(explained(reasons, "trials" if record.trials else "designs of the space"), file=sys.stderr)
    closest = None if record.trials or engine not in QUICK else closest_design(space, engine)
    if closest is not None:
        simulated, outcome = closest
        print(describe_closest(simulated, outcome.design, outcome.violations), file=sys.stderr)
    nothing = ended == "exhausted" and all(invalid for _, _, invalid in reasons)
    return 2 if nothing and len(reasons) >= len(record.trials) else 1


@contextlib.contextmanager
def _silence_ray(executor: str) -> Iterator[None]:
    """Keep Ray's output off stdout, which is for results, and name the executor while it connects."""
    if executor == "local":
        yield
        return
    from dse.execute.workers import WorkersError

    print(f"{executor}: connecting", file=sys.stderr)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            yield
        except WorkersError as error:
            raise WorkersError(f"{error}\nfinished trials are saved; continue with --resume") from None
