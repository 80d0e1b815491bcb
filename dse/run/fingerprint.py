"""Fingerprints of the code that a run's numbers come from: what another model says is no bound of them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import simcore
from dse import proof

_SOURCES = (".py", ".yaml", ".csv", ".json")


def model_fingerprint() -> str:
    """Fingerprint of the simulator and its catalogue."""
    return _fingerprint(_folder(simcore.__file__))


def proof_fingerprint() -> str:
    """Fingerprint of the code that proves bounds."""
    return _fingerprint(_folder(proof.__file__))


def _folder(file: str | None) -> Path:
    assert file is not None
    return Path(file).parent


@cache
def _fingerprint(folder: Path) -> str:
    """Fingerprint of the sources in a folder, by their names and contents."""
    found = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES):
        found.update(f"{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return found.hexdigest()
