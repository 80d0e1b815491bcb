"""Whether kernels are being compiled: the first run of a version on a machine waits for that, for half a minute.

Kept apart from `simcore.compiled`, which brings numba: whoever only asks waits for nothing.
"""

from __future__ import annotations

_open = 0


def is_compiling() -> bool:
    """Whether a kernel is being compiled now, in any thread."""
    return _open > 0


def begin() -> None:
    """A kernel begins to be compiled; one that it calls begins inside of it."""
    global _open
    _open += 1


def end() -> None:
    """It is compiled, or its compilation failed."""
    global _open
    _open -= 1
