"""A study that Ray Tune drives: what `dse optimize --executor ray-tune` runs.

Trials are numbered in the order in which they end, so the folder depends on timing, and `study.yaml` says `executor:
ray-tune`. The journal holds what the sampler drew as well, and a study goes on from that: Tune's own files are pickles,
which this program never loads from a run folder; they are written to a temporary folder and dropped.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from typing import Any

from dse.execute.ray_cluster import check_address, check_installed, connect
from dse.run.driver import Drive, Driver
from dse.run.settings import Settings
from dse.search import Sampler
from dse.search.optuna_sampler import MAKERS, OptunaSampler
from dse.space.space import Space
from dse.study.journal import KeptTrials
from dse.study.ledger import Ledger, TrialLog
from dse.study.stop import Limits
from dse.study.study import Study
from dse.study.unordered import Unordered
from dse.study.watch import Watcher
from simcore.document.problem import InputError, Problem

QUIET = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # a folder of three files for each trial
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C is ours
    "TUNE_GLOBAL_CHECKPOINT_S": "60",
    "RAY_AIR_NEW_OUTPUT": "0",
}


class RayTuneDriver(Driver):
    """Ray Tune; what it needs is loaded when it is asked."""

    repeats = False

    def sampler_name(self, space: Space, settings: Settings) -> str:
        """See `Driver.sampler_name`."""
        if settings.storage is not None:
            raise InputError([Problem(("--storage",), "no shared study with ray-tune", "one", "drop one of them")], "")
        if space.jobs:
            fix = "use --executor ray or local: Ray Tune's trials are designs, not clusters with a search in each"
            raise InputError([Problem(("--executor",), "a space without workloads for ray-tune", "one", fix)], "study")
        check_installed()
        from dse.run.tune import check_sampler

        name = check_sampler(settings.sampler)
        check_address(settings.where.cluster)
        if settings.design_timeout is not None:
            fix = "use --executor ray or local: Ray Tune cannot end a trial that hangs"
            problem = Problem(("--design-timeout",), "no time limit with ray-tune", "one", fix)
            raise InputError([problem], "command line")
        return name

    def noted(self, space: Space, settings: Settings) -> dict[str, Any]:
        """See `Driver.noted`."""
        return {"executor": settings.executor}

    def sampler(self, space: Space, name: str, seed: int) -> OptunaSampler:
        """See `Driver.sampler`."""
        return MAKERS[name](space, seed)

    def drive(self, space: Space, settings: Settings, watcher: Watcher, closing: ExitStack) -> Drive:
        """See `Driver.drive`."""
        return lambda study, limits: _drive_tuned(study, limits, settings)

    def ledger(self, settings: Settings, log: TrialLog, known: KeptTrials, sampler: Sampler) -> Ledger:
        """See `Driver.ledger`."""
        assert isinstance(sampler, OptunaSampler)  # as `sampler` makes them
        return Unordered(log, sampler.smooth, known)


def _drive_tuned(study: Study, limits: Limits, settings: Settings) -> str:
    """Search until a limit is reached; the reason it ended, as of `Study.run`."""
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    import ray as untyped

    ray: Any = untyped
    study.begin(limits)
    study.learn_others()
    if (reason := study.reason()) is not None:
        return reason
    where = settings.where
    module = settings.engine.partition(":")[0] if ":" in settings.engine else ""
    connected = ray.is_initialized()
    if not connected:
        connect(check_address(where.cluster), where.jobs, [module.partition(".")[0]] if module else [])
    try:
        exhausted = _fit(study, limits, settings, where.jobs or max(1, int(ray.cluster_resources().get("CPU", 1))))
    finally:
        if not connected:
            ray.shutdown()
    return study.reason() or ("exhausted" if exhausted else "time")


def _fit(study: Study, limits: Limits, settings: Settings, at_once: int) -> bool:
    """Have Tune run the study; whether there are no more designs."""
    from ray import tune

    from dse.run.tune import SpaceSearch, trainable

    class Unsaved(SpaceSearch):  # defined here so that ray is imported when needed
        """Is not saved with Tune's files, which are dropped: the study has an open journal."""

        def __reduce__(self) -> Any:
            return tune.search.Searcher, ()

        def save(self, checkpoint_path: str) -> None:
            """The journal has everything."""

    search = Unsaved(study)
    with tempfile.TemporaryDirectory(prefix="dse-tune-", ignore_cleanup_errors=True) as folder:
        tuner = tune.Tuner(
            trainable(study.space, settings.engine),
            tune_config=tune.TuneConfig(
                search_alg=search,
                num_samples=limits.trials - study.trials,
                max_concurrent_trials=at_once,
                reuse_actors=True,
                time_budget_s=limits.seconds,
                trial_dirname_creator=lambda trial: trial.trial_id,
            ),
            run_config=tune.RunConfig(name="study", storage_path=folder, verbose=0),
        )
        tuner.fit()
    return search.exhausted
