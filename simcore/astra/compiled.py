"""The seam to numba: `compiled` turns a kernel into machine code, or leaves it as it is.

The kernels are plain Python over integer arrays. With numba installed they run some hundred times
faster; without it they give the same integers, slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

try:
    from numba import njit
except ImportError:  # numba is optional: the kernels are valid Python
    HAVE_NUMBA = False

    def compiled(kernel: _Kernel) -> _Kernel:
        """Return the kernel unchanged (numba is not installed)."""
        return kernel

else:
    HAVE_NUMBA = True

    def compiled(kernel: _Kernel) -> _Kernel:
        """Compile the kernel on its first call and keep the machine code on disk."""
        return cast(_Kernel, njit(cache=True)(kernel))
