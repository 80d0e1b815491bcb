"""Draw one picture of one or more runs: png, svg or pdf.

kinds:
  front       the Pareto fronts, with bounds, knee and robust pick; several runs on common axes
  heatmap     two keys against each other: the best design of each cell, its memory, what does not fit
  breakdown   where the time of an iteration goes
  bandwidth   how bandwidth is split over the dimensions of the network
  memory      what each pipeline stage holds, against its capacity
  cost        what the cluster costs, by part
  scaling     time and efficiency of one design on fewer and on more NPUs
  tornado     what one step of each key does to one design
  timeline    one iteration: pipeline stages, network dimensions, operators
  links       the fabric: which links are busy, and with whose messages
  queues      queues, rates and pauses over time, packet by packet
  regret      how much each cluster of a front is regretted in each future, or by each workload
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.arguments import file_problems, positive_integer

if TYPE_CHECKING:
    from dse.report.plots.base import Options

EXAMPLES = """examples:
  dse plot front runs/transformer1t --out front.svg
  dse plot front runs/libra runs/measured            # two runs on common axes, and the front of both
  dse plot heatmap runs/gpt3 --x parallelism.tensor --y parallelism.data --fill 100
  dse plot memory runs/transformer1t --trial best:iteration_time
  dse plot scaling design.yaml --npus 256,512,1024,2048 --mode strong
  dse plot breakdown runs/a runs/b --json | jq .rows
"""
FORMS = ("png", "svg", "pdf")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse plot`."""
    command.add_argument("kind", metavar="KIND", help="what to draw; see above")
    command.add_argument(
        "runs", metavar="RUN", nargs="+", help="folder of an earlier dse optimize; for one design also its document"
    )
    command.add_argument("--out", type=Path, metavar="FILE", help="a .png, .svg or .pdf file [RUN/plots/KIND.png]")
    command.add_argument(
        "--trial",
        action="append",
        default=[],
        metavar="TRIAL",
        help="a trial's number, knee, robust or best:METRIC; may be repeated [the front, or the robust pick or knee]",
    )
    command.add_argument("--x", metavar="KEY", help="heatmap: key along the x axis [parallelism.tensor, if it varies]")
    command.add_argument("--y", metavar="KEY", help="heatmap: key along the y axis [parallelism.pipeline, likewise]")
    command.add_argument("--value", metavar="METRIC", help="heatmap: what colours show [the first objective]")
    command.add_argument(
        "--fill",
        type=positive_integer,
        default=0,
        metavar="N",
        help="heatmap: simulate up to N designs for the cells that no trial fell into",
    )
    command.add_argument("--npus", type=_sizes, default=(), metavar="N,N…", help="scaling: numbers of NPUs [1/4 … 16x]")
    command.add_argument(
        "--mode", choices=("weak", "strong"), help="scaling: does the batch grow with the NPUs? [weak]"
    )
    command.add_argument("--json", action="store_true", help="print the numbers that are drawn; write only with --out")


def run(options: argparse.Namespace) -> int:
    """Run `dse plot`."""
    from dse.door.progress import Phases
    from dse.report.plots import plot_named, plot_of
    from dse.study.files import write_whole
    from dse.whatif.subject import subject_of

    kind = plot_named(options.kind)
    out = _target(options)
    with Phases(options.interrupt) as phases:
        subjects = [subject_of(run, bounds=kind.bounds, watcher=phases) for run in options.runs]
        picture = plot_of(options.kind, subjects, _asked(options))
    if out is not None:
        from dse.report.plots.style import render

        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, render(picture.figure, out.suffix[1:].lower()))  # type: ignore[arg-type]
        print(f"wrote {out}", file=sys.stderr)
    if options.json:
        print(json.dumps(picture.numbers, indent=2, allow_nan=False))
    return 0


def _asked(options: argparse.Namespace) -> Options:
    from dse.report.plots.base import Options

    return Options(
        trial=tuple(options.trial),
        x=options.x,
        y=options.y,
        value=options.value,
        fill=options.fill,
        npus=options.npus,
        mode=options.mode,
    )


def _target(options: argparse.Namespace) -> Path | None:
    """Where to write; None for numbers alone. Raises `InputError` for a file that cannot be written."""
    from simcore.document.problem import InputError, Problem

    out: Path | None = options.out
    if out is None:
        if options.json:
            return None
        first = Path(options.runs[0])
        folder = first / "plots" if first.is_dir() else Path()
        return folder / f"{options.kind}.png"
    problems = file_problems("--out", out)
    if out.suffix[1:].lower() not in FORMS:
        problems.append(Problem(("--out",), "a file that ends in .png, .svg or .pdf", f"'{out}'"))
    if problems:
        raise InputError(problems, "command line")
    return out


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(positive_integer(part) for part in text.split(","))
