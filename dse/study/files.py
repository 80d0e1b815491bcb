"""Files of a run folder, each written whole or not at all.

A file is written under a hidden name beside its own, which says who writes it, and then takes its place. A process that
is killed in between leaves the hidden file: `sweep` removes those whose writer is gone.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterable
from pathlib import Path

_PART = re.compile(r"\..+\.(?:(?P<host>[^.]*)-)?(?P<pid>\d+)\.part")
_FORGOTTEN_SECONDS = 24 * 3600.0
"""Age from which a file of another machine, whose processes are not known here, counts as left behind."""


def part_of(path: Path) -> Path:
    """Where this process writes a file before it takes its place."""
    return path.with_name(f".{path.name}.{_host()}-{os.getpid()}.part")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the new one, whole."""
    write_pieces(path, (content,))


def write_pieces(path: Path, pieces: Iterable[bytes], durable: bool = False) -> None:
    """Write a file as `write_whole`, piece by piece; `durable`: it also outlives a power failure."""
    part = part_of(path)
    try:
        with part.open("wb") as file:
            file.writelines(pieces)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
        if durable:
            synchronise_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def synchronise_folder(folder: Path) -> None:
    """Make sure that the names in a folder outlive a power failure, where the system can open a folder."""
    if os.name == "nt":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def sweep(folder: Path) -> None:
    """Remove what killed processes have left half-written in a folder."""
    for part in folder.glob(".*.part"):
        if _abandoned(part):
            part.unlink(missing_ok=True)


def _abandoned(part: Path) -> bool:
    match = _PART.fullmatch(part.name)
    if match is None:
        return False
    if match["host"] in (None, _host()):
        return not _alive(int(match["pid"]))
    return time.time() - part.stat().st_mtime > _FORGOTTEN_SECONDS


def _alive(pid: int) -> bool:
    """Whether another process of this number runs; this one writes nothing while it sweeps."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _host() -> str:
    return socket.gethostname().partition(".")[0]
