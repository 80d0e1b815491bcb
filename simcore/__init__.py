"""Simulate one design: a training job on a cluster, layer by layer, in integer picoseconds.

    >>> from simcore import load_design, simulate
    >>> result = simulate(load_design("design.yaml"))      # doctest: +SKIP
    >>> result.iteration_time_s                            # doctest: +SKIP

`simcore` knows nothing of search; see `dse`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcore.bound import bound as bound
    from simcore.check import check as check
    from simcore.design import Design as Design
    from simcore.load import load_design as load_design
    from simcore.problem import InputError as InputError
    from simcore.result import Result as Result
    from simcore.simulate import simulate as simulate

_HOME = {
    "Design": "design",
    "InputError": "problem",
    "Result": "result",
    "bound": "bound",
    "check": "check",
    "load_design": "load",
    "simulate": "simulate",
}
__all__ = ["Design", "InputError", "Result", "bound", "check", "load_design", "simulate"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `dse --help` pays for none of them."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"simcore.{_HOME[name]}"), name)
    raise AttributeError(f"module 'simcore' has no attribute '{name}'")
