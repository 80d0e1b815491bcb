"""Fit the efficiency curve of a device to tables of measured iterations, and ask it about jobs it has not seen."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from dse.calibrate import Fit, Fold, Sample
    from dse.calibrate.fit import Floats

EXAMPLES = """examples:
  dse calibrate a100_multi_node.csv a100_single_node.csv --out a100.yaml
  dse calibrate b200.csv --fit limit,memory,launch,flash --out b200.yaml
  dse simulate design.yaml --set 'cluster.npu={base: a100-80gb, curve: …}'    # with the curve that was written

the tables are those of dse validate
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse calibrate`."""
    command.add_argument("tables", metavar="TABLE.csv", nargs="+", type=Path, help="measured iterations, one a row")
    command.add_argument("--out", type=Path, required=True, metavar="CURVE.yaml", help="where the curve is written")
    command.add_argument(
        "--fit", default="limit,memory,launch", metavar="NAMES", help="parameters to fit [limit,memory,launch]"
    )
    command.add_argument("--baseline", action="store_true", help="beside it, a regressor without physics")


def run(options: argparse.Namespace) -> int:
    """Run `dse calibrate`."""
    from dse.calibrate import fit, held_out, samples
    from dse.measured import read_measured

    names = _names(options.fit)
    rows = [row for table in options.tables for row in read_measured(table)]
    chosen = samples(rows, len(names))
    start = chosen[0].design.cluster.npu.curve
    assert start is not None
    found = fit(chosen, start, names, lambda count: print(f"\rpass {count}", end="", file=sys.stderr))
    print(f"\r{len(rows)} rows, {len(names)} parameters", file=sys.stderr)
    left_out = [held_out(chosen, found, start, kind) for kind in ("job", "hidden size", "device")]
    left_out = [fold for fold in left_out if fold.held]
    _print(chosen, found, left_out, options.baseline)
    _write(options.out, chosen, found, left_out, [table.name for table in options.tables])
    return 0


def _names(text: str) -> list[str]:
    from dse.calibrate import PARAMETERS
    from simcore.problem import InputError, Problem, nearest

    names = [name.strip() for name in text.split(",")]
    problems = [
        Problem(("--fit",), f"some of {', '.join(PARAMETERS)}", f"'{name}'", nearest(name, PARAMETERS))
        for name in names
        if name not in PARAMETERS
    ]
    if len(set(names)) < len(names):
        problems.append(Problem(("--fit",), "each parameter once", text))
    if problems:
        raise InputError(problems, "command line")
    return names


def _print(chosen: list[Sample], found: Fit, left_out: list[Fold], baseline: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from dse.calibrate import PARAMETERS

    parameters = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("parameter", "value", "is the"):
        parameters.add_column(name)
    for name, value in found.values().items():
        parameters.add_row(name, f"{value:.4g}", PARAMETERS[name].meaning)
    Console().print(parameters)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("", "parts", "MAPE", "median", "worst"):
        table.add_column(name, justify="left" if name == "" else "right")
    table.add_row("fit", "", *_errors(chosen, found.predicted))
    for fold in left_out:
        table.add_row(f"leave {fold.kind} out", str(len(fold.held)), *_errors(chosen, fold.predicted))
        if baseline:
            from dse.calibrate.baseline import regressed

            table.add_row("  without physics", "", *_errors(chosen, regressed(chosen, fold.kind)))
    Console().print(table)


def _errors(chosen: list[Sample], predicted: Floats) -> list[str]:
    import numpy as np

    errors = 100 * np.abs(predicted / _measured(chosen) - 1)
    return [f"{figure:.2f} %" for figure in (errors.mean(), np.median(errors), errors.max())]


def _measured(chosen: list[Sample]) -> np.ndarray[Any, np.dtype[np.float64]]:
    import numpy as np

    return np.array([sample.row.seconds for sample in chosen])


def _write(path: Path, chosen: list[Sample], found: Fit, left_out: list[Fold], tables: list[str]) -> None:
    """The curve as an entry of a catalogue: values, intervals, and what each rests on."""
    from dse.calibrate.interval import intervals
    from simcore.document import dump_document

    devices = ", ".join(sorted({sample.design.cluster.npu.name for sample in chosen}))
    said = f"calibrated on {devices}: {len(chosen)} rows of {', '.join(tables)}"
    entry = found.curve.model_dump(mode="json", exclude={"name", "interval", "sources"})
    entry["sources"] = {**found.curve.sources, **dict.fromkeys(found.names, said)}
    if left_out:
        entry["interval"] = intervals(chosen, left_out[0].predicted)
        entry["sources"]["interval"] = f"nine of ten rows, predicted without their {left_out[0].kind}"
    path.write_text(dump_document({path.stem: entry}), encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)
