"""`compiled`, `borrowing` and `inlined`: numba's `njit` where numba is installed, the plain function where it is not.

A compiled function is cached on disk. One that is `borrowing` or `inlined` makes no arrays and keeps none: what it is
given lives as long as its caller, so it counts no references, which would cost more than the few loads and stores of
most kernels. What is inlined becomes part of its callers' machine code and has no cache of its own. Kernels take arrays
and numbers only, so that a cache written by an older version never names a class that is gone.

numba's cache looks at the file of a function, and not at what the function calls: after a change in one file it would
join new machine code with old, which crashes. So a kernel's stamp here is the code of all kernels it reaches, in which
modules they lie, how they are compiled, and the constants they use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

from simcore import compiling

F = TypeVar("F", bound=Callable[..., Any])

try:
    from numba import njit
    from numba.core import event
except ImportError:
    HAVE_NUMBA = False

    def compiled(function: F) -> F:
        """Without numba: the same function, slower."""
        return function

    borrowing = inlined = compiled

else:
    HAVE_NUMBA = True

    class _Compilations(event.Listener):
        """Tells `simcore.compiling` of compilations; what is read from the disk is over at once."""

        def on_start(self, event: Any) -> None:
            compiling.begin()

        def on_end(self, event: Any) -> None:
            compiling.end()

    event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]  # numba is untyped
    UNCOUNTED: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
    """Without numba's runtime, which makes arrays and counts references to them."""

    def compiled(function: F) -> F:
        """With numba: compiled at the first call, cached on disk until it or a kernel it calls changes."""
        return _stamped(function, njit(cache=True, error_model="numpy")(function))

    def borrowing(function: F) -> F:
        """With numba: as `compiled`, for what makes no arrays; numba refuses to compile what does."""
        return _stamped(function, njit(cache=True, **UNCOUNTED)(function))

    def inlined(function: F) -> F:
        """With numba: part of its compiled callers, for what makes no arrays."""
        machine_code: Any = njit(forceinline=True, **UNCOUNTED)(function)
        return cast("F", machine_code)

    def _stamped(function: F, machine_code: Any) -> F:
        """The kernel with its stamp where numba looks for the time of its file."""
        if machine_code is not function:  # NUMBA_DISABLE_JIT gives the function back
            machine_code._cache._cache_file._source_stamp = kernel_digest(machine_code)
        return cast("F", machine_code)


def kernel_digest(kernel: Any) -> str:
    """Digest of a kernel: its module, which the cache imports, its code, how it is compiled, what it takes from there.

    That is numbers, and the kernels that it calls.
    """
    function = getattr(kernel, "py_func", kernel)
    code = function.__code__
    parts = [
        function.__module__,
        code.co_code.hex(),
        repr(code.co_consts),
        repr(sorted(getattr(kernel, "targetoptions", {}).items())),
    ]
    for name in code.co_names:
        value: Any = function.__globals__.get(name)
        if isinstance(value, int | float):
            parts.append(f"{name}={value}")
        elif hasattr(value, "py_func"):
            parts.append(kernel_digest(value))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
