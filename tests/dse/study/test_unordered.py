"""A study that Ray Tune drives goes on from what every trial of the earlier session drew."""

from __future__ import annotations

import pytest
from tiny_spaces import space

from dse.evaluate.evaluate import Evaluator
from dse.search.optuna_sampler import MAKERS
from dse.study.memory import Memory
from dse.study.stop import Limits
from dse.study.study import Study
from dse.study.unordered import Unordered


@pytest.mark.parametrize("name", ["nsga2", "random"])
def test_the_sampler_learns_every_trial_of_the_earlier_session(name: str) -> None:
    log, its = Memory(), space()
    sampler = MAKERS[name](its, 0)
    study = Study(its, sampler, Unordered(log, sampler.smooth))
    study.begin(Limits(trials=4))
    for trial in study.ask(4):
        study.finish(trial, Evaluator(its.objectives, its.constraints, "fast")(trial.proposal.filled.document))
    resumed = MAKERS[name](its, 0)
    Study(its, resumed, Unordered(Memory(), resumed.smooth, log.trials)).learn_others()
    assert len(log.trials) == 4
    assert [trial.params for trial in resumed.study.trials] == [trial.draws for trial in log.trials]
