"""Files of a study: only those of its folder are read, and all that is wrong in them is told at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simcore.document.problem import InputError, Refusal

FILE = "study.yaml"
_MOST_BYTES = 4 << 20


def inside(folder: Path, name: str) -> Path:
    """A file that a study names; raises `Refusal` where it is not one of its folder, or not there."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise Refusal("a file in the study's folder", f"'{name}', outside")
    if not path.is_file():
        raise Refusal("a file in the study's folder", f"'{name}', which is not there")
    if path.stat().st_size > _MOST_BYTES:
        raise Refusal(f"a file of at most {_MOST_BYTES} B", f"'{name}'")
    return path


class SeveralFilesError(InputError):
    """What is wrong in several files, each with its own list of problems."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__([problem for error in errors for problem in error.problems], errors[0].source)
        self.args = ("\n".join(dict.fromkeys(map(str, errors))),)


def raise_all(errors: Sequence[InputError]) -> None:
    """Raise what is wrong, if anything is."""
    if errors:
        raise errors[0] if len(errors) == 1 else SeveralFilesError(errors)
