"""Who drives the search of a run, and what of the run depends on that: here one driver alone, with workers of its own.

Several drivers of one storage are `dse.run.shared_driver`, Ray Tune is `dse.run.ray_tune_driver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from dse.buy.evaluate import Buyer, tuning_objective
from dse.buy.tuner import Tuner
from dse.evaluate.evaluate import Evaluate, Evaluator
from dse.execute import make_executor
from dse.run.settings import Settings
from dse.search import Sampler, make_sampler, resolve_sampler
from dse.space.samplers import PROVERS
from dse.space.space import Space
from dse.study.journal import KeptTrials
from dse.study.ledger import Ledger, TrialLog
from dse.study.one_driver import OneDriver
from dse.study.stop import Limits
from dse.study.study import Study
from dse.study.watch import Watcher
from simcore.document.problem import InputError, Problem
from simcore.engine.registry import PROVABLE

Drive = Callable[[Study, Limits], str]
"""Searches until a limit is reached; why it ended."""


class Driver:
    """One driver that has the study to itself."""

    repeats = True
    """Whether the study follows from its seed, so that its sampler can go on from a checkpoint."""

    def sampler_name(self, space: Space, settings: Settings) -> str:
        """The sampler that is meant. Raises `InputError` where it cannot be used as the study is driven."""
        name = resolve_sampler(settings.sampler, space, settings.engine)
        if name in PROVERS and settings.engine not in PROVABLE:
            fix = f"use --engine {PROVABLE[0]}, or another sampler"
            what = f"{' or '.join(PROVABLE)} for exact"
            raise InputError([Problem(("--engine",), what, f"'{settings.engine}'", fix)], "study")
        return name

    def noted(self, space: Space, settings: Settings) -> dict[str, Any]:
        """What `study.yaml` says of a study that its seed does not repeat."""
        return {}

    def join(self, space: Space, settings: Settings, document: Mapping[str, Any], closing: ExitStack) -> int:
        """Become a driver of the study that `document` describes; the seed of this driver's sampler.

        What has to be left is called by `closing`. Raises `InputError` where other drivers mean another study.
        """
        return settings.seed

    def sampler(self, space: Space, name: str, seed: int) -> Sampler:
        """The sampler, as it begins."""
        return make_sampler(name, space, seed)

    def drive(self, space: Space, settings: Settings, watcher: Watcher, closing: ExitStack) -> Drive:
        """What searches; what it has opened is closed by `closing`."""
        executor = make_executor(evaluator_of(space, settings), where=settings.where)
        closing.callback(executor.close)
        watcher.watch(executor)
        return lambda study, limits: study.run(limits, executor)

    def ledger(self, settings: Settings, log: TrialLog, known: KeptTrials, sampler: Sampler) -> Ledger:
        """Where the trials live."""
        return OneDriver(log, known)


def evaluator_of(space: Space, settings: Settings) -> Evaluate:
    """What evaluates the space's designs, or the clusters that it is to choose from."""
    if not space.jobs:
        return Evaluator(space.objectives, space.constraints, settings.engine)
    study, tune = space.settings, tuning_objective(space)
    asked = () if any(objective.name == tune.name for objective in space.objectives) else (tune,)
    evaluator = Evaluator((*space.objectives, *asked), space.constraints, settings.engine)
    tuner = Tuner(evaluator, tune, study.tune_sampler, study.tune_trials, settings.seed)
    return Buyer(space, tuner, study.aggregate)
