"""A sampler of Optuna, OptunaHub or anyone else by its import path: `package.module:Class`.

The class is called with `seed=` where it takes one, and must be an `optuna.samplers.BaseSampler`. Only the command line
may name one: a file must not choose code to run.
"""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from typing import Any

import optuna

from dse.search.optuna_sampler import OptunaSampler
from dse.space import Space
from simcore.problem import InputError, Problem

WHAT = "package.module:Class of an Optuna sampler"


def named(name: str, space: Space, seed: int) -> OptunaSampler:
    """The sampler at import path `name`.

    Raises `InputError` where it cannot be imported, is no sampler of Optuna, or needs arguments other than a seed.
    """
    module_name, _, class_name = name.partition(":")
    try:
        made = getattr(import_module(module_name), class_name)
    except ImportError as error:
        raise _problem(f"'{name}' ({error})", "install it, or put its folder on PYTHONPATH") from None
    except (AttributeError, ValueError):
        raise _problem(f"'{name}', where '{module_name}' has no '{class_name}'") from None
    if not isinstance(made, type) or not issubclass(made, optuna.samplers.BaseSampler):
        raise _problem(f"'{name}', which is no optuna.samplers.BaseSampler")
    known = inspect.signature(made).parameters
    seeded: dict[str, Any] = {"seed": seed} if "seed" in known else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = made(**seeded)
    except (TypeError, ImportError) as error:
        fix = "wrap it in a class of your own that needs no arguments, and name that"
        raise _problem(f"'{name}', which cannot be made ({error})", fix) from None
    return OptunaSampler(space, sampler, smooth=True)


def _problem(found: str, fix: str = "") -> InputError:
    return InputError([Problem(("--sampler",), WHAT, found, fix)], "command line")
