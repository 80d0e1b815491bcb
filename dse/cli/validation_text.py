"""What `dse validate` prints for a reader: groups first, then the worst rows, then what could not be expressed."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from dse.measured.measured import NotExpressed
from dse.measured.validate import Accuracy, Prediction, accuracy, group_by_kind
from dse.report.units import MISSING, clean_text, format_with_unit

WORST = 10
"""Rows that are printed unless all are asked for."""


def print_validation(
    predictions: Sequence[Prediction], figures: Accuracy, not_expressed: Sequence[NotExpressed], all_rows: bool
) -> None:
    """Print groups, rows (all of them, or the worst), and the reasons of rows that no design can say."""
    console = Console(highlight=False, markup=False)
    console.print(_groups(predictions, figures))
    shown = predictions if all_rows else sorted(predictions, key=lambda p: -abs(p.error))[:WORST]
    if len(shown) < len(predictions):
        print(f"\nthe {len(shown)} worst of {len(predictions)} rows (--rows: all of them)")
    else:
        print()
    console.print(_rows(shown, any(p.memory_error is not None for p in predictions)))
    print(f"\n{_summary(len(predictions), figures)}")
    _print_reasons(console, not_expressed)


def _groups(predictions: Sequence[Prediction], figures: Accuracy) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("device, software, kind", ratio=1)
    for name in ("rows", "MAPE", "median", "bias", "order", "regret", "cover", "width"):
        table.add_column(name, justify="right", no_wrap=True)
    groups = group_by_kind(predictions)
    for by, group in groups:
        table.add_row(", ".join(by.values()), *_group_cells(len(group), accuracy(group)))
    if len(groups) > 1:
        table.add_row("all", *_group_cells(len(predictions), figures))
    return table


def _group_cells(rows: int, figures: Accuracy) -> list[str]:
    """Errors, regret, coverage and width in percent; the order as a share."""
    return [
        str(rows),
        f"{100 * figures.mape:.1f}",
        f"{100 * figures.median:.1f}",
        f"{100 * figures.bias:+.1f}",
        MISSING if figures.pairwise_order is None else f"{figures.pairwise_order:.3f}",
        f"{100 * figures.regret_mean:.1f}",
        MISSING if figures.coverage is None else f"{100 * figures.coverage:.0f}",
        MISSING if figures.width is None else f"{100 * figures.width:.0f}",
    ]


def _rows(shown: Iterable[Prediction], with_memory: bool) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("case", overflow="fold")
    for name in ("measured", "predicted", "error", *(("memory", "predicted", "error") if with_memory else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for p in shown:
        cells = [clean_text(p.case), _time(p, p.measured), _time(p, p.predicted)]
        cells.append(_percent(p.error) + ("" if p.covered is not False else " !"))
        if with_memory:
            cells += _memory_cells(p)
        table.add_row(*cells)
    return table


def _time(p: Prediction, time: float) -> str:
    return f"{time:.3f} x" if p.facts.get("relative") else format_with_unit(time, "s")


def _memory_cells(p: Prediction) -> list[str]:
    if p.measured_memory is None or p.predicted_memory is None or p.memory_error is None:
        return ["", "", ""]
    sizes = (format_with_unit(size, "B") for size in (p.measured_memory, p.predicted_memory))
    return [*sizes, _percent(p.memory_error)]


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _summary(rows: int, figures: Accuracy) -> str:
    order = "no pairs" if figures.pairwise_order is None else f"{figures.pairwise_order:.3f}"
    text = (
        f"{rows} rows: MAPE {100 * figures.mape:.2f} %, median {100 * figures.median:.2f} %, "
        f"worst {100 * figures.worst:.1f} %;\npairwise order {order}; "
        f"regret {100 * figures.regret_mean:.2f} % (worst {100 * figures.regret_worst:.1f} %)"
    )
    if figures.memory_mape is not None:
        text += f"; memory MAPE {100 * figures.memory_mape:.2f} %"
    if figures.coverage is not None and figures.width is not None:
        text += (
            f";\n{100 * figures.coverage:.0f} % of the measured times in their intervals, which are meant to hold 90 %"
            f"\n(!: outside), {100 * figures.width:.0f} % of the prediction wide in the median"
        )
    return text


def print_wrapped(text: str) -> None:
    """Print a line, broken at spaces where it is longer than 80 columns."""
    print(textwrap.fill(text, 80, subsequent_indent="  ", break_on_hyphens=False))


def _print_reasons(console: Console, not_expressed: Sequence[NotExpressed]) -> None:
    """The rows that no design can say, counted by reason, with the first case of each."""
    if not not_expressed:
        return
    rows = "row" if len(not_expressed) == 1 else "rows"
    print(f"\n{len(not_expressed)} {rows} that no design can express:")
    first = {row.why: row.case for row in reversed(not_expressed)}
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for why, count in Counter(row.why for row in not_expressed).most_common():
        table.add_row(str(count), clean_text(f"{why} (first: {first[why]})"))
    console.print(table)
