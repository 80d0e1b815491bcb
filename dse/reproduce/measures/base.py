"""What a part of a study runs. One file each; a measure gives numbers by name, of which expressions make values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.reproduce.files import inside
from simcore.document.problem import Refusal

if TYPE_CHECKING:
    from simcore.design.design import Design

Numbers = dict[str, Any]
"""Numbers by name, a group of them below a name, and texts; all of it survives JSON."""


@dataclass(frozen=True, slots=True)
class Case:
    """A run that was read: what it depends on is known, and it can be measured."""

    identity: str
    """What the numbers depend on, beside the code."""
    numbers: Callable[[], Numbers]
    """Measures."""


class Measure(ABC):
    """Runs one document of a study."""

    @abstractmethod
    def read(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Case:
        """A run with some keys changed; raises `InputError` or `Refusal` where it cannot be."""


def measure_of(run: Mapping[str, Any], measures: Mapping[str, Measure]) -> Measure:
    """What runs `run`, by the key of it that says so; raises `Refusal` where nothing does."""
    for key, measure in measures.items():
        if key in run:
            return measure
    raise Refusal(f"one of {', '.join(measures)}", ", ".join(run) or "nothing")


def changed_design(folder: Path, name: str, changes: Mapping[str, Any]) -> Design:
    """A design of a study's folder with some keys changed."""
    from simcore.check.load import load_design

    design = load_design(inside(folder, name))
    return design.with_(dict(changes)) if changes else design


def content(path: Path) -> str:
    """The content of a file, in one number."""
    return blake2b(path.read_bytes(), digest_size=8).hexdigest()
