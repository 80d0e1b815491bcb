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

import math
import pickle
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.search import Searcher

from dse.evaluate.evaluate import Evaluator, read_outcome, write_outcome
from dse.search.optuna_sampler import MAKERS, OptunaSampler
from dse.space.draw import RecordedDraw
from dse.space.space import Space
from dse.study.ledger import Trial
from dse.study.memory import Memory
from dse.study.study import Study
from dse.study.unordered import Unordered
from simcore.document.problem import InputError, Problem
from simcore.engine.registry import engine_named


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
        found = {"state": outcome.state, "key": outcome.key, "outcome": write_outcome(outcome)}
        return values | found | {"done": True}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next trial."""
        self.config = new_config
        return True

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """A trial of one step has nothing to save."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        """See `save_checkpoint`."""


def trainable(space: Space, engine: str = "auto") -> Any:
    """What evaluates a trial of `search(space)`: for `tune.Tuner` and `tune.Tuner.restore`.

    Raises `InputError` where there is no such engine.
    """
    engine_named(engine)
    evaluator = Evaluator(space.objectives, space.constraints, engine)
    return tune.with_parameters(DesignTrainable, space=space, evaluator=evaluator)


class SpaceSearch(Searcher):
    """Ray Tune's side of a study: Tune asks for trials and tells what became of them, no design is tried twice."""

    def __init__(self, study: Study) -> None:
        super().__init__()
        self._study, self._asked = study, dict[str, Trial]()
        self._evaluator = Evaluator(study.space.objectives, study.space.constraints)
        self.exhausted = False
        """Whether there seems to be no design that was not tried yet."""

    def suggest(self, trial_id: str) -> Any:
        """The draws of a new design; `Searcher.FINISHED` where there is none, or a limit of the study is reached."""
        if self._study.reason() is not None:
            return Searcher.FINISHED
        trial = next(iter(self._study.ask(1)), None)
        if trial is None or trial.drawn is None:  # the sampler only repeats itself
            self.exhausted = True
            return Searcher.FINISHED
        self._asked[trial_id] = trial
        return {"draws": dict(trial.drawn.values), "smooth": trial.drawn.smooth}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Keep the outcome of a trial, and tell the sampler; a trial that Tune gave up has none."""
        trial = self._asked.pop(trial_id, None)
        if trial is None:
            return
        document = trial.proposal.filled.document
        if result and "outcome" in result:
            outcome = read_outcome(result["outcome"])
            if not all(map(math.isfinite, outcome.values.values())):
                outcome = self._evaluator.failure_outcome(
                    document, f"ValueError: no finite values, got {outcome.values}"
                )
            self._study.finish(trial, outcome)
        elif error:
            text = "WorkerError: its worker process died (killed, crashed, or ended by the design); tried once"
            self._study.finish(trial, self._evaluator.failure_outcome(document, text))
        else:
            self._study.sampler.reject(trial.proposal)

    def save(self, checkpoint_path: str) -> None:
        """Write the state from which Tune restores an experiment."""
        Path(checkpoint_path).write_bytes(pickle.dumps(self.__dict__))

    def restore(self, checkpoint_path: str) -> None:
        """Take up the state that `save` wrote."""
        self.__dict__.update(pickle.loads(Path(checkpoint_path).read_bytes()))

    @property
    def study(self) -> Any:
        """The Optuna study behind it."""
        assert isinstance(self._study.sampler, OptunaSampler)
        return self._study.sampler.study


def search(space: Space, sampler: str = "auto", seed: int = 0) -> SpaceSearch:
    """A search algorithm for `tune.TuneConfig` over a space; `sampler` as of `dse optimize` (`auto`: nsga2).

    Raises `InputError` for a sampler that is not one of Optuna's.
    """
    made = MAKERS[check_sampler(sampler)](space, seed)
    return SpaceSearch(Study(space, made, Unordered(Memory(), made.smooth)))


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
