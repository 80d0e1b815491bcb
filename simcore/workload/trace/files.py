"""Files of a trace: where they are, what identifies them, what is in them.

A document names a trace by a path relative to itself. When it is read the name becomes `{path, digest}`: the path made
absolute, and a digest of all its files. So a stored study is small, and finds its trace as long as that is where it was
and what it was. Whoever names files in this long form knows their content already: nothing else is ever read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from simcore.astra.files.chakra import TraceNode, parse_trace, read_bytes
from simcore.astra.files.documents import read_json
from simcore.astra.files.errors import AstraInputError
from simcore.document.problem import Refusal

SUFFIX = ".et"
MOST_BYTES = 1 << 28
"""Bytes of the different files of a trace."""
MOST_NODES = 1_000_000
"""Nodes of the different files of a trace."""


def find_trace(name: str, folder: Path) -> dict[str, str]:
    """The long form of the trace called `name` in a folder.

    Raises `Refusal` where it is outside the folder, is not there, misses a rank, or is too large.
    """
    prefix = _inside(name, folder)
    return {"path": str(prefix), "digest": _digest(_contents(_files(prefix)))}


def find_groups(name: str, folder: Path) -> dict[str, str]:
    """The long form of the file of communicator groups called `name` in a folder; raises as `find_trace`."""
    path = _inside(name, folder)
    if not path.is_file():
        raise Refusal("a file of communicator groups beside the design", f"'{path.name}', which is not there")
    return {"path": str(path), "digest": _digest([_read(path)])}


def _inside(name: str, folder: Path) -> Path:
    given = Path(name)
    path = (folder / given).resolve()
    if given.is_absolute() or ".." in given.parts or "\\" in name or not path.is_relative_to(folder):
        found, fix = f"'{name}', which is outside its folder", "put it beside the design and name it from there"
        raise Refusal("a trace beside the design", found, fix)
    return path


def _files(prefix: Path) -> list[Path]:
    """The files of a trace, by rank; a single one is that of all ranks."""
    if prefix.suffix == SUFFIX and prefix.is_file():
        return [prefix]
    pattern = re.compile(re.escape(prefix.name) + r"\.(0|[1-9]\d*)\.et")
    beside = prefix.parent.iterdir() if prefix.parent.is_dir() else ()
    found = {int(match[1]): path for path in beside if (match := pattern.fullmatch(path.name))}
    if not found:
        expected = "files PREFIX.<rank>.et, one for each NPU, or one .et file for all"
        raise Refusal(expected, f"none of '{prefix.name}'", "check the path: it is relative to the document")
    missing = next((rank for rank in range(len(found)) if rank not in found), None)
    if missing is not None:
        found_text = f"ranks up to {max(found)} without rank {missing} ('{prefix.name}.{missing}.et')"
        raise Refusal("a file for every rank from 0 on", found_text, "add the missing file")
    folder = prefix.parent
    outside = next((path.name for path in found.values() if not path.resolve().is_relative_to(folder)), None)
    if outside:
        raise Refusal("a trace beside the design", f"'{outside}', which leads outside its folder")
    return [found[rank] for rank in range(len(found))]


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except AstraInputError as error:
        raise Refusal("a file that can be read", str(error)) from None


def _contents(paths: list[Path]) -> list[bytes]:
    """The content of each file; equal ones are one object."""
    known: dict[bytes, bytes] = {}
    out, total = [], 0
    for path in paths:
        content = _read(path)
        if content not in known:
            known[content] = content
            total += len(content)
        if total > MOST_BYTES:
            raise Refusal(f"a trace of at most {MOST_BYTES >> 20} MiB", "more", "trace fewer iterations, or layers")
        out.append(known[content])
    return out


def _digest(contents: list[bytes]) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for content in contents:
        whole.update(hashlib.blake2b(content, digest_size=16).digest())
    return whole.hexdigest()


@lru_cache(maxsize=4)
def read_ranks(path: str, digest: str) -> tuple[tuple[TraceNode, ...], ...]:
    """The nodes of each rank, or of all (one entry); ranks whose files are equal have the same tuple.

    Raises `Refusal` where the files are no longer what they were, or are no traces.
    """
    contents = _contents(_files(Path(path)))
    _check_digest(path, digest, contents)
    known: dict[int, tuple[TraceNode, ...]] = {}
    total = 0
    try:
        for content, rank_path in zip(contents, _files(Path(path)), strict=True):
            if id(content) not in known:
                nodes = known[id(content)] = parse_trace(content, Path(rank_path.name))
                total += len(nodes)
                if total > MOST_NODES:
                    fix = "trace fewer iterations, or layers"
                    raise Refusal(f"a trace of at most {MOST_NODES:,} different nodes", "more", fix)
    except AstraInputError as error:
        raise Refusal("a Chakra trace", str(error)) from None
    return tuple(known[id(content)] for content in contents)


@lru_cache(maxsize=4)
def read_groups(path: str, digest: str) -> Mapping[str, tuple[int, ...]]:
    """The members of each communicator group of a file; raises as `read_ranks`."""
    _check_digest(path, digest, [_read(Path(path))])
    try:
        values = read_json(Path(path)).values
    except AstraInputError as error:
        raise Refusal("a file of communicator groups", str(error)) from None
    return dict(_checked_groups(values))


def _checked_groups(values: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, members in values.items():
        whole = isinstance(members, list) and all(type(member) is int and member >= 0 for member in members)
        if not whole or len(set(members)) < len(members) or not members:
            raise Refusal(f"ranks, each once, as members of group '{name}'", repr(members)[:80])
        yield str(name), tuple(members)


def _check_digest(path: str, digest: str, contents: list[bytes]) -> None:
    if _digest(contents) != digest:
        fix = "put back what it was, or name it anew by its path alone"
        raise Refusal(f"the files that '{Path(path).name}' had when the study was made", "others", fix)
