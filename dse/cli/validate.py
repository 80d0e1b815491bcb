"""Compare predictions with measured iterations: error per row, MAPE, pairwise order of a job's designs, regret."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dse.measured.measured import MeasuredIteration, MeasuredTable
    from dse.measured.validate import Accuracy, Prediction

EXAMPLES = """examples:
  dse validate measured.csv
  dse validate measured.csv --json | jq .mape
  dse validate measured.csv --device mine.yaml         # as dse calibrate wrote it

columns: device fabric layers seq npus global_batch microbatch tensor pipeline data measured_s
         and either model, or hidden heads vocab
optional: interleave [1] recompute [none] zero [0] case software context expert sequence_parallel
          precision gradient_precision measured_memory_gib
other columns are ignored; see docs/measured.md
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse validate`."""
    command.add_argument("table", metavar="TABLE.csv", type=Path, help="measured iterations, one a row")
    command.add_argument(
        "--device",
        metavar="D",
        help="predict for this NPU (of the catalogue, or a YAML file with one) instead of the table's",
    )
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse validate`."""
    from dse.measured.device import read_device
    from dse.measured.kernels import is_kernel_table, read_columns
    from dse.measured.measured import read_table
    from dse.measured.validate import accuracy, predict

    if is_kernel_table(read_columns(options.table)):
        return run_kernels(options)
    table = read_table(options.table, read_device(options.device)[0] if options.device else None)
    predictions = list(predict(table.rows))
    figures = accuracy(predictions)
    if options.json:
        print(json.dumps(validation_document(predictions, figures, table), indent=2, allow_nan=False))
    else:
        _print_figures(predictions, figures)
        print(_describe_stacks(table.rows))
        if table.ignored:
            print(f"ignored columns: {', '.join(table.ignored)}")
    return 0


def run_kernels(options: argparse.Namespace) -> int:
    """Run `dse validate` on a table of kernels."""
    from rich.console import Console
    from rich.table import Table

    from dse.measured.device import read_device
    from dse.measured.kernels import validate_kernels

    report = validate_kernels(options.table, read_device(options.device)[0] if options.device else None)
    if options.json:
        print(json.dumps(report.document(), indent=2, allow_nan=False))
        return 0
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(report.kind)
    for name in ("rows", "mean |ln|", "bias"):
        table.add_column(name, justify="right")
    for group in report.groups:
        cells = (str(len(group.logs)), f"{group.mean_abs_log:.1f} %", f"{group.bias:+.1f} %")
        table.add_row(" ".join(group.by.values()), *cells)
    Console().print(table)
    for why, lines in report.reasons().items():
        print(f"{lines} rows not expressed: {why}")
    return 0


def validation_document(predictions: Sequence[Prediction], figures: Accuracy, table: MeasuredTable) -> dict[str, Any]:
    """The JSON form: errors and regret in percent, order as a share; rows of each software stack, given or assumed."""
    return {
        "rows": len(predictions),
        "mape": 100 * figures.mape,
        "median_ape": 100 * figures.median,
        "max_ape": 100 * figures.worst,
        "pairwise_order": figures.pairwise_order,
        "regret_mean": 100 * figures.regret_mean,
        "memory_mape": None if figures.memory_mape is None else 100 * figures.memory_mape,
        "per_row": [
            {"case": p.case, "measured_s": p.measured, "predicted_s": p.predicted, "error_pct": 100 * p.error}
            for p in predictions
        ],
        "software": {name: dict(kinds) for name, kinds in _count_stacks(table.rows).items()},
        "ignored_columns": table.ignored,
    }


def _count_stacks(rows: Sequence[MeasuredIteration]) -> dict[str, dict[str, int]]:
    """Software stack -> rows of it that the table gives, and rows for which it was assumed."""
    counted: dict[str, dict[str, int]] = {}
    for row in rows:
        kinds = counted.setdefault(row.software, {"given": 0, "assumed": 0})
        kinds["assumed" if row.assumed else "given"] += 1
    return counted


def _describe_stacks(rows: Sequence[MeasuredIteration]) -> str:
    from dse.measured.stack import FLASH_ATTENTION

    parts = [
        f"{name} ({', '.join(f'{count} {kind}' for kind, count in kinds.items() if count)})"
        for name, kinds in _count_stacks(rows).items()
    ]
    rule = f"assumed: megatron-core on devices of {FLASH_ATTENTION} and later, megatron-deepspeed on older ones"
    return f"software: {', '.join(parts)}" + (f"; {rule}" if any(row.assumed for row in rows) else "")


def _print_figures(predictions: list[Prediction], figures: Accuracy) -> None:
    from rich.console import Console
    from rich.table import Table

    from dse.report.units import format_with_unit

    with_memory = figures.memory_mape is not None
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("case")
    for name in ("measured", "predicted", "error", *(("memory", "predicted", "error") if with_memory else ())):
        table.add_column(name, justify="right")
    for p in predictions:
        cells = [
            p.case,
            format_with_unit(p.measured, "s"),
            format_with_unit(p.predicted, "s"),
            f"{100 * p.error:+.1f} %",
        ]
        if with_memory:
            cells += ["", "", ""] if p.memory_error is None else _memory_lines(p)
        table.add_row(*cells)
    Console().print(table)
    order = "no pairs" if figures.pairwise_order is None else f"{figures.pairwise_order:.3f}"
    print(
        f"{len(predictions)} rows: MAPE {100 * figures.mape:.2f} %, median {100 * figures.median:.2f} %, "
        f"worst {100 * figures.worst:.1f} %; pairwise order {order}; "
        f"regret {100 * figures.regret_mean:.2f} % (worst {100 * figures.regret_worst:.1f} %)"
        + (f"; memory MAPE {100 * figures.memory_mape:.2f} %" if figures.memory_mape is not None else "")
    )


def _memory_lines(p: Prediction) -> list[str]:
    from dse.report.units import format_with_unit

    assert p.measured_memory is not None
    assert p.predicted_memory is not None
    assert p.memory_error is not None
    return [
        format_with_unit(p.measured_memory, "B"),
        format_with_unit(p.predicted_memory, "B"),
        f"{100 * p.memory_error:+.1f} %",
    ]
