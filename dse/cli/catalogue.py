"""List what documents can name: models, NPUs, fabrics, software, prices, topologies, samplers, metrics and more.

Without arguments the kinds; with a kind its names, a line each, with what their numbers rest on; with a name all of it:
every number with its source, and how a design says it. Entries of installed packages are listed with their package.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dse.catalogue import Entry, Kind

EXAMPLES = """examples:
  dse catalogue                     # the kinds, with how many there are of each
  dse catalogue npus                # all NPUs: rate, memory, power, what was measured on them
  dse catalogue npus h100-80gb      # every number of one, with its source
  dse catalogue h100-80gb           # the same: one kind alone has this name
  dse catalogue metrics --json | jq -r '.entries[].name'

--json prints {kinds: [{kind, count, what, path}]}, or of a kind {kind, what, path, entries: [{name, summary, basis,
package}]}, or of a name {kind, name, summary, basis, package, written, values, sources, text}.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse catalogue`."""
    command.add_argument("kind", metavar="KIND", nargs="?", help="a kind, such as npus; or a name that one kind has")
    command.add_argument("name", metavar="NAME", nargs="?", help="a name of that kind")
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse catalogue`."""
    from rich.console import Console

    from dse.catalogue import KINDS, find_entry, find_kind
    from dse.catalogue.find import kinds_with

    console = Console(highlight=False)
    if options.kind is None:
        return _show_kinds(KINDS, options.json, console)
    holding = kinds_with(options.kind) if options.name is None and options.kind not in KINDS else []
    kind = KINDS[holding[0]] if len(holding) == 1 else find_kind(options.kind)
    name = options.kind if len(holding) == 1 else options.name
    if name is None:
        return _show_kind(kind, options.json, console)
    return _show_entry(find_entry(kind, name), options.json, console)


def _show_kinds(kinds: dict[str, Kind], as_json: bool, console: Console) -> int:
    rows = [(kind.name, len(kind.names()), kind.what, kind.path) for kind in kinds.values()]
    if as_json:
        print(json.dumps({"kinds": [dict(zip(("kind", "count", "what", "path"), row, strict=True)) for row in rows]}))
        return 0
    table = _table("kind", "", "what they are", "named at")
    table.columns[1].justify = "right"
    for name, count, what, path in rows:
        table.add_row(*_texts(name, str(count), what, path))
    console.print(table)
    console.print("\nThe names of a kind: dse catalogue KIND; all of one: dse catalogue KIND NAME")
    return 0


def _show_kind(kind: Kind, as_json: bool, console: Console) -> int:
    entries = [kind.entry(name) for name in kind.names()]
    if as_json:
        lines = [entry.line for entry in entries]
        print(json.dumps({"kind": kind.name, "what": kind.what, "path": kind.path, "entries": lines}))
        return 0
    console.print(*_texts(f"{len(entries)} {kind.name}: {kind.what}; named at {kind.path}"), style="bold")
    with_basis = any(entry.basis for entry in entries)
    table = _table("name", "what matters", *(["numbers from"] if with_basis else []))
    for entry in entries:
        said = entry.summary + (f" (from {entry.package})" if entry.package else "")
        table.add_row(*_texts(entry.name, said, *([entry.basis] if with_basis else [])))
    console.print(table)
    if kind.note:
        console.print(*_texts(f"\n{kind.note}"))
    return 0


def _show_entry(entry: Entry, as_json: bool, console: Console) -> int:
    if as_json:
        print(json.dumps(entry.document, ensure_ascii=False))
        return 0
    from simcore.document.text import dump_document

    package = f", from {entry.package}" if entry.package else ""
    basis = f" Numbers from: {entry.basis}." if entry.basis else ""
    console.print(*_texts(f"{entry.name} ({entry.kind}{package})"), style="bold")
    console.print(*_texts(f"{entry.summary.rstrip('.')}.{basis}"))
    _print_part(console, "In a design", entry.written.splitlines())
    if entry.values:
        _print_part(console, "Its numbers", dump_document(dict(entry.values), compact=True).splitlines())
    _print_part(console, "Sources", [f"{key}: {' '.join(text.split())}" for key, text in entry.sources.items()])
    if len(entry.text) > len(entry.summary):
        _print_part(console, "At length", [_unwrap(paragraph) for paragraph in entry.text.split("\n\n")])
    return 0


def _print_part(console: Console, title: str, lines: list[str]) -> None:
    """Print lines below a title, indented; nothing where there are none."""
    from rich.padding import Padding

    if lines:
        console.print(f"\n{title}:", style="dim")
        for text in _texts(*lines):
            console.print(Padding(text, (0, 0, 0, 2)))


def _unwrap(paragraph: str) -> str:
    """A paragraph as one line, but for what is indented."""
    return paragraph if "\n " in paragraph else " ".join(paragraph.split())


def _texts(*cells: str) -> list[Text]:
    """Cells as plain text, in which brackets are no markup."""
    from rich.text import Text

    return [Text(cell) for cell in cells]


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0, max_width=30 if column == "numbers from" else None)
    return table
