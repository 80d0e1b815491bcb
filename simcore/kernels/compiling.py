"""Whether kernels are being compiled, and that each is compiled by one process of a machine.

The first run of a version on a machine waits for that. Processes that begin together share the work: whoever needs a
kernel that another one is at waits for it, and reads what that one wrote. Kept apart from `simcore.compiled`, which
brings numba: whoever only asks waits for nothing.
"""

from __future__ import annotations

import contextlib
import os

try:
    import fcntl
except ImportError:  # Windows
    HAVE_LOCKS = False
else:
    HAVE_LOCKS = True

_open = 0
_begun = 0
_held: dict[str, int] = {}
"""Files that are locked, with their descriptors."""


def is_compiling() -> bool:
    """Whether a kernel is being compiled now, in any thread."""
    return _open > 0


def count() -> int:
    """How many compilations have begun, in all threads."""
    return _begun


def begin() -> None:
    """A kernel begins to be compiled; one that it calls begins inside of it."""
    global _open, _begun
    _open += 1
    _begun += 1


def end() -> None:
    """It is compiled, or its compilation failed."""
    global _open
    _open -= 1


def claim(path: str) -> None:
    """Be the only process that compiles what lies beside the file `path`, which is made; others wait in here.

    Where files cannot be locked (Windows, some shared folders) every process compiles for itself. A process that ends
    leaves no lock behind.
    """
    if not HAVE_LOCKS or path in _held:
        return
    begin()
    try:
        with contextlib.suppress(OSError):
            _held[path] = _lock(path)
    finally:
        end()


def _lock(path: str) -> int:
    """The descriptor of a file that is locked. Raises `OSError` where it cannot be."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def release(path: str) -> None:
    """Let others have it; nothing where it was not claimed."""
    descriptor = _held.pop(path, None)
    if descriptor is not None:
        os.close(descriptor)
