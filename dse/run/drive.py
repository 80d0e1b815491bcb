"""A run: from a space and settings to what is kept of it, whoever drives the search and wherever its trials live.

The order matters: everything that can be wrong with the input is found before the folder is touched, and everything
that can be wrong with the folder before the search begins.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.buy.evaluate import Buyer, tuning_objective
from dse.buy.tuner import Tuner
from dse.evaluate.evaluate import Evaluate, Evaluator
from dse.execute import make_executor
from dse.execute.ahead import compiled_ahead
from dse.proof.certificate import proven_bounds
from dse.proof.parts import PROVABLE
from dse.run.document import differences, study_document
from dse.run.place import Place, RunFolder
from dse.run.proving import Proving, is_worth_proving
from dse.run.reachable import check_constraints
from dse.run.settings import Settings
from dse.search import Prover, Sampler, make_sampler, resolve_sampler
from dse.space.samplers import PROVERS
from dse.space.space import Space
from dse.study.checkpoint import Checkpoint, front_before, latest_checkpoint
from dse.study.journal import KeptTrials
from dse.study.ledger import Ledger, TrialLog
from dse.study.one_driver import OneDriver
from dse.study.stop import Limits, gap_problem
from dse.study.study import Study
from dse.study.watch import WATCHER, Watcher
from simcore.document.problem import InputError, InputWarning, Problem

if TYPE_CHECKING:
    from dse.study.claims import SharedStudy

CHECKING = "checking constraints"
Drive = Callable[[Study, Limits], str]
"""Searches until a limit is reached; why it ended."""


def optimize(
    space: Space,
    settings: Settings,
    folder: Path,
    resume: bool = False,
    watcher: Watcher = WATCHER,
    proving: Proving | None = None,
) -> str:
    """Runs a study into `folder`, or goes on with the one there; see `run_study`."""
    return run_study(space, settings, RunFolder(folder, resume), watcher, proving)


def run_study(
    space: Space, settings: Settings, place: Place, watcher: Watcher = WATCHER, proving: Proving | None = None
) -> str:
    """Runs a study, kept at `place`; why it ended (a reason of `dse.study.stop`, `exhausted`, `interrupted`).

    `proving` begins the certificate while it searches. What was evaluated is kept however it ends. Raises `InputError`
    for input that cannot be used.
    """
    try:
        return _run_study(space, settings, place, watcher, proving)
    except Exception as error:
        of_files = isinstance(error, OSError) and not isinstance(error, ConnectionError)  # a full disk, say
        if not watcher.interrupted or of_files:
            raise
        return "interrupted"  # the error is what a library made of Ctrl-C in a callback


def _run_study(space: Space, settings: Settings, place: Place, watcher: Watcher, proving: Proving | None) -> str:
    watcher.phase(CHECKING)
    check_constraints(space, settings.engine, watcher.note)
    name = _sampler_name(space, settings)
    limits = _limits(space, settings)
    document = study_document(space, settings, name) | _beside(space, settings)
    with ExitStack() as closing:
        closing.callback(place.leave)
        known = place.earlier(space, document)
        document["trials"] = max(document["trials"], len(known))  # of a run that has more, all are repeated
        closing.enter_context(compiled_ahead(settings.engine))
        storage, seed = _join(space, settings, document, closing)
        sampler, checkpoint = _resumed_sampler(
            space, settings, name, seed, _checkpoint(limits, settings, known, watcher)
        )
        drive = _drive(space, settings, watcher, closing)
        log = place.begin(space, document)
        sampler.on_note = watcher.note
        if isinstance(sampler, Prover):
            closing.callback(lambda prover: place.conclude(space, prover.proof()), sampler)
        closing.callback(log.close)
        watcher.start(name, len(known))
        study = Study(space, sampler, _ledger(settings, log, known, storage, sampler), watcher.trial)
        if checkpoint is not None:
            study.skip(checkpoint.trials, known.digests(checkpoint.trials))
            watcher.skip(checkpoint.trials, front_before(known, space.objectives))
        # A prover has a certificate of its own.
        if proving is not None and not isinstance(sampler, Prover) and is_worth_proving(space, settings.engine):
            proving.begin(partial(place.space, space), settings.engine, watcher)
            study.between = proving.between
        try:
            return drive(study, limits)
        except KeyboardInterrupt:
            return "interrupted"


def _sampler_name(space: Space, settings: Settings) -> str:
    """The sampler that is meant. Raises `InputError` where it cannot be used as the study is driven or evaluated."""
    if settings.executor == "ray-tune":
        from dse.run.tuned_study import check_tuned

        return check_tuned(space, settings)
    if settings.storage is not None:
        name = resolve_sampler(settings.sampler, space, settings.engine, proving=False)
        if name in PROVERS:
            what, fix = "a sampler that several drivers can share", "run it alone, or use another sampler"
            raise InputError([Problem(("--sampler",), what, name, fix)], "study")
        return name
    name = resolve_sampler(settings.sampler, space, settings.engine)
    if name in PROVERS and settings.engine not in PROVABLE:
        fix = f"use --engine {PROVABLE[0]}, or another sampler"
        what = f"{' or '.join(PROVABLE)} for exact"
        raise InputError([Problem(("--engine",), what, f"'{settings.engine}'", fix)], "study")
    return name


def _limits(space: Space, settings: Settings) -> Limits:
    """When to stop. Raises `InputError` where a gap is asked for and an objective has no proven bound."""
    bounds: dict[str, float | None] = {} if settings.gap is None else proven_bounds(space, settings.engine)
    why = None if settings.gap is None else gap_problem(bounds, space.objectives)
    if why is not None:
        fix = "stop by trials, time or stagnation instead"
        raise InputError([Problem(("gap",), "a proven bound for each objective", why, fix)], "study")
    return Limits(settings.trials, settings.timeout, settings.stagnation, settings.gap, bounds)


def _beside(space: Space, settings: Settings) -> dict[str, Any]:
    """What `study.yaml` says of a study that its seed does not repeat."""
    if settings.executor == "ray-tune":
        return {"executor": settings.executor}
    return {} if settings.storage is None else {"shared": settings.study_name or space.name}


def _join(
    space: Space, settings: Settings, document: Mapping[str, Any], closing: ExitStack
) -> tuple[SharedStudy | None, int]:
    """The shared study, now with this driver, if the study is one; and the seed of this driver's sampler.

    Raises `InputError` where the drivers of a study do not mean the same; how they search is each one's own.
    """
    if settings.storage is None:
        return None, settings.seed
    from dse.study.claims import SharedStudy

    storage = SharedStudy(settings.storage, document["shared"], space.objectives)
    closing.callback(storage.leave)
    before, first = storage.join(document)
    own = {"sampler": 0, "trials": 0, "seed": 0, "batch": 0, "design_timeout": 0}
    changed = differences({**first, **own}, {**json.loads(json.dumps(document)), **own})
    if changed:
        fix = "give this one a name of its own with --study-name"
        problems = [Problem((), "the study of the other drivers", line, fix) for line in changed]
        raise InputError(problems, f"study {document['shared']}")
    return storage, (settings.seed + before) % 2**32  # two drivers with one seed would propose the same


def _sampler(space: Space, settings: Settings, name: str, seed: int) -> Sampler:
    if settings.executor == "ray-tune":
        from dse.search.optuna_sampler import MAKERS

        return MAKERS[name](space, seed)
    return make_sampler(name, space, seed)


def _checkpoint(limits: Limits, settings: Settings, known: KeptTrials, watcher: Watcher) -> Checkpoint | None:
    """Where the study can go on; None where it is replayed: it is new, or every outcome has to be seen again."""
    steered = limits.stagnation is not None or limits.gap is not None
    if steered or watcher.wants_all or settings.storage is not None or settings.executor == "ray-tune":
        return None
    return latest_checkpoint(known)


def _resumed_sampler(
    space: Space, settings: Settings, name: str, seed: int, checkpoint: Checkpoint | None
) -> tuple[Sampler, Checkpoint | None]:
    """The sampler, as it was at a checkpoint; as it begins where that cannot be used, which is said."""
    sampler = _sampler(space, settings, name, seed)
    if checkpoint is None:
        return sampler, None
    try:
        sampler.restore(checkpoint.sampler)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as error:
        told = f"the journal's checkpoint after {checkpoint.trials} trials is none of '{name}' ({error})"
        warnings.warn(f"{told}; all trials are proposed again", InputWarning, stacklevel=2)
        return _sampler(space, settings, name, seed), None
    return sampler, checkpoint


def _drive(space: Space, settings: Settings, watcher: Watcher, closing: ExitStack) -> Drive:
    """Who drives the search: Ray Tune, or the study itself with an executor that is closed in the end."""
    if settings.executor == "ray-tune":
        from dse.run.tuned_study import drive_tuned

        return lambda study, limits: drive_tuned(study, limits, settings)
    executor = make_executor(evaluator_of(space, settings), where=settings.where)
    closing.callback(executor.close)
    watcher.watch(executor)
    return lambda study, limits: study.run(limits, executor)


def evaluator_of(space: Space, settings: Settings) -> Evaluate:
    """What evaluates the space's designs, or the clusters that it is to choose from."""
    if not space.jobs:
        return Evaluator(space.objectives, space.constraints, settings.engine)
    study, tune = space.settings, tuning_objective(space)
    asked = () if any(objective.name == tune.name for objective in space.objectives) else (tune,)
    evaluator = Evaluator((*space.objectives, *asked), space.constraints, settings.engine)
    tuner = Tuner(evaluator, tune, study.tune_sampler, study.tune_trials, settings.seed)
    return Buyer(space, tuner, study.aggregate)


def _ledger(
    settings: Settings, log: TrialLog, known: KeptTrials, storage: SharedStudy | None, sampler: Sampler
) -> Ledger:
    """Where the trials live."""
    if storage is not None:
        from dse.study.shared import Shared

        return Shared(storage, log, settings.trials, (stored.number for stored in known))
    if settings.executor == "ray-tune":
        from dse.search.optuna_sampler import OptunaSampler
        from dse.study.unordered import Unordered

        assert isinstance(sampler, OptunaSampler)  # the only ones that Ray Tune drives (`check_tuned`)
        return Unordered(log, sampler.smooth, known)
    return OneDriver(log, known)
