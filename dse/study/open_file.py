"""A file that stays open: what is read of it later belongs to what was read first.

A file that is written anew (`dse.study.files`) takes the place of the old one; whoever has the old one open keeps it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from pathlib import Path


class OpenFile:
    """A file of lines, open for reading until nobody has this object any more, or it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, self._file.close)

    def lines(self) -> Iterator[bytes]:
        """All lines with their ends, from the first; no `line` may be asked for meanwhile."""
        self._file.seek(0)
        yield from iter(self._file.readline, b"")  # of the file itself, it would close that when ended early

    def line(self, place: int) -> bytes:
        """The line that begins at a byte, with its end."""
        with self._lock:
            self._file.seek(place)
            return self._file.readline()

    def close(self) -> None:
        """Close the file; nothing can be read of it any more."""
        self._close()
