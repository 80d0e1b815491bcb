"""Tables of measured training iterations: rows as checked designs, rows that no design can say, or one error.

A row is one job: a model by its shape (`hidden, layers, heads, vocab`) or by a name of the catalogue (`model`; `layers`
then says how many of them; a cut model of experts keeps one dense layer), a device and a fabric of the catalogue, the
degrees, and `measured_s`. Columns beyond the required ones may be left out or left empty; what is no column is ignored,
unless it is nearly one. How cells are read is in `dse.measured.table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.measured.table.cells import LACKING, Devices, Values, read_cells
from dse.measured.table.document import check_structure, fitting_document
from dse.measured.table.file import RawRow, read_rows
from dse.measured.table.form import TableForm, check_header, form_of
from dse.measured.table.software import stack_of
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.document.problem import InputError, Problem
from simcore.workload.transformer.document import TransformerWorkload

RESERVED_BY_DEFAULT = "pytorch-fsdp"
"""Stacks whose logs print what their allocator has reserved."""


@dataclass(frozen=True)
class MeasuredIteration:
    """A measured iteration."""

    case: str
    design: Design
    seconds: float
    """Time [s]; over that of `relative_to` where there is one."""
    memory: float | None
    """Peak memory of the fullest NPU [B], where it was measured."""
    software: str = ""
    """The software stack it is predicted for (see `dse.measured.table.software`), and whether that was assumed."""
    assumed: bool = False
    reserved: bool = False
    """Whether `memory` is what was reserved, not what was allocated."""
    relative_to: Design | None = None
    """The job whose time the measured one is a multiple of."""

    @property
    def workload(self) -> TransformerWorkload:
        """What was trained."""
        return TransformerWorkload.of(self.design.workload)

    @property
    def kind(self) -> str:
        """`moe` for a mixture of experts, else `dense`."""
        return "dense" if self.workload.model.mixture_of_experts is None else "moe"

    @property
    def job(self) -> tuple[Any, ...]:
        """What rows that only differ in how the job was run share: device, network, model, NPUs, batch, precision."""
        workload, cluster = self.workload, self.design.cluster
        network = tuple((d.bandwidth, d.latency) for d in cluster.dimensions)
        batch = workload.global_batch, workload.sequence, workload.precision
        return cluster.npu.name, network, workload.model, cluster.npus, *batch


@dataclass(frozen=True)
class NotExpressed:
    """A row that no design can say, and why: the first of its problems, all of them."""

    case: str
    line: int
    problems: tuple[Problem, ...]

    @property
    def why(self) -> str:
        """The reason in one line, without the row's line, so that rows with the same one are counted together."""
        return str(replace(self.problems[0], line=None))


@dataclass(frozen=True)
class MeasuredTable:
    """The rows of a table, those that no design can say, and its columns that were not read."""

    rows: list[MeasuredIteration]
    ignored: list[str]
    not_expressed: list[NotExpressed]


def read_measured(path: str | Path, npu: Npu | None = None, devices: Iterable[Npu] = ()) -> list[MeasuredIteration]:
    """The rows of a table that a design can say; see `read_table`."""
    return read_table(path, npu, devices).rows


def read_tables(paths: Iterable[str | Path], devices: Iterable[Npu] = ()) -> list[MeasuredIteration]:
    """The measured times of several tables, of rows that a design can say; raises `InputError` with all problems."""
    known = tuple(devices)
    tables = collect_tables(paths, devices=known)
    return [row for table in tables for row in table.rows if row.relative_to is None]


def collect_tables(
    paths: Iterable[str | Path], npu: Npu | None = None, devices: Iterable[Npu] = ()
) -> list[MeasuredTable]:
    """Several tables; raises one `InputError` with the problems of all of them."""
    tables: list[MeasuredTable] = []
    errors: list[InputError] = []
    known = tuple(devices)
    for path in paths:
        try:
            tables.append(read_table(path, npu, known))
        except InputError as error:
            errors.append(error)
    if errors:
        together = InputError([problem for error in errors for problem in error.problems])
        together.args = ("\n".join(str(error) for error in errors),)
        raise together
    return tables


def read_table(path: str | Path, npu: Npu | None = None, devices: Iterable[Npu] = ()) -> MeasuredTable:
    """A table, on `npu` in place of its devices where it is given; `devices` are known beside the catalogue's.

    Raises `InputError` with every problem (line, column, expected, found) of a table that is none, has wrong cells, or
    has no row that a design can say; then the reasons of such rows are among the problems, each once.
    """
    columns, lines = read_rows(path)
    form = form_of(columns)
    problems = list(check_header(columns, form, npu is not None))
    known = {one.name.lower(): one for one in devices}
    measured: list[MeasuredIteration] = []
    left_out: list[NotExpressed] = []
    if not problems:
        for line, row in lines:
            case = str(row.get("case") or "").strip() or f"{Path(path).name.split('.')[0]}:{line}"
            found = list(_read_row(case, row, form, npu, known))
            measured += [one for one in found if isinstance(one, MeasuredIteration)]
            wrong = [replace(one, line=line) for one in found if isinstance(one, Problem)]
            if wrong and all(problem.rule == LACKING for problem in wrong):
                left_out.append(NotExpressed(case, line, tuple(wrong)))
            else:
                problems += wrong
        if not lines:
            problems.append(Problem((), "at least one row", "a header alone"))
        elif problems or not measured:
            problems += _first_of_each(problem for row in left_out for problem in row.problems)
    if problems:
        raise InputError(problems, str(path))
    return MeasuredTable(measured, [name for name in dict.fromkeys(columns) if name not in form.known], left_out)


def _first_of_each(problems: Iterable[Problem]) -> Iterable[Problem]:
    """The first problem of those that only differ in their lines."""
    return {replace(problem, line=None): problem for problem in reversed(list(problems))}.values()


def _read_row(
    case: str, row: RawRow, form: TableForm, npu: Npu | None, devices: Devices
) -> Iterator[MeasuredIteration | Problem]:
    """The row as a checked design, or what is wrong with it; rule `LACKING` where no design can say it."""
    if None in row or None in row.values():
        given = sum(value is not None for key, value in row.items() if key is not None) + len(row.get(None, ()))
        wanted = sum(key is not None for key in row)
        yield Problem((), f"{wanted} values", f"{given}", rule="table")
        return
    cells = form.rewrite({str(key): str(value).strip() for key, value in row.items()})
    if isinstance(cells, Problem):
        yield cells
        return
    values, problems = read_cells(cells, npu, devices)
    if any(problem.rule != LACKING for problem in problems):
        yield from (replace(problem, rule="table") for problem in problems)
        yield from check_structure(values)
    elif problems:
        yield from problems
    else:
        yield from _express(case, values)


def _express(case: str, values: Values) -> Iterator[MeasuredIteration | Problem]:
    """The design of a row whose cells are read, checked; or what no design can say of it."""
    document, problems = fitting_document(values)
    design = None if problems else parse_design(document)[0]
    if design is None:
        yield from (replace(problem, rule=LACKING) for problem in problems)
        return
    memory = values.get("measured_memory_gib")
    stack, assumed = stack_of(values)
    kind = values.get("memory_kind", "reserved" if stack.startswith(RESERVED_BY_DEFAULT) else "allocated")
    base = None
    if "schedule" in values:
        document["parallelism"] |= {"schedule": "1f1b", "interleave": 1}
        base = parse_design(document)[0]
    bytes_ = memory * 2**30 if memory else None
    yield MeasuredIteration(
        case, design, values["measured_s"], bytes_, stack, assumed, kind == "reserved", relative_to=base
    )
