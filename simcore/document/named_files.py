"""Files that a document names and that stay where they are, such as the files of a trace.

A document names them by a path relative to itself. When it is read the name becomes `{path, digest}`: the path as it
was written, and a digest of what is in the files. So no document says where on a machine it was made, and its files
are those with that content: where this process found them, beside the document, or in the run folder that keeps them
(`KEPT`). Whoever names files in this long form knows their content already: nothing else is ever read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simcore.document.problem import Refusal

KEPT = "files"
"""Folder in that of a run, which has a folder of files for each digest."""
MOST_BYTES = 1 << 28
"""Bytes of the different files that a name stands for."""
_LONG = {"path", "digest"}

Listed = Callable[[Path], list[Path]]
"""The files that a place stands for. Raises `Refusal` where there are none."""


class Place(NamedTuple):
    """Where files of a digest were found."""

    path: str
    """What a name led to: a file, or what the names of all begin with."""
    files: tuple[str, ...]


_places: dict[str, Place] = {}
"""Places by digest. What was found is not forgotten, and whoever reads it checks that it has the digest still."""


def find_named(name: str, folder: Path, listed: Listed) -> dict[str, str]:
    """The long form of the files called `name` in a folder.

    Raises `Refusal` where they are outside the folder, are not there, or are too large.
    """
    given = Path(name)
    place = (folder / given).resolve()
    if given.is_absolute() or ".." in given.parts or "\\" in name or not place.is_relative_to(folder):
        found, fix = f"'{name}', which is outside its folder", "put it beside the design and name it from there"
        raise Refusal("a file beside the design", found, fix)
    digest = _remember(place, listed)
    return {"path": given.as_posix(), "digest": digest}


def _remember(place: Path, listed: Listed, wanted: str | None = None) -> str:
    """The digest of the files at a place, which is known from now on; with `wanted`, only where it is that one."""
    paths = listed(place)
    digest = digest_of(read_contents(paths))
    if wanted in (None, digest):
        _places[digest] = Place(str(place), tuple(map(str, paths)))
    return digest


def find_again(named: Mapping[str, str], folder: Path, listed: Listed) -> None:
    """Look for files in the long form from a document in `folder`, which may be that of a run.

    Raises `Refusal` where none with their content are there, nor where this process has found them before.
    """
    name, digest = Path(named["path"]), named["digest"]
    others = False
    for place in (folder / KEPT / digest / name.name, folder / name):
        try:
            if _remember(place.resolve(), listed, digest) == digest:
                return
            others = True
        except Refusal:
            continue
    if digest not in _places:
        raise _changed(named["path"]) if others else _gone(named["path"])


def read_named(path: str, digest: str) -> tuple[list[Path], list[bytes]]:
    """Files in the long form, and what is in them.

    Raises `Refusal` where this process has not found them, or where they are gone or others by now.
    """
    if digest not in _places:
        raise _gone(path)
    paths = [Path(file) for file in _places[digest].files]
    contents = read_contents(paths)
    if digest_of(contents) != digest:
        raise _changed(path)
    return paths, contents


def known_places() -> dict[str, Place]:
    """Where this process found files, by digest: for other processes."""
    return dict(_places)


def know_places(places: Mapping[str, Place]) -> None:
    """Take over what another process has found."""
    _places.update({digest: place for digest, place in places.items() if digest not in _places})


def named_in(value: Any) -> Iterator[Mapping[str, str]]:
    """Every name in the long form in a document that was read."""
    if isinstance(value, Mapping):
        if is_long(value):
            yield value
        else:
            for inner in value.values():
                yield from named_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from named_in(inner)


def is_long(value: Any) -> bool:
    """Whether a part of a document is a name in the long form."""
    return (
        isinstance(value, Mapping) and value.keys() == _LONG and all(isinstance(part, str) for part in value.values())
    )


def keep(document: Any, folder: Path) -> None:
    """Copy the files that a document names into the folder of a run; equal ones take their room once.

    Raises `Refusal` where they are gone, `OSError` where they cannot be written.
    """
    for named in named_in(document):
        kept = folder / KEPT / named["digest"]
        if kept.is_dir():
            continue
        part = kept.with_name(f"{kept.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        first: dict[bytes, Path] = {}
        for path, content in zip(*read_named(named["path"], named["digest"]), strict=True):
            _write_once(part / path.name, content, first)
        part.rename(kept)


def _write_once(copy: Path, content: bytes, first: dict[bytes, Path]) -> None:
    """Write a file, as a further name of an equal one where the disk has such."""
    if content in first:
        try:
            os.link(first[content], copy)
            return
        except OSError:  # a disk without links holds it twice
            pass
    copy.write_bytes(content)
    first[content] = copy


def nearer(document: Any, folder: Path) -> Any:
    """The document as it is written into `folder`: its files are named from there, and found whatever becomes of it."""
    if is_long(document):
        place = _places.get(document["digest"])
        return {**document, "path": os.path.relpath(place.path, folder.resolve())} if place else document
    if isinstance(document, Mapping):
        return {key: nearer(value, folder) for key, value in document.items()}
    return [nearer(value, folder) for value in document] if isinstance(document, list | tuple) else document


def read_contents(paths: list[Path]) -> list[bytes]:
    """The content of each file; equal ones are one object. Raises `Refusal` where one cannot be read."""
    known: dict[bytes, bytes] = {}
    out, total = [], 0
    for path in paths:
        content = _read(path)
        if content not in known:
            known[content] = content
            total += len(content)
        if total > MOST_BYTES:
            fix = "trace fewer iterations, or layers"
            raise Refusal(f"files of at most {MOST_BYTES >> 20} MiB", f"more with '{path.name}'", fix)
        out.append(known[content])
    return out


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a device or a pipe may never end
            raise Refusal("a regular file", f"'{path.name}', which is something else", "check the path")
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Refusal("a file that can be read", f"'{path.name}': {error.strerror}") from None


def digest_of(contents: list[bytes]) -> str:
    """What identifies the content of files in an order."""
    whole = hashlib.blake2b(digest_size=16)
    for content in contents:
        whole.update(hashlib.blake2b(content, digest_size=16).digest())
    return whole.hexdigest()


def _changed(path: str) -> Refusal:
    fix = "put back what it was, or name it anew by its path alone"
    return Refusal(f"the files that '{Path(path).name}' had when the study was made", "others", fix)


def _gone(path: str) -> Refusal:
    fix = "put them beside the document, or name them anew by their path alone"
    return Refusal(f"the files of '{path}', beside the document or kept by its run", "none", fix)
