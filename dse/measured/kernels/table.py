"""Reading a table of measured kernels: CSV, gzipped or not, told by its columns."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from dse.measured.kernels.kernel import KINDS, Kernel
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


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
                yield file
        else:
            with path.open(encoding="utf-8", newline="") as file:
                yield file
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise InputError([Problem((), "a CSV table in UTF-8, gzipped or not", str(error))], str(path)) from error


def read_columns(path: Path) -> tuple[str, ...]:
    """The columns of a CSV table, gzipped or not. Raises `InputError` where there is no such file."""
    with _opened(path) as file:
        return tuple(name.strip() for name in next(csv.reader(file), []))


def read_kernels(path: Path) -> KernelTable:
    """The kernels of a table. Raises `InputError` for a table of something else, or a cell that is no number."""
    kind = kind_of(read_columns(path))
    if kind is None:
        known = "; ".join(f"{kind.name}: device {' '.join(sorted(kind.columns))} time_us" for kind in KINDS)
        raise InputError([Problem((), f"columns of measured kernels ({known})", "others")], str(path))
    rows, unexpressed, problems = [], [], []
    with _opened(path) as file:
        reader = csv.DictReader(file)
        for line, cells in enumerate(reader, 2):
            given = {str(name).strip(): value or "" for name, value in cells.items()}
            try:
                rows.append(kind.read(given, line))
            except Refusal as error:
                unexpressed.append(UnexpressedKernel(line, given["device"], str(error)))
            except ValueError as error:
                problems.append(Problem((f"line {line}",), "numbers", str(error)))
    if problems:
        raise InputError(problems, str(path))
    return KernelTable(kind, tuple(rows), tuple(unexpressed))
