"""Fit a machine's network to what nccl-tests or rccl-tests printed on it, and print its errors on sizes left out."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dse.measured.fabric import DimensionFit, MeasuredCollective
    from dse.measured.fabric.fit import Floats
    from simcore.design.dimension import Dimension
    from simcore.document.problem import Problem

EXAMPLES = """examples:
  dse calibrate-fabric all_reduce_perf.log alltoall_perf.log --base dgx-h100 --out fabric.yaml
  dse calibrate-fabric node/*.log nodes/*.log --base dgx-b200 --out fabric.yaml --gpus-per-node 8
  dse simulate design.yaml          # may name it: cluster: {npu: h100-80gb, fabric: fabric.yaml, npus: 64}

Each log is what one program printed: all_reduce_perf, all_gather_perf, reduce_scatter_perf or alltoall_perf; several
numbers of GPUs (-g 2, 4, 8) say more. Times are those out of place. Of the base fabric the bandwidths stay, and all
that the logs say nothing about.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse calibrate-fabric`."""
    command.add_argument("logs", metavar="LOG", nargs="+", type=Path, help="what nccl-tests or rccl-tests printed")
    command.add_argument("--out", type=Path, required=True, metavar="FABRIC.yaml", help="where the fabric is written")
    command.add_argument(
        "--base", required=True, metavar="FABRIC", help="fabric with the machine's bandwidths: a name, or a YAML file"
    )
    command.add_argument(
        "--gpus-per-node", type=int, metavar="N", help="GPUs of a node, where the hosts in the logs do not say"
    )


def run(options: argparse.Namespace) -> int:
    """Run `dse calibrate-fabric`."""
    from dse.measured.fabric import fit_fabric
    from dse.measured.fabric.document import fabric_document
    from simcore.document.text import dump_document

    base, levels, rows = _read_arguments(options)
    fits = fit_fabric(rows, levels)
    _print_fits(fits)
    document = fabric_document(base, fits, [log.name for log in options.logs])
    options.out.write_text(dump_document(document), encoding="utf-8")
    print(f"wrote {options.out}", file=sys.stderr)
    return 0


def _read_arguments(
    options: argparse.Namespace,
) -> tuple[dict[str, Any], list[Dimension], list[MeasuredCollective]]:
    """The base fabric, its dimensions, and the measurements.

    Raises `InputError` with every problem of the options, the base and the logs.
    """
    from dse.measured.fabric import read_logs
    from dse.measured.fabric.document import fabric_levels, read_fabric
    from simcore.document.problem import InputError, Problem

    problems: list[Problem] = []
    if options.out.suffix not in (".yaml", ".yml"):
        problems.append(Problem(("--out",), "a .yaml file", f"'{options.out}'"))
    if not options.out.parent.is_dir():
        problems.append(Problem(("--out",), "a file in a folder that exists", f"'{options.out}'"))
    if options.gpus_per_node is not None and options.gpus_per_node < 1:
        problems.append(Problem(("--gpus-per-node",), "a number above 0", str(options.gpus_per_node)))
        options.gpus_per_node = None
    base: dict[str, Any] = {}
    rows: list[MeasuredCollective] = []
    levels: list[Dimension] = []
    try:
        rows = read_logs(options.logs, options.gpus_per_node)
    except InputError as error:
        problems += error.problems
    try:
        base = read_fabric(options.base)
        levels = fabric_levels(base, max((row.nodes for row in rows), default=1))
    except InputError as error:
        problems += [replace(p, path=p.path or ("--base",)) for p in error.problems]
    if rows and levels:
        problems += _fit_problems(rows, levels)
    if problems:
        raise InputError(problems, "command line")
    return base, levels, rows


def _fit_problems(rows: Sequence[MeasuredCollective], levels: Sequence[Dimension]) -> list[Problem]:
    """What the logs have that the base has not, and what is too little for a fit."""
    from dse.measured.fabric.fit import count_numbers
    from simcore.document.problem import Problem

    problems = []
    largest = max(row.npus // row.nodes for row in rows)
    if largest > levels[0].size:
        expected = f"at most {levels[0].size} GPUs a node, as the base has"
        problems.append(Problem(("LOG",), expected, str(largest), "choose another base, or give --gpus-per-node"))
    for between, where in enumerate(("inside a node", "between nodes")):
        own = [row for row in rows if (row.nodes > 1) is bool(between)]
        if own and between >= len(levels):
            problems.append(Problem(("--base",), "a dimension between nodes", "none", "choose another base"))
        elif own and len(own) < (least := count_numbers(own)):
            expected = f"{least} or more measurements {where}"
            problems.append(Problem(("LOG",), expected, str(len(own)), "measure more sizes: -b 8 -e 4G -f 2"))
    return problems


def _print_fits(fits: Sequence[DimensionFit]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for fit in fits:
        written = fit.dimension.model_dump(mode="json", exclude_none=True)
        between = fit.rows[0].nodes > 1
        reached = f", efficiency {written['efficiency']:g}" if between else ""
        console.print(f"{'between nodes' if between else 'node'}: latency {written['latency']}{reached}")
        kernels = Table(box=None, header_style="bold", pad_edge=False)
        columns = ("launch", "memory", "whole_memory", "piece")
        for name in ("collective", *columns):
            kernels.add_column(name)
        for kind in dict.fromkeys(row.kind for row in fit.rows):
            kernel = written["library"][kind]
            kernels.add_row(kind, *(str(kernel.get(name, "")) for name in columns))
        console.print(kernels)
        errors = Table(box=None, header_style="bold", pad_edge=False)
        for name in ("collective", "GPUs", "times", "fit", "sizes left out", "worst"):
            errors.add_column(name, justify="left" if name == "collective" else "right")
        for kind, npus in dict.fromkeys((row.kind, row.npus) for row in fit.rows):
            own = [(row.kind, row.npus) == (kind, npus) for row in fit.rows]
            errors.add_row(kind, str(npus), str(sum(own)), *_error_cells(fit, own))
        errors.add_row("all", "", str(len(fit.rows)), *_error_cells(fit, [True] * len(fit.rows)))
        console.print(errors)


def _error_cells(fit: DimensionFit, own: list[bool]) -> list[str]:
    """Mean |ln(predicted / measured)| of some rows in percent: fit, sizes left out, and the worst of these."""
    import numpy as np

    def cell(figure: Any, times: Floats) -> str:
        errors = np.abs(fit.errors(times))[own]
        return "" if np.isnan(errors).any() else f"{100 * figure(errors):.1f} %"

    return [cell(np.mean, fit.predicted), cell(np.mean, fit.left_out), cell(np.max, fit.left_out)]
