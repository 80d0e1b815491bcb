"""A run of `dse optimize`, whoever drives the search: this program, Ray Tune, or several drivers of one study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dse.execute import make_executor
from dse.proof.certificate import check_reachable
from dse.run.run import Settings, differences, earlier_trials, evaluator_of, optimize, study_document
from dse.search import make_sampler, resolve
from dse.space.settings import PROVERS
from dse.space.space import Space
from dse.study.journal import Journal
from dse.study.store import check_folder, write_study
from dse.study.watch import WATCHER, Watcher
from simcore.document.problem import InputError, Problem


def drive(
    space: Space,
    settings: Settings,
    folder: Path,
    resume: bool,
    watcher: Watcher = WATCHER,
) -> str:
    """As `dse.run.optimize`, also where a study is not reproducible: through Ray Tune, or shared by several drivers."""
    try:
        return _driven(space, settings, folder, resume, watcher)
    except Exception:
        if not watcher.interrupted:
            raise
        return "interrupted"  # the error is what a library made of Ctrl-C in a callback


def _driven(space: Space, settings: Settings, folder: Path, resume: bool, watcher: Watcher) -> str:
    if settings.executor == "ray-tune" or settings.storage is not None:
        check_reachable(space, settings.engine)
    if settings.executor == "ray-tune":
        if settings.storage is not None:
            raise InputError([Problem(("--storage",), "no shared study with ray-tune", "one", "drop one of them")], "")
        if space.jobs:
            fix = "use --executor ray or local: Ray Tune's trials are designs, not clusters with a search in each"
            raise InputError([Problem(("--executor",), "a space without workloads for ray-tune", "one", fix)], "study")
        return _tuned(space, settings, folder, resume, watcher)
    if settings.storage is not None:
        return _shared(space, settings, folder, resume, watcher)
    return optimize(space, settings, folder, resume, watcher)


def _tuned(space: Space, settings: Settings, folder: Path, resume: bool, watcher: Watcher) -> str:
    """`optimize` through Ray Tune."""
    from dse.run.tuned_study import TunedStudy, check_tune

    sampler = check_tune(settings.sampler, settings.where)
    document = study_document(space, settings, sampler) | {"executor": settings.executor}
    known = earlier_trials(space, folder, resume, document)
    check_folder(folder)
    write_study(folder, document)
    watcher.start(sampler, len(known))
    journal = Journal(folder, space.name, space.objectives)
    study = TunedStudy(space, sampler, settings.seed, settings.engine, settings.where, journal, known, watcher.trial)
    try:
        return study.run(settings.trials, settings.timeout)
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        journal.close()


def _shared(space: Space, settings: Settings, folder: Path, resume: bool, watcher: Watcher) -> str:
    """`optimize` as one of several drivers of a study in a storage."""
    from dse.study.claims import SharedStudy
    from dse.study.shared import SharedSearch, own_seed

    assert settings.storage is not None
    sampler_name = resolve(settings.sampler, space)
    if sampler_name in PROVERS:
        fix = "run it alone, or use another sampler"
        raise InputError(
            [Problem(("--sampler",), "a sampler that several drivers can share", sampler_name, fix)], "study"
        )
    name = settings.study_name or space.name
    document = study_document(space, settings, sampler_name) | {"shared": name}
    document = json.loads(json.dumps(document))
    known = earlier_trials(space, folder, resume, document)
    shared = SharedStudy(settings.storage, name, space.objectives)
    try:
        before, first = shared.join(document)
        _check_shared(name, first, document)
        sampler = make_sampler(sampler_name, space, own_seed(settings.seed, before))
        executor = make_executor(evaluator_of(space, settings), where=settings.where)
        watcher.watch(executor)
        try:
            check_folder(folder)
            write_study(folder, document)
            watcher.start(sampler_name, len(known))
            journal = Journal(folder, space.name, space.objectives)
            numbers = {stored.number for stored in known}
            search = SharedSearch(space, sampler, executor, journal, shared, watcher.trial, numbers)
            try:
                return search.run(settings.trials, settings.timeout)
            except KeyboardInterrupt:
                return "interrupted"
            finally:
                journal.close()
        finally:
            executor.close()
    finally:
        shared.leave()


def _check_shared(name: str, first: dict[str, Any], document: dict[str, Any]) -> None:
    """Raise `InputError` where the drivers of a study do not mean the same; how they search is each one's own."""
    own = {"sampler": 0, "trials": 0, "seed": 0, "batch": 0, "design_timeout": 0}
    changed = differences({**first, **own}, {**document, **own})
    if changed:
        fix = "give this one a name of its own with --study-name"
        problems = [Problem((), "the study of the other drivers", line, fix) for line in changed]
        raise InputError(problems, f"study {name}")
