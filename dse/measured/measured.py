"""Tables of measured training iterations: CSV to checked designs, or one error with every problem in the table.

A row is one job: a model by its shape (`hidden, layers, heads, vocab`) or by a name of the catalogue (`model`; `layers`
then says how many of them; a cut model of experts keeps one dense layer), a device and a fabric of the catalogue, the
degrees, and `measured_s`. Columns beyond `REQUIRED` may be left out or left empty; what is no column is ignored, unless
it is nearly one. How cells are read is in `dse.measured.measured_row`.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.measured.measured_row import KNOWN, REQUIRED, SHAPE, check_structure, read_cells, row_document, software_of
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.document.problem import InputError, Problem
from simcore.workload.transformer.document import TransformerWorkload

MOST_BYTES = 64 << 20
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
NEARLY = 0.75
"""How alike an unknown column's name is to a known one (of 1) to be taken for a slip of the pen."""


@dataclass(frozen=True)
class MeasuredIteration:
    """A measured iteration."""

    case: str
    design: Design
    seconds: float
    memory: float | None
    """Peak memory of the fullest NPU [B], where it was measured."""
    software: str = ""
    """The software stack it is predicted for (see `dse.measured.stack`), and whether that was assumed."""
    assumed: bool = False

    @property
    def workload(self) -> TransformerWorkload:
        """What was trained."""
        return TransformerWorkload.of(self.design.workload)

    @property
    def job(self) -> tuple[Any, ...]:
        """What rows that only differ in how the job was spread share: device, network, model, NPUs, batch."""
        workload, cluster = self.workload, self.design.cluster
        network = tuple((d.bandwidth, d.latency) for d in cluster.dimensions)
        return cluster.npu.name, network, workload.model, cluster.npus, workload.global_batch, workload.sequence


@dataclass(frozen=True)
class MeasuredTable:
    """The rows of a table, and its columns that were not read."""

    rows: list[MeasuredIteration]
    ignored: list[str]


def read_measured(path: str | Path, npu: Npu | None = None, devices: Iterable[Npu] = ()) -> list[MeasuredIteration]:
    """The rows of a table; see `read_table`."""
    return read_table(path, npu, devices).rows


def read_tables(paths: Iterable[str | Path], devices: Iterable[Npu] = ()) -> list[MeasuredIteration]:
    """The rows of several tables; raises one `InputError` with the problems of all of them."""
    rows: list[MeasuredIteration] = []
    errors: list[InputError] = []
    for path in paths:
        try:
            rows += read_measured(path, devices=devices)
        except InputError as error:
            errors.append(error)
    if errors:
        together = InputError([problem for error in errors for problem in error.problems])
        together.args = ("\n".join(str(error) for error in errors),)
        raise together
    return rows


def read_table(path: str | Path, npu: Npu | None = None, devices: Iterable[Npu] = ()) -> MeasuredTable:
    """A table, on `npu` in place of its devices where it is given; `devices` are known beside the catalogue's.

    Raises `InputError` with every problem: line, column, expected, found.
    """
    columns, lines = _read_rows(path)
    problems = list(_check_header(columns, npu is not None))
    known = {one.name.lower(): one for one in devices}
    measured: list[MeasuredIteration] = []
    if not problems:
        for line, row in lines:
            one, wrong = _read_row(line, row, npu, known)
            problems += wrong
            if one is not None:
                measured.append(one)
        if not lines:
            problems.append(Problem((), "at least one row", "a header alone"))
    if problems:
        raise InputError(problems, str(path))
    return MeasuredTable(measured, [name for name in dict.fromkeys(columns) if name not in KNOWN])


def _read_rows(path: str | Path) -> tuple[list[str], list[tuple[int, dict[str | Any, Any]]]]:
    """The names of the columns, and each row with its line."""
    file = Path(path)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError([Problem((), f"a table of at most {MOST_BYTES >> 20} MiB", "a larger one")], str(path))
        reader = csv.DictReader(io.StringIO(_decode_text(file.read_bytes()), newline=""), strict=True)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        return list(reader.fieldnames), [(reader.line_num, row) for row in reader]
    except OSError as error:
        problem = Problem((), "a readable table", error.strerror or str(error), "check the path")
        raise InputError([problem], str(path)) from None
    except (csv.Error, ValueError) as error:
        problem = Problem((), "a table of comma-separated values in UTF-8", str(error), "export it as CSV")
        raise InputError([problem], str(path)) from None


def _decode_text(data: bytes) -> str:
    """The text of a file; raises `ValueError` for one that is none."""
    binary = _NO_TEXT.search(data)
    try:
        if binary is None:
            return data.decode("utf-8-sig")
        at = binary.start()
    except UnicodeDecodeError as error:
        at = error.start
    raise ValueError(f"a binary file (byte 0x{data[at]:02x} at position {at})")


def _check_header(columns: list[str], given: bool) -> Iterator[Problem]:
    """Problems of the names of columns; the device may be `given` from outside."""
    for name in REQUIRED:
        if name not in columns and not (given and name == "device"):
            yield Problem((name,), "this column", "none", line=1)
    if "model" not in columns:
        for name in SHAPE:
            if name not in columns:
                yield Problem((name,), "this column, or a column 'model'", "none", line=1)
    for name in dict.fromkeys(columns):
        meant = difflib.get_close_matches(name.lower(), KNOWN, n=1, cutoff=NEARLY)
        if name not in KNOWN and meant:
            fix = f"did you mean '{meant[0]}'?"
            yield Problem((name,), "a known column, or one unlike any", f"'{name}'", fix, line=1)
        elif columns.count(name) > 1 and name in KNOWN:
            yield Problem((name,), "each column once", f"'{name}' twice", line=1)


def _read_row(
    line: int, row: Mapping[str | None, Any], npu: Npu | None, devices: Mapping[str, Npu]
) -> tuple[MeasuredIteration | None, list[Problem]]:
    """The row as a checked design, or what is wrong with it."""
    if None in row or None in row.values():
        given = sum(value is not None for key, value in row.items() if key is not None) + len(row.get(None, ()))
        wanted = sum(key is not None for key in row)
        return None, [Problem((), f"{wanted} values", f"{given}", line=line, rule="table")]
    values, problems = read_cells({str(key): str(value).strip() for key, value in row.items()}, npu, devices)
    if problems:
        found = [replace(problem, rule="table") for problem in problems] + list(check_structure(values))
        return None, [replace(problem, line=line) for problem in found]
    design, problems = parse_design(row_document(values))
    problems += check(design) if design is not None else []
    if problems or design is None:
        return None, [replace(problem, line=line) for problem in problems]
    memory = values.get("measured_memory_gib")
    case = str(row.get("case") or "").strip() or str(line)
    stack, assumed = software_of(values)
    return MeasuredIteration(case, design, values["measured_s"], memory * 2**30 if memory else None, stack, assumed), []
