"""A table's file, plain or compressed (`.gz`): the names of its columns, and the cells of each row with its line."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simcore.document.problem import InputError, Problem

MOST_BYTES, MOST_HEADER = 64 << 20, 1 << 20
_DOCUMENTS = (".yaml", ".yml", ".json")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")

RawRow = Mapping[str | None, Any]
"""Cells by column; those beyond the last column under None, those that are missing None."""


def read_columns(path: str | Path) -> tuple[str, ...]:
    """The names of the columns alone, without reading on.

    Raises `InputError` for a file that cannot be read, or is no table.
    """
    with _problems_of(path):
        return tuple(_names(csv.DictReader(io.StringIO(_decode_text(_read_line(Path(path))), newline=""), strict=True)))


def read_rows(path: str | Path) -> tuple[list[str], list[tuple[int, RawRow]]]:
    """The names of the columns, and each row with its line.

    Raises `InputError` for a file that cannot be read, or is no table.
    """
    with _problems_of(path):
        reader = csv.DictReader(io.StringIO(_decode_text(_read_bytes(Path(path))), newline=""), strict=True)
        reader.fieldnames = _names(reader)
        return list(reader.fieldnames), [(reader.line_num, row) for row in reader]


def _names(reader: csv.DictReader[str]) -> list[str]:
    return [name.strip() for name in reader.fieldnames or ()]


@contextlib.contextmanager
def _problems_of(path: str | Path) -> Iterator[None]:
    """What reading a file raises, as `InputError`; a document is not read as a table."""
    kind = Path(path).suffix
    if kind in _DOCUMENTS:
        fix = "dse simulate reads a design, dse space a space"
        raise InputError([Problem((), "a table of comma-separated values", f"a document ({kind})", fix)], str(path))
    try:
        yield
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        problem = Problem((), "a file that gzip wrote", str(error))
        raise InputError([problem], str(path)) from None
    except OSError as error:
        problem = Problem((), "a readable table", error.strerror or str(error), "check the path")
        raise InputError([problem], str(path)) from None
    except (csv.Error, ValueError) as error:
        problem = Problem((), "a table of comma-separated values in UTF-8", str(error), "export it as CSV")
        raise InputError([problem], str(path)) from None


def _read_line(file: Path) -> bytes:
    """The first line of a file, unpacked: of a table that is its columns."""
    with file.open("rb") as raw:
        packed = file.suffix == ".gz"
        return bytes((gzip.GzipFile(fileobj=raw) if packed else raw).readline(MOST_HEADER))


def _read_bytes(file: Path) -> bytes:
    """The content of a file, unpacked.

    Raises `InputError` where it is larger than a table of iterations ever is.
    """
    with file.open("rb") as raw:
        packed = file.suffix == ".gz"
        data: bytes = (gzip.GzipFile(fileobj=raw) if packed else raw).read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InputError([Problem((), f"a table of at most {MOST_BYTES >> 20} MiB", "a larger one")], str(file))
    return data


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
