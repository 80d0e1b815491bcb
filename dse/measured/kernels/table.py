"""Reading a table of measured kernels: CSV, gzipped or not, told by its columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from dse.measured.kernels.kernel import KINDS, Kernel
from dse.measured.table.file import read_rows
from simcore.document.problem import InputError, Problem, Refusal


@dataclass(frozen=True)
class UnexpressedKernel:
    """A row that the model has no words for."""

    line: int
    device: str
    why: str


@dataclass(frozen=True)
class KernelTable:
    """The rows of a table of one kind of kernels."""

    kind: type[Kernel]
    rows: tuple[Kernel, ...]
    unexpressed: tuple[UnexpressedKernel, ...]


def kind_of(columns: Collection[str]) -> type[Kernel] | None:
    """The kind of kernels whose table has such columns; None of other tables."""
    if not {"device", "time_us"} <= set(columns):
        return None
    return next((kind for kind in KINDS if kind.columns <= set(columns)), None)


def is_kernel_table(columns: Collection[str]) -> bool:
    """Whether a table of such columns is one of kernels."""
    return kind_of(columns) is not None


def read_kernels(path: Path) -> KernelTable:
    """The kernels of a table. Raises `InputError` for a table of something else, or a cell that is no number."""
    columns, listed = read_rows(path)
    kind = kind_of(columns)
    if kind is None:
        known = "; ".join(f"{kind.name}: device {' '.join(sorted(kind.columns))} time_us" for kind in KINDS)
        raise InputError([Problem((), f"columns of measured kernels ({known})", "others")], str(path))
    rows, unexpressed, problems = [], [], []
    for line, cells in listed:
        given = {str(name): str(value or "") for name, value in cells.items()}
        try:
            rows.append(kind.read(given, line))
        except Refusal as error:
            unexpressed.append(UnexpressedKernel(line, given["device"], str(error)))
        except ValueError as error:
            problems.append(Problem((f"line {line}",), "numbers", str(error)))
    if problems:
        raise InputError(problems, str(path))
    return KernelTable(kind, tuple(rows), tuple(unexpressed))
