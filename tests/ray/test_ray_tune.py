"""The same space through Ray Tune: constraints are told, nothing stays running, no design is tried twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sweeps import sweep, wide, write_engine
from tiny_spaces import space

from dse.execute.ray_cluster import connect
from dse.run.record import load_record
from simcore.document.problem import InputError

pytest.importorskip("ray", reason="the extra 'ray' is not installed")


def tuner(cluster: Any, folder: Path, engine: str, samples: int, given: Any, algorithm: Any) -> Any:
    """A tuner on the cluster, as the documentation of `dse.run.tune` shows it."""
    from ray import tune

    from dse.run.tune import trainable

    connect(cluster.address, None, [engine.partition(":")[0]])
    config = tune.TuneConfig(
        search_alg=algorithm,
        num_samples=samples,
        max_concurrent_trials=2,
        reuse_actors=True,
        trial_dirname_creator=lambda trial: trial.trial_id,
    )
    where = tune.RunConfig(name="experiment", storage_path=str(folder), verbose=0)
    return tune.Tuner(trainable(given, engine), tune_config=config, run_config=where)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    monkeypatch.setenv("RAY_AIR_NEW_OUTPUT", "0")


def test_failed_and_nan_results_leave_no_trial_running_and_constraints_are_told(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dse.run.tune import search

    given = space(constraints=["fits", "bubble <= 0.1"], system={"chunks": {"range": [1, 40]}})
    extra = (
        "from dataclasses import replace\n"
        "    if design.parallelism.zero == 1: raise RuntimeError('no answer')\n"
        "    if design.parallelism.pipeline == 4: return replace(cheap(design), iteration_time_s=float('nan'))\n"
        "    return replace(cheap(design), bubble_s=0.5 * (design.parallelism.tensor - 1))"
    )
    engine = write_engine(tmp_path, monkeypatch, "nan_engine", 0.0, extra)
    algorithm = search(given, seed=3)
    results = tuner(cluster, tmp_path / "tune", engine, 30, given, algorithm).fit()
    trials = algorithm.study.trials
    states = Counter(trial.state.name for trial in trials)
    assert set(states) == {"COMPLETE", "FAIL"}
    assert len(results) == 30
    keys = [result.metrics["key"] for result in results]
    assert len(set(keys)) == 30
    complete = [trial for trial in trials if trial.state.name == "COMPLETE"]
    good = [r for r in results if r.metrics["state"] != "failed"]
    assert len(complete) == len(good) > 0
    assert all(r.metrics["iteration_time"] > 0 for r in good), "a design whose time is not a number has failed"
    for trial in complete:
        assert set(trial.constraints) == {"valid", "fits", "bubble <= 0.1"}
    assert any(trial.constraints["bubble <= 0.1"] > 0 for trial in complete)
    assert {r.metrics["state"] for r in results} == {"feasible", "infeasible", "failed"}


def test_an_experiment_is_restored_and_goes_on(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray import tune

    from dse.run.tune import search, trainable

    mark = tmp_path / "mark"
    extra = f"mark = Path({str(mark)!r})\n    if not mark.exists(): mark.touch(); os._exit(1)"
    engine = write_engine(tmp_path, monkeypatch, "dying_engine", 0.0, extra)
    given = wide()
    results = tuner(cluster, tmp_path / "tune", engine, 8, given, search(given)).fit()
    assert (len(results), len(results.errors)) == (8, 1)
    again = tune.Tuner.restore(str(tmp_path / "tune" / "experiment"), trainable(given, engine), restart_errored=True)
    results = again.fit()
    assert (len(results), len(results.errors)) == (8, 0)
    assert len({result.metrics["key"] for result in results}) == 8


def test_a_study_through_tune_fills_a_run_folder_and_goes_on_from_it(cluster: Any, tmp_path: Path) -> None:
    options = {"executor": "ray-tune", "address": cluster.address, "sampler": "nsga2", "jobs": 2}
    first = sweep(tmp_path, 12, **options)
    assert (first.ended, first.counts()) == ("trials", (12, 0, 0))
    second = sweep(tmp_path, 20, resume=True, **options)
    assert (second.ended, second.counts()) == ("trials", (20, 0, 0))
    record = load_record(tmp_path)
    assert [trial.number for trial in record.trials] == list(range(20))
    assert second.trials[:12] == first.trials
    assert len(record.front) > 0
    assert {path.name for path in tmp_path.iterdir()} == {"study.yaml", "journal.log"}
    with pytest.raises(InputError, match=r'executor: "ray-tune" -> null'):
        sweep(tmp_path, 30, resume=True, sampler="nsga2")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sampler": "exhaustive"}, "one of Optuna's for Ray Tune: random, nsga2"),
        ({"design_timeout": 3.0}, "no time limit with ray-tune"),
        ({"address": "nowhere"}, "HOST:PORT"),
    ],
)
def test_what_tune_cannot_do_is_told_before_a_folder_is_made(tmp_path: Path, settings: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sweep(tmp_path / "run", 10, executor="ray-tune", **settings)
    assert not (tmp_path / "run").exists()
