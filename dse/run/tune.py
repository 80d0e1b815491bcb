"""A space through Ray Tune, for those who live in it: a trainable and a search algorithm of the same space.

    from ray import tune
    from dse.space import load_space
    from dse.run.tune import search, trainable

    space = load_space("space.yaml")
    config = tune.TuneConfig(search_alg=search(space), num_samples=400, max_concurrent_trials=4, reuse_actors=True)
    results = tune.Tuner(trainable(space), tune_config=config).fit()

`reuse_actors` matters: a new actor for each trial takes a second, a design a millisecond. A stopped experiment goes on
with `tune.Tuner.restore(path, trainable(space))`. Tune tells its search of results in the order in which they come, so
a study is reproducible with one trial at a time only; `dse optimize --executor ray` is reproducible with any number.

The configuration of a trial is `{"draws": {name: number}}`, what the sampler drew. Its result has a metric for each
objective (NaN where the evaluation failed), `state`, `key` (of the design) and `outcome`, JSON of everything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import optuna
from ray import tune
from ray.tune.search import Searcher
from ray.tune.search.optuna import OptunaSearch

from dse.evaluate.evaluate import Evaluator, Outcome, written
from dse.search.base import Drawn
from dse.search.optuna_sampler import MAKERS, OptunaDraw
from dse.search.replay import finished
from dse.space.draw import RecordedDraw
from dse.space.space import Space
from simcore.check.load import parse_design
from simcore.document.problem import InputError, Problem
from simcore.engine.registry import engine_named

MOST_REPEATS = 100
"""Repeats in a row after which the search ends."""


class DesignTrainable(tune.Trainable):
    """Evaluates one design a trial, in one step; made for reuse."""

    def setup(self, config: dict[str, Any], space: Space | None = None, evaluator: Evaluator | None = None) -> None:
        """Given by `trainable`."""
        assert space is not None
        assert evaluator is not None
        self._space, self._evaluator = space, evaluator

    def step(self) -> dict[str, Any]:
        """The only step of a trial."""
        filled = self._space.fill(RecordedDraw(self.config["draws"], self.config["smooth"]))
        outcome = self._evaluator(filled.document)
        values = {o.name: outcome.values.get(o.name, math.nan) for o in self._space.objectives}
        found = {"state": outcome.state, "key": outcome.key, "outcome": written(outcome)}
        return values | found | {"done": True}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next trial."""
        self.config = new_config
        return True

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """A trial of one step has nothing to save."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        """See `save_checkpoint`."""


def trainable(space: Space, engine: str = "fast") -> Any:
    """What evaluates a trial of `search(space)`: for `tune.Tuner` and `tune.Tuner.restore`.

    Raises `InputError` where there is no such engine.
    """
    engine_named(engine)
    evaluator = Evaluator(space.objectives, space.constraints, engine)
    return tune.with_parameters(DesignTrainable, space=space, evaluator=evaluator)


class SpaceSearch(OptunaSearch):
    """Ray Tune's Optuna search over a space: constraints are reported, no design is tried twice."""

    def __init__(self, space: Space, sampler: str, seed: int) -> None:
        maker = MAKERS[sampler](space, seed)
        self._design_space, self._smooth = space, maker.smooth
        self._seen: set[str] = set()
        self._last_key = ""
        self.exhausted = False
        super().__init__(
            space=self._draw,
            metric=[objective.name for objective in space.objectives],
            mode=["min" if objective.direction == "minimize" else "max" for objective in space.objectives],
            sampler=maker.sampler,
        )

    def _draw(self, trial: Any) -> None:
        filled = self._design_space.fill(OptunaDraw(trial, self._smooth))
        design, problems = parse_design(filled.document)
        if design is None:
            raise ValueError(f"the space gave a document of unsound form: {problems[0]}")
        self._last_key = design.key

    def suggest(self, trial_id: str) -> Any:
        """The draws of a design that was not tried yet; `Searcher.FINISHED` where there seems to be none."""
        for _ in range(MOST_REPEATS):
            super().suggest(trial_id)
            trial = self._ot_trials[trial_id]
            if self._last_key not in self._seen:
                self._seen.add(self._last_key)
                return {"draws": dict(trial.params), "smooth": self._smooth}
            self.study.tell(self._ot_trials.pop(trial_id), state=optuna.trial.TrialState.FAIL)
        self.exhausted = True
        return Searcher.FINISHED

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Tell Optuna values and constraints, or that the trial failed: none is left running."""
        if trial_id not in self._ot_trials or trial_id in self._completed_trials:
            return
        trial = self._ot_trials[trial_id]
        values = [(result or {}).get(name) for name in self.metric]
        if error or not result or not all(isinstance(v, int | float) and math.isfinite(v) for v in values):
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            self._completed_trials.add(trial_id)
            return
        for name, violation in json.loads(result["outcome"])["violations"].items():
            trial.set_constraint(name, violation)
        super().on_trial_complete(trial_id, result, error)

    def add_known(self, draws: Mapping[str, Any] | None, outcome: Outcome) -> None:
        """Learn a trial of an earlier run; a design that failed is only not tried again."""
        self._seen.add(outcome.key)
        if draws is not None and outcome.state != "failed":
            values = [outcome.values[objective.name] for objective in self._design_space.objectives]
            self.study.add_trial(finished(self._design_space, Drawn(draws, self._smooth), values, outcome.violations))

    @property
    def study(self) -> Any:
        """The Optuna study behind it."""
        return self._ot_study


def search(space: Space, sampler: str = "auto", seed: int = 0) -> SpaceSearch:
    """A search algorithm for `tune.TuneConfig` over a space; `sampler` as of `dse optimize` (`auto`: nsga2).

    Raises `InputError` for a sampler that is not one of Optuna's.
    """
    return SpaceSearch(space, check_sampler(sampler), seed)


def check_sampler(sampler: str) -> str:
    """The sampler of Optuna's that a name stands for.

    Raises `InputError` where it is none.
    """
    name = "nsga2" if sampler == "auto" else sampler
    if name not in MAKERS:
        fix = "use --executor ray for an exhaustive search"
        problem = Problem(("--sampler",), f"one of Optuna's for Ray Tune: {', '.join(MAKERS)}", f"'{name}'", fix)
        raise InputError([problem], "")
    return name
