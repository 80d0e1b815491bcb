"""The forms of tables: which columns make one, and how its rows are put into the columns of the common one.

The common form has a column for each key of a design. Tables that were published of other programs have columns of
their own (a mesh of a TPU, a policy of rematerialisation, a speed in place of a time); a row of theirs is rewritten,
cell by cell, and then read like any other.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dse.measured.table.cells import KNOWN, REQUIRED, SHAPE, Cells
from dse.measured.table.jax import JAX_COLUMNS, rewrite_jax
from dse.measured.table.schedules import SCHEDULE_COLUMNS, SCHEDULE_REQUIRED, rewrite_schedule
from dse.measured.table.tpu import TPU_COLUMNS, TPU_REQUIRED, rewrite_tpu
from simcore.document.problem import Problem

NEARLY = 0.75
"""How alike an unknown column's name is to a known one (of 1) to be taken for a slip of the pen."""

NOTES = (
    "step_low_s", "step_high_s", "steps_seen", "timing", "stage_ends", "routing", "network", "framework", "who",
    "config_basis", "source", "tokens_s_printed", "tflops_per_chip", "tokens_s_per_chip", "tokens_s_gpu", "tflops_gpu",
    "memory_percent", "max_memory_gb", "fits", "note", "nodes",
)  # fmt: skip
"""Columns of published tables that say nothing of a design, or what follows from others; never a slip of the pen."""


@dataclass(frozen=True)
class TableForm:
    """A form of tables."""

    marks: tuple[str, ...]
    """Columns that a table has only in this form."""
    required: tuple[str, ...]
    known: tuple[str, ...]
    """Columns that are read, those required too."""
    rewrite: Callable[[Cells], Cells | Problem]
    """A row's cells in the columns of the common form, or why a design cannot say what the row says."""


COMMON = TableForm((), REQUIRED, KNOWN, lambda cells: cells)
FORMS = (
    TableForm(("layout", "chips"), TPU_REQUIRED, TPU_COLUMNS, rewrite_tpu),
    TableForm(("remat", "fsdp_group"), tuple(n for n in REQUIRED if n != "data"), (*KNOWN, *JAX_COLUMNS), rewrite_jax),
    TableForm(("speed_over_1f1b",), SCHEDULE_REQUIRED, SCHEDULE_COLUMNS, rewrite_schedule),
    COMMON,
)


def form_of(columns: list[str]) -> TableForm:
    """The form of a table with these columns."""
    return next(form for form in FORMS if set(form.marks) <= set(columns))


def check_header(columns: list[str], form: TableForm, device_given: bool) -> Iterator[Problem]:
    """Problems of the names of columns; the device may be given from outside."""
    for name in form.required:
        if name not in columns and not (device_given and name == "device"):
            yield Problem((name,), "this column", "none", line=1)
    if "model" not in columns:
        for name in (*SHAPE, "layers"):
            if name not in columns:
                yield Problem((name,), "this column, or a column 'model'", "none", line=1)
    for name in dict.fromkeys(columns):
        known = name in form.known
        meant = () if known or name in NOTES else difflib.get_close_matches(name.lower(), form.known, 1, NEARLY)
        if meant:
            fix = f"did you mean '{meant[0]}'?"
            yield Problem((name,), "a known column, or one unlike any", f"'{name}'", fix, line=1)
        elif columns.count(name) > 1 and known:
            yield Problem((name,), "each column once", f"'{name}' twice", line=1)
