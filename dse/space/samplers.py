"""The samplers by name: those of the project, and those that installed packages bring (`simcore.family`).

    [project.entry-points."dse.samplers"]
    tabu = "my_package.tabu:Tabu"

A member makes a sampler of a space and a seed: a subclass of `dse.search.base.Sampler`, or a function. Those of the
project are listed as a package would list them, so that a space can be checked before anything that searches is
imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import FunctionType
from typing import Any

from simcore.family import Family

AUTO = "auto"
"""Stands for the sampler that suits the space (`dse.search.auto`)."""
PROVERS = ("exact", "guided-exact")
"""Samplers that end with a proof of their answer."""


class Maker(ABC):
    """What a package may list: a subclass of `Sampler` (which joins in `dse.search.base`), or a function."""

    @abstractmethod
    def __call__(self, space: Any, seed: int) -> Any:
        """A sampler that searches a space from a seed."""


Maker.register(FunctionType)


SAMPLERS: Family[Maker] = Family(
    "dse.samplers",
    Maker,
    {
        "exact": "dse.search.guided_exact:exact",
        "guided-exact": "dse.search.guided_exact:GuidedExact",
        "guided": "dse.search.guided.sampler:Guided",
        "multi-fidelity": "dse.search.multi_fidelity:multi_fidelity",
        "random": "dse.search.random:Random",
        "exhaustive": "dse.search.exhaustive:Exhaustive",
        "qmc": "dse.search.optuna_sampler:qmc",
        "nsga2": "dse.search.optuna_sampler:nsga2",
        "nsga3": "dse.search.optuna_sampler:nsga3",
        "tpe": "dse.search.optuna_sampler:tpe",
        "gp": "dse.search.optuna_sampler:gp",
    },
    classes=True,
)


def sampler_names() -> tuple[str, ...]:
    """Every name that a study may give."""
    return (AUTO, *SAMPLERS)
