"""Optuna's samplers behind the protocol of this project: an in-memory study that is asked and told.

Directions are all *minimize*, values are losses, and every constraint is set on every trial: Optuna counts a trial
without constraint values as feasible. A repeated proposal is told as failed, which Optuna's samplers ignore.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna

from dse.search.base import DrawnValues, Proposal, Sampler
from dse.search.replay import MOST_CATEGORIES, make_finished_trial
from dse.space.fill import fill_template
from dse.space.jobs import is_software
from dse.space.space import Space
from simcore.document.problem import InputError, Problem


@dataclass(frozen=True)
class OptunaDraw:
    """Draws from an Optuna trial, define-by-run."""

    trial: Any
    smooth: bool

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        if count == 1:
            return 0
        if ordered or count > MOST_CATEGORIES:
            return int(self.trial.suggest_int(name, 0, count - 1))
        return int(self.trial.suggest_categorical(name, list(range(count))))

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        return float(self.trial.suggest_float(name, low, high, log=log))


class OptunaSampler(Sampler):
    """Any sampler of Optuna; `smooth` ones get degrees and shares as weights instead of an index."""

    def __init__(self, space: Space, sampler: Any, smooth: bool) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space, self.sampler, self.smooth = space, sampler, smooth
        self.study = optuna.create_study(directions=["minimize"] * len(space.objectives), sampler=sampler)

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`; never exhausted by itself.

        Raises `InputError` where Optuna's sampler fails.
        """
        with self._explain_failures():
            trial = self.study.ask()
            return Proposal(self._space.fill(OptunaDraw(trial, self.smooth)), trial)

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.tell`."""
        for name, violation in violations.items():
            proposal.handle.set_constraint(name, violation)
        with self._explain_failures():
            self.study.tell(proposal.handle, losses)

    def rehearse(self, trials: int) -> None:
        """Ask and tell outcomes drawn at random, of no design; raises `InputError` for a sampler that cannot."""
        generator = np.random.default_rng(0)
        keep = is_software if self._space.jobs else None
        for _ in range(trials):
            with self._explain_failures(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # each is said when it is asked in earnest
                trial = self.study.ask()
                fill_template(self._space.template, OptunaDraw(trial, self.smooth), keep)
                for constraint in self._space.constraints:
                    trial.set_constraint(constraint.name, float(generator.uniform(-1, 0.5)))
                self.study.tell(trial, generator.uniform(size=len(self._space.objectives)).tolist())

    @contextmanager
    def _explain_failures(self) -> Iterator[None]:
        """Say what is wrong with Optuna's sampler, where it is that which fails."""
        try:
            yield
        except Exception as error:
            own = ("optuna", type(self.sampler).__module__.partition(".")[0])
            frames = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
            if isinstance(error, InputError) or not any(name.partition(".")[0] in own for name in frames):
                raise
            name, reason = type(self.sampler).__name__, " ".join(str(error).split())
            what = f"a sampler that can search this space; {name} fails"
            fix = "install what it needs" if isinstance(error, ImportError) else "use another one"
            problem = Problem(("--sampler",), what, f"{type(error).__name__}: {reason}", fix)
            raise InputError([problem], "sampler") from error

    def drawn_values(self, proposal: Proposal) -> DrawnValues | None:
        """See `Sampler.drawn_values`."""
        return DrawnValues(proposal.handle.params, self.smooth)

    def learn(self, drawn: DrawnValues, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.learn`."""
        if drawn.smooth == self.smooth:
            self.study.add_trial(make_finished_trial(self._space, drawn, losses, violations))

    def reject(self, proposal: Proposal) -> None:
        """See `Sampler.reject`."""
        self.study.tell(proposal.handle, state=optuna.trial.TrialState.FAIL)


def population(space: Space) -> int:
    """Population of the genetic samplers: 20 reach further in a few hundred trials than Optuna's 50."""
    return 20 if len(space.objectives) <= 2 else 40


def random(space: Space, seed: int) -> OptunaSampler:
    """Independent uniform choices, for Ray Tune's Optuna search; `dse.search.random` is faster."""
    return OptunaSampler(space, optuna.samplers.RandomSampler(seed=seed), smooth=False)


def nsga2(space: Space, seed: int) -> OptunaSampler:
    """NSGA-II (Deb et al. 2002)."""
    sampler = optuna.samplers.NSGAIISampler(population_size=population(space), seed=seed)
    return OptunaSampler(space, sampler, smooth=True)


def nsga3(space: Space, seed: int) -> OptunaSampler:
    """NSGA-III (Deb, Jain 2014), for three objectives and more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.NSGAIIISampler(population_size=population(space), seed=seed)
    return OptunaSampler(space, sampler, smooth=True)


def tpe(space: Space, seed: int) -> OptunaSampler:
    """Multivariate tree-structured Parzen estimator (Bergstra et al. 2011; Falkner et al. 2018)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(multivariate=True, seed=seed, n_startup_trials=20)
    return OptunaSampler(space, sampler, smooth=True)


def qmc(space: Space, seed: int) -> OptunaSampler:
    """Scrambled Sobol points (Bergstra, Bengio 2012, section 5); the first trial sets the dimensions they fill."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.QMCSampler(scramble=True, seed=seed, warn_independent_sampling=False)
    return OptunaSampler(space, sampler, smooth=True)


def gp(space: Space, seed: int) -> OptunaSampler:
    """Gaussian processes with expected hypervolume improvement; needs torch.

    Raises `InputError` where torch is not installed.
    """
    if find_spec("torch") is None:
        fix = "pip install torch, or use guided, which needs nothing more"
        raise InputError([Problem(("sampler",), "torch, which Optuna's GPSampler needs", "no torch", fix)], "sampler")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)
    return OptunaSampler(space, sampler, smooth=True)


MAKERS: dict[str, Callable[[Space, int], OptunaSampler]] = {
    "random": random,
    "nsga2": nsga2,
    "nsga3": nsga3,
    "tpe": tpe,
    "qmc": qmc,
    "gp": gp,
}
