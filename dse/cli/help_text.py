"""Help as wide as the terminal: paragraphs are wrapped, and lists and examples keep their lines as far as they fit."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap

_PARTS = re.compile(r"( +)(\S+(?: \S+)*)(?: {2,}(\S.*))?")
"""A line of a list: its indent, what it is about, and what is said of that."""


class WrappedText(argparse.HelpFormatter):
    """Wraps descriptions and epilogs line by line where a line is indented, else paragraph by paragraph."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for kind, group in groupby(text.strip("\n").split("\n"), key=_kind_of):
            block = list(group)
            lines += block if kind == "between" else _WRAPS[kind](block, width)
        return "\n".join(indent + line for line in lines)


def _kind_of(line: str) -> str:
    if not line:
        return "between"
    return "list" if line.startswith(" ") else "paragraph"


def _wrap_paragraph(lines: list[str], width: int) -> Iterator[str]:
    yield from _wrap(" ".join(lines), width)


def _wrap_lines(lines: list[str], width: int) -> Iterator[str]:
    for line in lines:
        parts = _PARTS.fullmatch(line)
        if len(line) <= width or parts is None:
            yield line
            continue
        indent, about, said = parts.groups()
        if said is None or said.startswith("#"):  # a command, below what is said of it
            yield from _wrap(said or "", width, indent, f"{indent}# ")
            whole = re.sub(r"(--\S+) (?!-)", "\\1\0", about)  # an option stays with its value
            yield " \\\n".join(_wrap(whole, width - 2, indent, f"{indent}    ")).replace("\0", " ")
        else:
            yield from _wrap(said, width, line[: parts.start(3)], " " * parts.start(3))


def _wrap(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


_WRAPS = {"list": _wrap_lines, "paragraph": _wrap_paragraph}
