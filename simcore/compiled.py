"""`compiled` and `inlined`: numba's `njit` where numba is installed, the plain function where it is not.

A compiled function is cached on disk. An inlined one becomes part of its caller before compilation: a call between
compiled functions that share arrays costs more than the few loads and stores inside. Kernels take arrays and numbers
only, so that a cache written by an older version never names a class that is gone.
"""

from __future__ import annotations

from collections.abc import Callable
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
        """With numba: compiled at the first call, cached on disk."""
        machine_code: Any = njit(cache=True, error_model="numpy")(function)
        return cast("F", machine_code)

    def inlined(function: F) -> F:
        """With numba: part of its compiled caller."""
        machine_code: Any = njit(inline="always", error_model="numpy")(function)
        return cast("F", machine_code)
