"""Kernels that are optimised once: what a kernel calls is lowered only, and linked into what Python calls.

numba optimises each function together with all that it calls, and makes machine code of it, before it looks at the
callers of that; a function at the end of a long chain of calls is optimised once for each link. Only what Python calls
needs machine code. So a `Kernel` is compiled in two ways: as a whole for Python, and as a *part* for other kernels,
which is what numba lowers it to. A whole is linked with the parts that it reaches, and all of it is optimised together.

This takes nothing from numba but its own ways to extend it: a dispatcher, its compiler, and the compiler's library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]  # numba is untyped
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.registry import CPUDispatcher

_Library: Any = JITCodeLibrary
_Compiler: Any = Compiler
_Dispatcher: Any = CPUDispatcher
_AnyFlags: Any = Flags

UNUSED = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteSemanticConstants",
    "DeadBranchPrune",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NoPythonSupportedFeatureValidation",
    "DumpParforDiagnostics",
}
"""Steps of numba's compiler for what is in no kernel that makes no arrays: closures, contexts, types by value.

Each of them reads all of a function, and what comes of it is the same without them.
"""


class _Flags(_AnyFlags):  # type: ignore[misc]
    """Flags that are cheap to compare: numba does so for each operation, and would list all that can be set."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return bool(self._values == other._values if isinstance(other, _Flags) else super().__eq__(other))


class _PartLibrary(_Library):  # type: ignore[misc]
    """What a part is lowered to. Nothing more is done to it: whoever links it does the rest."""

    def finalize(self) -> None:
        self._finalized = True


class _WholeLibrary(_Library):  # type: ignore[misc]
    """A whole with all parts that it reaches."""

    def finalize(self) -> None:
        self._linking_libraries: list[Any] = _callers_first(self._linking_libraries)
        super().finalize()


def _callers_first(libraries: Iterable[Any]) -> list[Any]:
    """The libraries and all that their parts need, each after whatever calls it.

    LLVM takes from a module what is missing by then, and leaves the rest.
    """
    seen: set[Any] = set()
    callees_first: list[Any] = []

    def visit(library: Any) -> None:
        if library in seen:
            return
        seen.add(library)
        if isinstance(library, _PartLibrary):
            for called in library._linking_libraries:
                visit(called)
        callees_first.append(library)

    for library in libraries:
        visit(library)
    return callees_first[::-1]


class _PartCompiler(_Compiler):  # type: ignore[misc]
    """Lowers a kernel for its callers."""

    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        if not self.state.flags.nrt:  # makes no arrays
            for steps in pipelines:
                steps.passes = [step for step in steps.passes if step[0].__name__ not in UNUSED]
                steps.finalize()
        return pipelines

    def _compile_core(self) -> Any:
        state = self.state
        state.flags = _Flags(state.flags)
        state.flags.no_compile = True
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        lowered = super()._compile_core()
        its = lowered.fndesc
        name = its.qualname.split(".")[-1]
        key = _dynfunc.make_function(its.lookup_module(), name, "", 0, lowered.environment, (lowered.library,))
        state.targetctx.insert_user_function(key, its, [lowered.library])
        return lowered._replace(entry_point=key)


class _WholeCompiler(_Compiler):  # type: ignore[misc]
    """Compiles a kernel for Python."""

    def _compile_core(self) -> Any:
        state = self.state
        state.flags = _Flags(state.flags)
        state.library = _WholeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super()._compile_core()


class Kernel(_Dispatcher):  # type: ignore[misc]
    """A function that is compiled as a whole for Python, and as a part for other kernels."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        options = {"nopython": True, "no_cfunc_wrapper": True, **options}
        super().__init__(function, targetoptions=options, pipeline_class=_WholeCompiler)

    @cached_property
    def _part(self) -> Any:
        options = {**self.targetoptions, "no_cpython_wrapper": True}
        return _Dispatcher(self.py_func, targetoptions=options, pipeline_class=_PartCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What the caller has to know of the types, by which it is compiled."""
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """What the caller calls."""
        return self._part.get_overload(sig)
