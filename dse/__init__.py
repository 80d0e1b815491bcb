"""Search a space of designs: declarative spaces, samplers, studies, Pareto fronts. `simcore` simulates each design.

    >>> import dse
    >>> run = dse.optimize(dse.load_space("space.yaml"), trials=400, seed=0)      # doctest: +SKIP
    >>> run.front, run.plot(), dse.simulate(run.design(run.best("cost.total")))   # doctest: +SKIP

`docs/python.md` shows it all. What is not in `__all__` is private. Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.door.optimize import optimize
    from dse.door.run import Run, load_run
    from dse.evaluate.record import TrialRecord as Trial
    from dse.space.space import Space, load_space
    from dse.space.split.bandwidth import optimal_split
    from simcore import Design, InputError, Result, load_design, simulate

__all__ = [
    "Design",
    "InputError",
    "Result",
    "Run",
    "Space",
    "Trial",
    "load_design",
    "load_run",
    "load_space",
    "optimal_split",
    "optimize",
    "simulate",
]

_HOMES = {
    "Design": "simcore:Design",
    "InputError": "simcore:InputError",
    "Result": "simcore:Result",
    "Run": "dse.door.run:Run",
    "Space": "dse.space.space:Space",
    "Trial": "dse.evaluate.record:TrialRecord",
    "load_design": "simcore:load_design",
    "load_run": "dse.door.run:load_run",
    "load_space": "dse.space.space:load_space",
    "optimal_split": "dse.space.split.bandwidth:optimal_split",
    "optimize": "dse.door.optimize:optimize",
    "simulate": "simcore:simulate",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # a type checker knows the names from above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'dse' has no attribute '{name}'")
        module, _, inside = _HOMES[name].partition(":")
        value = globals()[name] = getattr(import_module(module), inside)
        return value
