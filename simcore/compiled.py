"""`compiled` and `inlined`: numba's `njit` where numba is installed, the plain function where it is not.

A compiled function is cached on disk. An inlined one becomes part of its caller before compilation: a call between
compiled functions that share arrays costs more than the few loads and stores inside. Kernels take arrays and numbers
only, so that a cache written by an older version never names a class that is gone.

numba's cache looks at the file of a function, and not at what the function calls: after a change in one file it would
join new machine code with old, which crashes. So a kernel's stamp here is the code of all kernels it reaches and the
constants they use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

try:
    from numba import njit
except ImportError:
    HAVE_NUMBA = False

    def compiled(function: F) -> F:
        """Without numba: the same function, slower."""
        return function

    inlined = compiled

else:
    HAVE_NUMBA = True

    def compiled(function: F) -> F:
        """With numba: compiled at the first call, cached on disk until it or a kernel it calls changes."""
        machine_code: Any = njit(cache=True, error_model="numpy")(function)
        if machine_code is not function:  # NUMBA_DISABLE_JIT gives the function back
            machine_code._cache._cache_file._source_stamp = content(cast("FunctionType", function))
        return cast("F", machine_code)

    def inlined(function: F) -> F:
        """With numba: part of its compiled caller."""
        machine_code: Any = njit(inline="always", error_model="numpy")(function)
        return cast("F", machine_code)


def content(function: FunctionType) -> str:
    """Digest of a kernel: its code, the numbers it takes from its module, and the kernels it calls."""
    code = function.__code__
    parts = [code.co_code.hex(), repr(code.co_consts)]
    for name in code.co_names:
        value: Any = function.__globals__.get(name)
        if isinstance(value, int | float):
            parts.append(f"{name}={value}")
        elif hasattr(value, "py_func"):
            parts.append(content(value.py_func))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
