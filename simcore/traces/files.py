"""Trace files: `PREFIX.<rank>.et`, beside them `PREFIX.comm_groups.json`."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from simcore.astra.files.chakra import parse_trace, read_bytes, read_count, write_trace
from simcore.astra.files.errors import AstraInputError
from simcore.document.problem import InputError, Problem
from simcore.traces.base import Trace, TraceSet, refuse
from simcore.traces.complete import check_complete, check_nodes, speaks_of_ranks

GROUPS = "comm_groups.json"
MOST_RANKS = 100_000
"""Ranks of which files are written, or looked for, at most."""
_UNSAID = "nothing in the files says of how many ranks they are"


def write_traces(traces: TraceSet, prefix: Path) -> tuple[Path, ...]:
    """Write the files of all ranks, then groups and documents; the paths.

    Everything is written beside the place and then moved there, so that an error while writing leaves nothing. A kill
    in the middle of the moves leaves some of the files: write them again.
    Raises `InputError` where traces of further ranks lie there already, which would be read with these.
    """
    if len(traces.ranks) > MOST_RANKS:
        refuse(str(prefix), f"at most {MOST_RANKS:,} ranks", f"{len(traces.ranks):,}")
    stale = [rank for rank in _ranks_there(prefix) if rank >= len(traces.ranks)]
    if stale:
        fix = "remove it, or write to another prefix"
        refuse(f"{prefix}.{stale[0]}.et", f"traces of {len(traces.ranks)} ranks only", "a file of another rank", fix)
    prefix.parent.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    same: dict[int, Path] = {}
    with tempfile.TemporaryDirectory(dir=prefix.parent, prefix=".traces-") as folder:
        place = Path(folder)
        for rank, nodes in enumerate(traces.ranks):
            names.append(f"{prefix.name}.{rank}.et")
            first = same.setdefault(id(nodes), place / names[-1])
            if first != place / names[-1]:
                _share(first, place / names[-1])
            else:
                write_trace(first, nodes, len(traces.ranks))
        documents = dict(traces.documents)
        if traces.groups:
            documents[GROUPS] = {str(number): list(members) for number, members in sorted(traces.groups.items())}
        for ending, document in documents.items():
            names.append(f"{prefix.name}.{ending}")
            (place / names[-1]).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        for name in names:
            os.replace(place / name, prefix.parent / name)
    if not traces.groups:
        (prefix.parent / f"{prefix.name}.{GROUPS}").unlink(missing_ok=True)
    return tuple(prefix.parent / name for name in names)


def _share(first: Path, path: Path) -> None:
    """One file under two names, for ranks that do the same; a copy where the file system cannot."""
    try:
        os.link(first, path)
    except OSError:
        shutil.copyfile(first, path)


def read_traces(prefix: Path, groups: Path | None = None) -> TraceSet:
    """Read the traces of all ranks; a single `.et` file is a trace of one rank.

    Raises `InputError` where a rank is missing, a file is no trace or cut short, or its nodes do not say what they are.
    """
    if prefix.suffix == ".et" and prefix.is_file():
        return TraceSet((_read_trace(prefix),), _read_groups(groups) if groups else {})
    ranks = _ranks_there(prefix)
    if not ranks:
        fix = f"expected {prefix.name}.0.et and so on there"
        refuse(str(prefix), "a prefix of traces, or one .et file", "no such files", fix)
    missing = sorted(set(range(max(ranks) + 1)) - set(ranks))
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        refuse(f"{prefix}.{missing[0]}.et", f"a trace of each of {max(ranks) + 1} ranks", f"none of this{more}")
    known: dict[bytes, tuple[Trace, int]] = {}
    linked: dict[tuple[int, int], tuple[Trace, int]] = {}  # by device and inode: links need no second look
    read = []
    for rank in range(len(ranks)):
        path = prefix.with_name(f"{prefix.name}.{rank}.et")
        status = path.stat()
        inode = status.st_dev, status.st_ino
        if inode not in linked:
            content = _content(path)
            if content not in known:
                known[content] = _read_trace(path, content), read_count(content, path)
            linked[inode] = known[content]
        read.append(linked[inode])
    traces = tuple(trace for trace, _ in read)
    beside = prefix.with_name(f"{prefix.name}.{GROUPS}")
    place = groups or (beside if beside.is_file() else None)
    members = _read_groups(place) if place else {}
    said = [count for _, count in read]
    check_complete(traces, members, said, prefix)
    sure = any(said) or members or speaks_of_ranks(traces)
    return TraceSet(traces, members, notes=() if sure else (f"{_UNSAID}: the {len(traces):,} here count as all",))


def _ranks_there(prefix: Path) -> list[int]:
    pattern = re.compile(re.escape(prefix.name) + r"\.(\d{1,6})\.et")
    if not prefix.parent.is_dir():
        return []
    found = (pattern.fullmatch(entry.name) for entry in os.scandir(prefix.parent))
    return sorted(int(match.group(1)) for match in found if match and int(match.group(1)) < MOST_RANKS)


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except AstraInputError as error:
        raise _as_input_error(path, error) from None


def _read_trace(path: Path, content: bytes | None = None) -> Trace:
    try:
        trace = parse_trace(read_bytes(path) if content is None else content, path)
    except AstraInputError as error:
        raise _as_input_error(path, error) from None
    check_nodes(trace, str(path))
    return trace


def _as_input_error(path: Path, error: AstraInputError) -> InputError:
    return InputError(
        [Problem((str(path),), "a readable trace", "one where " + str(error).removeprefix(f"{path}: "))], "trace"
    )


def _read_groups(path: Path) -> Mapping[int, tuple[int, ...]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        refuse(str(path), "a JSON file of communicator groups", "something else")
    if not isinstance(document, dict):
        refuse(str(path), "groups by number", f"a {type(document).__name__}")
    groups = {}
    for name, members in document.items():
        right = isinstance(members, list) and all(type(member) is int and member >= 0 for member in members)
        if not name.isdecimal() or int(name) == 0 or not right:
            refuse(str(path), 'groups such as {"1": [0, 1]}', f"group {name[:40]!r}")
        groups[int(name)] = tuple(members)
    return groups
