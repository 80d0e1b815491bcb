"""Gives memory that is free again back to the system, so that a process takes what it uses.

Cycles of objects wait until Python looks for them; Arrow keeps freed memory for the next columns, and glibc what lies
between blocks that are still used. After a search, or between two parts of a report, nobody needs it soon.
"""

from __future__ import annotations

import ctypes
import gc
import sys


def give_back() -> None:
    """Give back what Python, Arrow and (on Linux) the C library hold and do not use; takes some tenths of a second."""
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
