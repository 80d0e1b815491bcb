"""Fit a device and its software to measured iterations, and print the errors on rows left out of the fit."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from dse.measured.calibrate import Fit, Fold, Sample
    from dse.measured.calibrate.fit import Floats
    from dse.measured.measured import MeasuredIteration
    from simcore.design.npu import Npu

EXAMPLES = """examples:
  dse calibrate a100-80gb multi_node.csv single_node.csv --out a100.yaml
  dse calibrate a100-80gb fsdp.csv --fit launch.eager,overlap.nodes --software-out mine.yaml
  dse calibrate h100-80gb gemm.csv.gz attention.csv.gz casts.csv.gz --out h100.yaml
  dse calibrate b200 b200.csv --fit sustained,memory,launch.eager --out b200.yaml --software-out stack.yaml
  dse validate measured.csv --device a100.yaml     # the file is a device; a design or a space beside it
  dse simulate design.yaml                         # may name it: cluster: {npu: a100.yaml, …}

The tables have the columns of dse validate: kernels are fitted first, then iterations, each for what it decides. What
is fitted of the device is written to --out, what is fitted of
the software to --software-out. Rows of other devices are not fitted. They predict the device's rows in the line
"leave device out".
"""
DEVICE_FIT = ("sustained", "memory")
SOFTWARE_FIT = ("launch.eager",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse calibrate`."""
    command.add_argument("device", metavar="DEVICE", help="NPU of the catalogue, or a YAML file with one")
    command.add_argument(
        "tables", metavar="TABLE.csv", nargs="+", type=Path, help="measured kernels or iterations, one a row"
    )
    command.add_argument("--out", type=Path, metavar="DEVICE.yaml", help="where the device is written")
    command.add_argument("--software-out", type=Path, metavar="STACK.yaml", help="where the software is written")
    command.add_argument("--software", metavar="STACK", help="fit the rows of this stack alone")
    both = f"of a device [{','.join(DEVICE_FIT)}], of software [{','.join(SOFTWARE_FIT)}]"
    command.add_argument("--fit", metavar="NAMES", help=f"parameters to fit: {both}")
    command.add_argument("--baseline", action="store_true", help="print the errors of a regressor without physics too")


def run(options: argparse.Namespace) -> int:
    """Run `dse calibrate`."""
    from dse.measured.calibrate import fit, predict_held_out, predict_without_device, samples, start_values
    from dse.measured.kernels import is_kernel_table
    from dse.measured.measured import read_tables
    from dse.measured.table.file import read_columns

    names, (npu, described) = _read_arguments(options)
    kernels = [table for table in options.tables if is_kernel_table(read_columns(table))]
    tables = [table for table in options.tables if table not in kernels]
    if kernels:
        npu, described = _fit_kernels(npu, described, kernels)
    if not tables:
        _write(options.out, described)
        return 0
    rows = read_tables(tables, [npu])
    asked = [row for row in rows if options.software in (None, row.software)]
    own = [row for row in asked if row.design.cluster.npu == npu]
    others = [row for row in asked if row.design.cluster.npu != npu and row.design.cluster.npu.curve is not None]
    source = ", ".join(str(table) for table in tables)
    stack = _stack_of(own, names, source)
    chosen = samples(own, len(names), npu.name, source)
    start = start_values(chosen, names)
    found = fit(chosen, start, lambda count: print(f"\rpass {count}", end="", file=sys.stderr))
    aside = f"; {len(rows) - len(own)} other rows not fitted" if len(rows) > len(own) else ""
    print(f"\r{len(own)} rows of {npu.name}, {len(names)} parameters{aside}", file=sys.stderr)
    left_out = [predict_held_out(chosen, found, start, kind) for kind in ("job", "hidden size")]
    left_out.append(predict_without_device(chosen, others, found, start))
    left_out = [fold for fold in left_out if fold.held]
    _print_fit(chosen, others, found, left_out, options.baseline)
    origin = f"calibrated on {npu.name}: {len(chosen)} rows of {', '.join(table.name for table in tables)}"
    if options.out is not None:
        _write_device(options.out, described, chosen, found, origin)
    if options.software_out is not None:
        _write_software(options.software_out, stack, chosen, found, left_out, origin)
    return 0


def _fit_kernels(npu: Npu, described: dict[str, Any], tables: list[Path]) -> tuple[Npu, dict[str, Any]]:
    """The NPU with the curve that its kernels give, and the mapping that describes it."""
    from rich.console import Console
    from rich.table import Table

    from dse.measured.kernels import fit_curve, read_kernels

    found = fit_curve(npu, [row for path in tables for row in read_kernels(path).rows])
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("kernels", "rows", "fit", "left out", "numbers"):
        table.add_column(name, justify="right" if name in ("rows", "fit", "left out") else "left")
    for part in found.parts:
        numbers = " ".join(f"{name} {value:g}" for name, value in part.values.items())
        table.add_row(part.name, str(part.rows), f"{part.fitted:.2f} %", f"{part.left_out:.2f} %", numbers)
    Console(width=200).print(table)
    source = f"fitted on kernels of {npu.name}: {', '.join(path.name for path in tables)}"
    left = {"name", "sources", "interval", "calibrated_on"}  # whose iterations it has not predicted
    curve = found.curve.model_dump(mode="json", exclude=left, exclude_none=True)
    curve["sources"] = {**found.curve.sources, **{part.name: source for part in found.parts}}
    return npu.model_copy(update={"curve": found.curve}), {**described, "curve": curve}


def _read_arguments(options: argparse.Namespace) -> tuple[list[str], tuple[Npu, dict[str, Any]]]:
    """The parameters to fit, and the device.

    Raises `InputError` with every problem of these and of the files to write.
    """
    from dse.measured.device import read_device
    from simcore.document.problem import InputError, Problem

    problems = []
    for option, path in (("--out", options.out), ("--software-out", options.software_out)):
        if path is None:
            continue
        if path.suffix not in (".yaml", ".yml"):
            problems.append(Problem((option,), "a .yaml file", f"'{path}'"))
        if not path.parent.is_dir():
            problems.append(Problem((option,), "a file in a folder that exists", f"'{path}'"))
    if options.out is None and options.software_out is None:
        problems.append(Problem(("--out",), "--out DEVICE.yaml, --software-out STACK.yaml, or both", "neither"))
    try:
        found = read_device(options.device)
    except InputError as error:
        called = "dse calibrate DEVICE TABLE.csv --out DEVICE.yaml"
        problems += [replace(p, path=("DEVICE", *p.path), fix=p.fix or called) for p in error.problems]
    try:
        names = _names(options)
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems, "command line")
    return names, found


def _names(options: argparse.Namespace) -> list[str]:
    """The parameters to fit: named, or the usual ones of what is written."""
    from dse.measured.calibrate import PARAMETERS
    from simcore.document.problem import InputError, Problem, suggest_nearest

    if options.fit is None:
        return [*(DEVICE_FIT if options.out else ()), *(SOFTWARE_FIT if options.software_out else ())]
    names = [name.strip() for name in options.fit.split(",")]
    problems = [
        Problem(("--fit",), f"some of {', '.join(PARAMETERS)}", f"'{name}'", suggest_nearest(name, PARAMETERS))
        for name in names
        if name not in PARAMETERS
    ]
    if len(set(names)) < len(names):
        problems.append(Problem(("--fit",), "each parameter once", options.fit))
    for of, option, path in (("device", "--out", options.out), ("software", "--software-out", options.software_out)):
        fitted = [name for name in names if name in PARAMETERS and PARAMETERS[name].of == of]
        if fitted and path is None:
            fix = f"add {option} FILE.yaml, or leave {', '.join(fitted)} out of --fit"
            problems.append(Problem((option,), f"a file for what is fitted of the {of}", "none", fix))
    if problems:
        raise InputError(problems, "command line")
    return names


def _stack_of(rows: list[MeasuredIteration], names: list[str], source: str) -> str:
    """The one stack of rows of which parameters of the software are fitted; empty where none are."""
    from dse.measured.calibrate import PARAMETERS
    from simcore.document.problem import InputError, Problem

    stacks = sorted({row.software for row in rows})
    if all(PARAMETERS[name].of == "device" for name in names) or not rows:
        return ""
    if len(stacks) > 1:
        raise InputError([Problem(("--software",), "rows of one stack", ", ".join(stacks), "name one of them")], source)
    return stacks[0]


def _print_fit(
    chosen: list[Sample], others: list[MeasuredIteration], found: Fit, left_out: list[Fold], baseline: bool
) -> None:
    from rich.console import Console
    from rich.table import Table

    from dse.measured.calibrate import PARAMETERS

    parameters = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("parameter", "value", "meaning"):
        parameters.add_column(name)
    for name, value in found.values.items():
        parameters.add_row(name, f"{value:.4g}", PARAMETERS[name].meaning)
    Console().print(parameters)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("", "parts", "MAPE", "median", "worst"):
        table.add_column(name, justify="left" if name == "" else "right")
    table.add_row("fit", "", *_error_cells(chosen, found.predicted))
    for fold in left_out:
        table.add_row(f"leave {fold.kind} out", str(len(fold.held)), *_error_cells(chosen, fold.predicted))
        if baseline:
            from dse.measured.calibrate.baseline import predict_by_regression

            table.add_row(
                "  without physics", "", *_error_cells(chosen, predict_by_regression(chosen, fold.kind, others))
            )
    Console().print(table)


def _error_cells(chosen: list[Sample], predicted: Floats) -> list[str]:
    import numpy as np

    errors = 100 * np.abs(predicted / _measured_times(chosen) - 1)
    return [f"{figure:.2f} %" for figure in (errors.mean(), np.median(errors), errors.max())]


def _measured_times(chosen: list[Sample]) -> np.ndarray[Any, np.dtype[np.float64]]:
    import numpy as np

    return np.array([sample.row.seconds for sample in chosen])


def _write_device(path: Path, described: dict[str, Any], chosen: list[Sample], found: Fit, origin: str) -> None:
    """Write the device with what was fitted of it, and where that comes from."""
    from dse.measured.calibrate.written import written_device

    npu = chosen[0].design.cluster.npu
    _write(path, written_device(described, npu, found.values, origin))


def _write_software(
    path: Path, stack: str, chosen: list[Sample], found: Fit, left_out: list[Fold], origin: str
) -> None:
    """Write the software with what was fitted of it, where that comes from, and how far off it is on jobs left out."""
    from dse.measured.calibrate.quantiles import intervals
    from dse.measured.calibrate.written import written_software

    ratios = intervals(chosen, left_out[0].predicted) if left_out else {}
    _write(path, written_software(stack, chosen[0].design.cluster.npu.name, found.values, origin, ratios))


def _write(path: Path, document: dict[str, Any]) -> None:
    from simcore.document.text import dump_document

    path.write_text(dump_document(document), encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)
