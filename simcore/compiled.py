"""`compiled`, `borrowing`, `inlined`, `merged`: numba's `njit` where numba is installed, else the plain function.

A compiled function is cached on disk, and compiled by one process of a machine at a time (`kernels.compiling`). One
that is `borrowing` or `inlined` makes no arrays and keeps none: what it is given lives as long as its caller, so it
counts no references, which would cost more than the few loads and stores of most kernels. What a kernel calls is linked
into its machine code, and optimised with it once (`kernels.linked`); what is inlined always becomes part of its callers
there, and has no cache of its own. What is merged becomes part of its only caller's source.
Kernels take arrays and numbers only, so that a cache written by an older version never names a class that is gone.

numba's cache looks at the file of a function, and not at what the function calls: after a change in one file it would
join new machine code with old, which crashes. So a kernel's stamp here is the code of all kernels it reaches, in which
modules they lie, how they are compiled, and the constants they use. The files of machine code are named by it.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from glob import escape
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar, cast

from simcore.kernels import compiling

F = TypeVar("F", bound=Callable[..., Any])

try:
    from numba import njit
    from numba.core import config, event
    from numba.core.caching import FunctionCache

    from simcore.kernels.linked import Kernel
except ImportError:
    HAVE_NUMBA = False

    def compiled(function: F) -> F:
        """Without numba: the same function, slower."""
        return function

    borrowing = inlined = merged = compiled

    def is_ready(kernel: Any) -> bool:
        """Without numba nothing is compiled."""
        return True

else:
    HAVE_NUMBA = True

    class _Compilations(event.Listener):
        """Tells `simcore.kernels.compiling` of compilations; what is read from the disk is over at once.

        Meanwhile nothing looks for garbage: what numba makes is kept until the kernel is compiled.
        """

        depth = 0  # numba compiles in one thread at a time
        collects = False

        def on_start(self, event: Any) -> None:
            compiling.begin()
            if self.depth == 0:
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            compiling.end()
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()
            cache = event.data["dispatcher"]._cache
            if sys.exc_info()[0] is not None and isinstance(cache, _SharedCache):  # `is_failed` of numba says otherwise
                cache.release()

    event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]  # numba is untyped
    UNCOUNTED: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
    """Without numba's runtime, which makes arrays and counts references to them."""

    _Cache: Any = FunctionCache  # numba is untyped

    class _SharedCache(_Cache):  # type: ignore[misc]
        """A cache that one process fills at a time: the others wait, and read what it wrote."""

        kernel: Any

        def stamp(self) -> None:
            """Keep what has the kernel's digest, in files of their own names.

            Not before the kernel is asked for: what it calls may be defined after it. numba writes the index first, and
            numbers its files from one for each stamp: a process that is killed in between, or one of another version,
            would leave its index before another one's machine code.
            """
            self._cache_file._source_stamp = self.digest
            self._cache_file._data_name_pattern = f"{self._stem}.{self.digest[:16]}.{{number:d}}.nbc"

        @cached_property
        def digest(self) -> str:
            """The stamp of the kernel, which is the one that has this cache."""
            return kernel_digest(self.kernel)

        @property
        def _stem(self) -> str:
            return str(self._cache_file._index_name).removesuffix(".nbi")

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            self.stamp()
            found = super().load_overload(sig, target_context)
            if found is None:
                compiling.claim(self._lock_path)
                found = super().load_overload(sig, target_context)
                if found is not None:
                    self.release()
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
                self._remove_old()
            finally:
                self.release()

        def _remove_old(self) -> None:
            """Remove the machine code of other versions of the kernel."""
            folder = Path(self._cache_file._cache_path)
            of_now = f"{self._stem}.{self.digest[:16]}."
            for path in folder.glob(f"{escape(self._stem)}.*.nbc"):
                if not path.name.startswith(of_now):
                    with contextlib.suppress(OSError):  # another process was quicker
                        path.unlink()

        def release(self) -> None:
            """Let others compile."""
            compiling.release(self._lock_path)

        @property
        def _lock_path(self) -> str:
            return f"{self._cache_file._index_path}.lock"

    def is_ready(kernel: Any) -> bool:
        """Whether the disk has machine code of a kernel, so that nobody waits for it."""
        cache = getattr(kernel, "_cache", None)
        if not isinstance(cache, _SharedCache):
            return True
        cache.stamp()
        return bool(cache._cache_file._load_index())

    def compiled(function: F) -> F:
        """With numba: compiled at the first call, cached on disk until it or a kernel it calls changes."""
        return _cached(function, {"error_model": "numpy"})

    def borrowing(function: F) -> F:
        """With numba: as `compiled`, for what makes no arrays; numba refuses to compile what does."""
        return _cached(function, UNCOUNTED)

    def inlined(function: F) -> F:
        """With numba: part of its compiled callers, for what makes no arrays."""
        return _kernel(function, {"forceinline": True, **UNCOUNTED})

    def merged(function: F) -> F:
        """With numba: part of its only caller before that is compiled."""
        part: Any = njit(inline="always", error_model="numpy")(function)
        return cast("F", part)

    def _kernel(function: F, options: dict[str, Any]) -> F:
        """The function where NUMBA_DISABLE_JIT says so, else a kernel."""
        off = config.DISABLE_JIT  # type: ignore[attr-defined]  # numba is untyped
        return function if off else cast("F", Kernel(function, options))

    def _cached(function: F, options: dict[str, Any]) -> F:
        """A kernel with a cache that follows what it calls."""
        kernel: Any = _kernel(function, options)
        if kernel is not function:
            kernel.enable_caching()
            kernel._cache.__class__ = _SharedCache  # a second one would look at the disk again, for each kernel
            kernel._cache.kernel = kernel
        return cast("F", kernel)


def kernel_digest(kernel: Any) -> str:
    """Digest of a kernel: its module, which the cache imports, its code, how it is compiled, what it takes from there.

    That is numbers, and the kernels that it calls, from modules that it names, too.
    """
    function = getattr(kernel, "py_func", kernel)
    options = repr(sorted(getattr(kernel, "targetoptions", {}).items()))
    parts = [function.__module__, options, *_code_parts(function.__code__, function.__globals__)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _code_parts(code: CodeType, names: Mapping[str, Any]) -> Iterator[str]:
    yield code.co_code.hex()
    for constant in code.co_consts:  # a comprehension is code, whose text names an address
        yield from _code_parts(constant, names) if isinstance(constant, CodeType) else (repr(constant),)
    modules = [value for name in code.co_names if isinstance(value := names.get(name), ModuleType)]
    for name in code.co_names:
        for value in (names.get(name), *(getattr(module, name, None) for module in modules)):
            if isinstance(value, int | float):
                yield f"{name}={value}"
            elif hasattr(value, "py_func"):
                yield kernel_digest(value)
