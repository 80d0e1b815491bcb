"""What a part of a study runs. One file each; a measure gives numbers by name, of which expressions make values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

Numbers = dict[str, Any]
"""Numbers by name, a group of them below a name, and texts; all of it survives JSON."""


class Measure(ABC):
    """Runs one document of a study."""

    @abstractmethod
    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """What is measured of a run with some keys changed."""

    @abstractmethod
    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """What the numbers depend on, beside the code."""


def content(path: Path) -> str:
    """The content of a file, in one number."""
    return blake2b(path.read_bytes(), digest_size=8).hexdigest()
