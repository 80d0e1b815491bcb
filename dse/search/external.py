"""A sampler of Optuna, OptunaHub or anyone else: `package.module:Class`, or `optunahub:samplers/NAME:Class`.

The class is called with `seed=` where it takes one, and must be an `optuna.samplers.BaseSampler`. Only the command line
may name one: a file must not choose code to run. What it cannot do shows in a rehearsal, before there is a run folder.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import optuna

from dse.search.optuna_sampler import OptunaSampler
from dse.space.space import Space
from simcore.document.problem import InputError, Problem

WHAT = "package.module:Class of an Optuna sampler, or optunahub:samplers/NAME:Class"
HUB = "optunahub:"
REHEARSED = 12
"""Trials of a rehearsal: more than the random ones that Optuna's samplers begin with."""


def sampler_named(name: str, space: Space, seed: int) -> OptunaSampler:
    """The sampler at import path `name`, or of OptunaHub.

    It gets degrees and shares as weights, or by index where it cannot do with weights. Raises `InputError` where it
    cannot be imported, is no sampler of Optuna, needs arguments other than a seed, or fails in a rehearsal.
    """
    make = _maker(name, seed)
    try:
        OptunaSampler(space, make(), smooth=True).rehearse(REHEARSED)
    except InputError as refused:
        try:
            OptunaSampler(space, make(), smooth=False).rehearse(REHEARSED)
        except InputError:
            raise refused from None
        return OptunaSampler(space, make(), smooth=False)
    return OptunaSampler(space, make(), smooth=True)


def _maker(name: str, seed: int) -> Callable[[], Any]:
    module_name, _, class_name = name.rpartition(":")
    module = _load_from_hub(name, module_name) if name.startswith(HUB) else _import_module(name, module_name)
    made = getattr(module, class_name, None)
    if made is None:
        raise _problem(f"'{name}', where '{module_name}' has no '{class_name}'")
    if not isinstance(made, type) or not issubclass(made, optuna.samplers.BaseSampler):
        raise _problem(f"'{name}', which is no optuna.samplers.BaseSampler")
    known = inspect.signature(made).parameters
    seeded: dict[str, Any] = {"seed": seed} if "seed" in known else {}

    def make() -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return made(**seeded)
        except (TypeError, ImportError) as error:
            fix = "wrap it in a class of your own that needs no arguments, and name that"
            raise _problem(f"'{name}', which cannot be made ({error})", fix) from None

    return make


def _import_module(name: str, module_name: str) -> ModuleType:
    try:
        return import_module(module_name)
    except ImportError as error:
        raise _problem(f"'{name}' ({error})", "install it, or put its folder on PYTHONPATH") from None
    except ValueError:
        raise _problem(f"'{name}', which names no module") from None


def _load_from_hub(name: str, module_name: str) -> ModuleType:
    """A package of OptunaHub, downloaded unless it was before."""
    try:
        hub = import_module("optunahub")
    except ImportError:
        raise _problem(f"'{name}' without OptunaHub", "pip install optunahub (extra 'hub')") from None
    package = module_name.removeprefix(HUB)
    try:
        found: ModuleType = hub.load_module(package)
    except Exception as error:  # of git, the network, the package itself
        said = " ".join(str(error).split())[:200]
        fix = "look at its name, at the network, and at what it needs to be installed"
        raise _problem(f"'{name}', where '{package}' cannot be had ({type(error).__name__}: {said})", fix) from None
    return found


def _problem(found: str, fix: str = "") -> InputError:
    return InputError([Problem(("--sampler",), WHAT, found, fix)], "command line")
