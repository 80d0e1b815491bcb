"""Files of a trace: which they are, and what is in them (where they are: `simcore.document.named_files`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from simcore.astra.files.chakra import TraceNode, parse_trace
from simcore.astra.files.documents import read_json
from simcore.astra.files.errors import AstraInputError
from simcore.document.named_files import read_named
from simcore.document.problem import Refusal

SUFFIX = ".et"
MOST_NODES = 1_000_000
"""Nodes of the different files of a trace."""


def list_groups(place: Path) -> list[Path]:
    """A file of communicator groups. Raises `Refusal` where there is none."""
    if not place.is_file():
        raise Refusal("a file of communicator groups beside the design", f"'{place.name}', which is not there")
    return [place]


def list_ranks(prefix: Path) -> list[Path]:
    """The files of a trace, by rank; a single one is that of all ranks.

    Raises `Refusal` where there is none, or where that of a rank is missing.
    """
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


@lru_cache(maxsize=4)
def read_ranks(path: str, digest: str) -> tuple[tuple[TraceNode, ...], ...]:
    """The nodes of each rank, or of all (one entry); ranks whose files are equal have the same tuple.

    Raises `Refusal` where the files are no longer what they were, or are no traces.
    """
    paths, contents = read_named(path, digest)
    known: dict[int, tuple[TraceNode, ...]] = {}
    total = 0
    try:
        for content, rank_path in zip(contents, paths, strict=True):
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
    (place,), _ = read_named(path, digest)
    try:
        values = read_json(place).values
    except AstraInputError as error:
        raise Refusal("a file of communicator groups", str(error)) from None
    return dict(_checked_groups(values))


def _checked_groups(values: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, members in values.items():
        whole = isinstance(members, list) and all(type(member) is int and member >= 0 for member in members)
        if not whole or len(set(members)) < len(members) or not members:
            raise Refusal(f"ranks, each once, as members of group '{name}'", repr(members)[:80])
        yield str(name), tuple(members)
