"""A run folder has one driver at a time: another one would take lines out of a journal that is being written."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from simcore.document.problem import InputError, InputWarning, Problem

if TYPE_CHECKING:
    from filelock import FileLock

_LOCK = ".driver.lock"


class FolderLock:
    """The right to write into a folder. It ends with the process, however that ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: FileLock | None = None

    def acquire(self) -> None:
        """Take the right, if it was not taken yet. Raises `InputError` where another driver has it.

        Warns (`InputWarning`) where the file system has no locks.
        """
        if self._lock is not None:
            return
        import filelock

        lock = filelock.FileLock(self._folder / _LOCK)
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            fix = "wait until it ends, or choose another folder with --out"
            raise InputError(
                [Problem((), "a folder that no other run writes to", "one that does", fix)], str(self._folder)
            ) from None
        except OSError as error:
            told = (
                f"{self._folder}: cannot be locked ({error.strerror or error}); no other run may write to it meanwhile"
            )
            warnings.warn(told, InputWarning, stacklevel=2)
            return
        self._lock = lock

    def follow(self, folder: Path) -> None:
        """The folder has another name now."""
        self._folder = folder

    def release(self) -> None:
        """Give the right back, if it was taken, and leave nothing in the folder."""
        if self._lock is not None:
            with suppress(PermissionError):  # of Windows, where an open file stays
                (self._folder / _LOCK).unlink(missing_ok=True)  # while it is locked: who waits for it makes a new one
            self._lock.release()
            self._lock = None

    @classmethod
    @contextmanager
    def held(cls, folder: Path) -> Iterator[FolderLock]:
        """The right to write into a folder for a while. Raises `InputError` as `acquire`."""
        lock = cls(folder)
        lock.acquire()
        try:
            yield lock
        finally:
            lock.release()
