"""Files of a study: only those of its folder are read."""

from __future__ import annotations

from pathlib import Path

from simcore.document.problem import InputError, Problem

FILE = "study.yaml"
_MOST_BYTES = 4 << 20


def inside(folder: Path, name: str) -> Path:
    """A file that a study names; raises `InputError` where it is not one of its folder, or not there."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError([Problem((FILE,), "a file in the study's folder", f"'{name}', outside")], str(folder))
    if not path.is_file():
        raise InputError(
            [Problem((FILE,), "a file in the study's folder", f"'{name}', which is not there")], str(folder)
        )
    if path.stat().st_size > _MOST_BYTES:
        raise InputError([Problem((FILE,), f"a file of at most {_MOST_BYTES} B", f"'{name}'")], str(folder))
    return path
