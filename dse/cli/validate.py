"""Compare predictions with measured iterations: errors, order, regret, coverage."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dse.measured.measured import MeasuredIteration, MeasuredTable
    from dse.measured.validate import Accuracy, Prediction

EXAMPLES = """examples:
  dse validate measured.csv
  dse validate h100.csv a100.csv.gz --rows        # groups over both; every row
  dse validate measured.csv --json | jq .groups
  dse validate measured.csv --device mine.yaml    # as dse calibrate wrote it

columns: device fabric seq npus global_batch microbatch tensor pipeline data
         measured_s, and either model, or hidden layers heads vocab
optional: interleave [1] recompute [none] zero [0] case software layers context
          expert expert_tensor shard_group first_stage_layers last_stage_layers
          sequence_parallel recompute_modules precision gradient_precision
          fp8_recipe param_gather_dtype tp_comm_overlap cuda_graph schedule
          gpus_per_nvlink_domain measured_memory_gib memory_kind notes
also read: tables of MaxText and PaxML (fsdp_group data_replicas remat), of TPUs
(chips slices layout step_s), of pipeline schedules (schedule speed_over_1f1b)
other columns are ignored; see docs/measured.md
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse validate`."""
    command.add_argument(
        "tables", metavar="TABLE.csv", nargs="+", type=Path, help="measured iterations, one a row (.csv or .csv.gz)"
    )
    command.add_argument(
        "--device",
        metavar="D",
        help="predict for this NPU (of the catalogue, or a YAML file with one) instead of the tables'",
    )
    command.add_argument("--rows", action="store_true", help="print every row, not the worst ones alone")
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse validate`."""
    from dse.cli.validation_text import print_validation, print_wrapped
    from dse.measured.device import read_device
    from dse.measured.kernels import is_kernel_table
    from dse.measured.measured import collect_tables
    from dse.measured.table.file import read_columns
    from dse.measured.validate import accuracy, predict

    kernels = [table for table in options.tables if is_kernel_table(read_columns(table))]
    if kernels:
        _check_alike(options.tables, kernels)
        return run_kernels(options)
    tables = collect_tables(options.tables, read_device(options.device)[0] if options.device else None)
    rows = [row for table in tables for row in table.rows]
    predictions = list(predict(rows))
    figures = accuracy(predictions)
    if options.json:
        print(json.dumps(validation_document(predictions, figures, tables), indent=2, allow_nan=False))
        return 0
    print_validation(predictions, figures, [row for table in tables for row in table.not_expressed], options.rows)
    print_wrapped(_describe_stacks(rows))
    if ignored := _ignored_columns(tables):
        print_wrapped(f"ignored columns: {', '.join(ignored)}")
    return 0


def _check_alike(tables: Sequence[Path], kernels: Sequence[Path]) -> None:
    """Raise `InputError` with each table that is none of kernels, where others are."""
    from simcore.document.problem import InputError, Problem

    others = [table for table in tables if table not in kernels]
    expected, fix = f"a table of kernels, as '{kernels[0]}' is", "give tables of iterations to a command of their own"
    if others:
        raise InputError([Problem((str(table),), expected, "another kind of table", fix) for table in others])


def run_kernels(options: argparse.Namespace) -> int:
    """Run `dse validate` on tables of kernels."""
    from rich.console import Console
    from rich.table import Table

    from dse.measured.device import read_device
    from dse.measured.kernels import validate_kernels

    report = validate_kernels(options.tables, read_device(options.device)[0] if options.device else None)
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


def validation_document(
    predictions: Sequence[Prediction], figures: Accuracy, tables: Sequence[MeasuredTable]
) -> dict[str, Any]:
    """The JSON form: errors and regret in percent, order, coverage and width of intervals as shares."""
    from dse.measured.validate import accuracy, group_by_kind

    return {
        "kind": "iterations",
        "rows": len(predictions),
        **_figures(figures),
        "memory_mape": None if figures.memory_mape is None else 100 * figures.memory_mape,
        "coverage": figures.coverage,
        "median_width": figures.width,
        "groups": [
            {"by": by, "rows": len(group), **_group(accuracy(group))} for by, group in group_by_kind(predictions)
        ],
        "jobs": list(_jobs(predictions)),
        "per_row": [_row(p) for p in predictions],
        "not_expressed": [
            {"row": row.line, "case": row.case, "why": row.why} for table in tables for row in table.not_expressed
        ],
        "software": _count_stacks(row for table in tables for row in table.rows),
        "ignored_columns": _ignored_columns(tables),
    }


def _figures(figures: Accuracy) -> dict[str, float | None]:
    return {
        "mape": 100 * figures.mape,
        "median_ape": 100 * figures.median,
        "max_ape": 100 * figures.worst,
        "bias": 100 * figures.bias,
        "pairwise_order": figures.pairwise_order,
        "regret_mean": 100 * figures.regret_mean,
    }


def _group(figures: Accuracy) -> dict[str, float | None]:
    """What is said of rows of one device, stack and kind."""
    return {
        "mape": 100 * figures.mape,
        "median_ape": 100 * figures.median,
        "max_ape": 100 * figures.worst,
        "bias": 100 * figures.bias,
        "coverage": figures.coverage,
        "median_width": figures.width,
        "order": figures.pairwise_order,
        "regret": 100 * figures.regret_mean,
        "memory_mape": None if figures.memory_mape is None else 100 * figures.memory_mape,
    }


def _jobs(predictions: Iterable[Prediction]) -> Iterable[dict[str, Any]]:
    """Each job that was run in several ways: what it is, how many, order and regret."""
    from dse.measured.validate import group_by_job, merge_repeats, pairwise_order, regret

    for job in group_by_job(predictions):
        designs = len(merge_repeats(job))
        if designs > 1:
            names = ("device", "model", "layers", "npus", "global_batch", "sequence", "precision")
            facts = {name: job[0].facts.get(name) for name in names}
            order = pairwise_order([job])
            yield {**facts, "rows": len(job), "designs": designs, "order": order, "regret": 100 * regret(job)}


def _row(p: Prediction) -> dict[str, Any]:
    memory = None
    if p.memory_error is not None:
        memory = {"measured": p.measured_memory, "predicted": p.predicted_memory, "error_pct": 100 * p.memory_error}
    return {
        "case": p.case,
        "measured_s": p.measured,
        "predicted_s": p.predicted,
        "error_pct": 100 * p.error,
        "interval_s": None if p.interval is None else list(p.interval),
        "covered": p.covered,
        "memory_bytes": memory,
        **p.facts,
    }


def _ignored_columns(tables: Sequence[MeasuredTable]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table.ignored))


def _count_stacks(rows: Iterable[MeasuredIteration]) -> dict[str, dict[str, int]]:
    """Software stack -> rows of it that the tables give, and rows for which it was assumed."""
    counted: dict[str, dict[str, int]] = {}
    for row in rows:
        kinds = counted.setdefault(row.software, {"given": 0, "assumed": 0})
        kinds["assumed" if row.assumed else "given"] += 1
    return counted


def _describe_stacks(rows: Sequence[MeasuredIteration]) -> str:
    from dse.measured.table.software import FLASH_ATTENTION, NEW, OLD

    parts = [
        f"{name} ({', '.join(f'{count} {kind}' for kind, count in kinds.items() if count)})"
        for name, kinds in _count_stacks(rows).items()
    ]
    rule = f"assumed: {NEW} on devices of {FLASH_ATTENTION} and later, {OLD} on older ones"
    return f"software: {', '.join(parts)}" + (f"; {rule}" if any(row.assumed for row in rows) else "")
