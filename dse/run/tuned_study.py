"""A study through Ray Tune, into a run folder: what `dse optimize --executor ray-tune` runs.

Trials are numbered in the order in which they end, so the folder depends on timing, and `study.yaml` says `executor:
ray-tune`. The journal holds what the sampler drew as well, and a study goes on from that: Tune's own files are pickles,
which this program never loads from a run folder; they are written to a temporary folder and dropped.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dse.evaluate.evaluate import Evaluator, Outcome, read_outcome
from dse.execute.ray_cluster import check_address, check_installed, connect
from dse.execute.where import Where
from dse.space.draw import RecordedDraw
from dse.space.space import Space
from dse.study.journal import Journal, StoredTrial
from simcore.document.problem import InputError, Problem

QUIET = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # a folder of three files for each trial
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C is ours
    "TUNE_GLOBAL_CHECKPOINT_S": "60",
    "RAY_AIR_NEW_OUTPUT": "0",
}


def check_tune(sampler: str, where: Where) -> str:
    """The sampler that a name stands for; raises `InputError` where a study cannot be run through Ray Tune."""
    check_installed()
    from dse.run.tune import check_sampler

    name = check_sampler(sampler)
    check_address(where.cluster)
    if where.design_timeout is not None:
        fix = "use --executor ray or local: Ray Tune cannot end a trial that hangs"
        raise InputError([Problem(("--design-timeout",), "no time limit with ray-tune", "one", fix)], "command line")
    return name


@dataclass
class TunedStudy:
    """A search that Ray Tune drives."""

    space: Space
    sampler: str
    seed: int
    engine: str
    where: Where
    journal: Journal
    known: Iterable[StoredTrial]
    on_trial: Callable[[int, Outcome], None]

    def run(self, trials: int, seconds: float | None) -> str:
        """Search until a limit is reached; the reason it ended: `trials`, `time` or `exhausted`."""
        os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
        import ray as untyped
        from ray import tune

        ray: Any = untyped
        from dse.run.tune import search, trainable

        algorithm = search(self.space, self.sampler, self.seed)
        recorder = _recorder(self)
        for stored in self.known:
            algorithm.add_known(stored.draws, stored.outcome)
            recorder.count(stored.outcome)
        if recorder.done >= trials:
            return "trials"
        address = check_address(self.where.cluster)
        module = self.engine.partition(":")[0] if ":" in self.engine else ""
        connected = ray.is_initialized()
        if not connected:
            connect(address, self.where.jobs, [module.partition(".")[0]] if module else [])
        begun = recorder.done
        try:
            with tempfile.TemporaryDirectory(prefix="dse-tune-", ignore_cleanup_errors=True) as folder:
                tuner = tune.Tuner(
                    trainable(self.space, self.engine),
                    tune_config=tune.TuneConfig(
                        search_alg=algorithm,
                        num_samples=trials - begun,
                        max_concurrent_trials=self.where.jobs or max(1, int(ray.cluster_resources().get("CPU", 1))),
                        reuse_actors=True,
                        time_budget_s=seconds,
                        trial_dirname_creator=lambda trial: trial.trial_id,
                    ),
                    run_config=tune.RunConfig(name="study", storage_path=folder, verbose=0, callbacks=[recorder]),
                )
                tuner.fit()
        finally:
            self.journal.synchronise()
            if not connected:
                ray.shutdown()
        if recorder.done >= trials:
            return "trials"
        return "exhausted" if algorithm.exhausted else "time"


def _recorder(study: TunedStudy) -> Any:
    """A callback of Tune that journals every trial that ends."""
    from ray import tune

    evaluator = Evaluator(study.space.objectives, study.space.constraints, study.engine)

    class Recorder(tune.Callback):  # defined here so that ray is imported when needed
        """Keeps what Tune's trials come to."""

        done = 0

        def __reduce__(self) -> Any:
            """Tune pickles its callbacks, for a file that is dropped: without the open journal."""
            return tune.Callback, ()

        def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            """A trial has its result."""
            self.append(trial.config["draws"], trial.config["smooth"], read_outcome(trial.last_result["outcome"]))

        def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            """A trial's process died."""
            draws, smooth = trial.config["draws"], trial.config["smooth"]
            document = study.space.fill(RecordedDraw(draws, smooth)).document
            text = "WorkerError: its worker process died (killed, crashed, or ended by the design); tried once"
            self.append(draws, smooth, evaluator.failed(document, text))

        def append(self, draws: dict[str, Any], smooth: bool, outcome: Outcome) -> None:
            """Journal one more trial."""
            params = study.space.fill(RecordedDraw(draws, smooth)).params
            study.journal.append(self.done, params, outcome, draws)
            self.count(outcome)

        def count(self, outcome: Outcome) -> None:
            """One more trial is done."""
            study.on_trial(self.done, outcome)
            self.done += 1

    return Recorder()
