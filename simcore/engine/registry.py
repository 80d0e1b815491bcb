"""Engines by name: the built-in ones, and any callable `Design -> Result` of an installed module."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from simcore.design.design import Design
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.result import Result

BUILT_IN = ("auto", "fast", "flow", "packets", "reference", "reference_links")
QUICK = ("auto", "fast", "flow")
"""Engines that take milliseconds a design, so that they are asked again without a word; their results play phases."""
PROVABLE = (*QUICK, "reference")
"""Engines that play the model which bounds are proved of, and are never faster.

Bounds on time are made of phases. `reference_links` and `packets` play messages, which may be faster: an NPU goes on
with its next step while others are still in the last one, and hashes of packets fall otherwise than those of messages.
"""


def engine_named(name: str) -> str | Callable[[Design], Result]:
    """The engine called `name`: one of `BUILT_IN`, or `package.module:function`.

    Raises `InputError` where there is none.
    """
    if name in BUILT_IN:
        return name
    module_name, colon, function_name = name.partition(":")
    what = f"{', '.join(BUILT_IN)}, or package.module:function"
    if not colon or not module_name or not function_name:
        raise InputError([Problem(("--engine",), what, f"'{name}'", suggest_nearest(name, BUILT_IN))], "command line")
    try:
        engine = getattr(import_module(module_name), function_name)
    except ImportError as error:
        fix = "install it, or put its folder on PYTHONPATH"
        raise InputError([Problem(("--engine",), what, f"'{name}' ({error})", fix)], "command line") from None
    except AttributeError:
        found = f"'{name}', where '{module_name}' has no '{function_name}'"
        raise InputError([Problem(("--engine",), what, found)], "command line") from None
    if not callable(engine):
        raise InputError([Problem(("--engine",), "a callable Design -> Result", f"'{name}'")], "command line")
    function: Callable[[Design], Result] = engine
    return function
