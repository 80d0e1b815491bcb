"""A run: from a space and settings to what is kept of it, whoever drives the search and wherever its trials live.

The order matters: everything that can be wrong with the input is found before the folder is touched, and everything
that can be wrong with the folder before the search begins.
"""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from dse.execute.ahead import compiled_ahead
from dse.proof.certificate import proven_bounds
from dse.run.document import study_document
from dse.run.driver import Driver
from dse.run.place import Place, RunFolder
from dse.run.proving import Proving, is_worth_proving
from dse.run.reachable import check_constraints
from dse.run.settings import Settings
from dse.search import Prover, Sampler
from dse.space.space import Space
from dse.study.checkpoint import Checkpoint, front_before, latest_checkpoint
from dse.study.journal import KeptTrials
from dse.study.stop import Limits, gap_problem
from dse.study.study import Study
from dse.study.watch import WATCHER, Watcher
from simcore.document.problem import InputError, InputWarning, Problem

CHECKING = "checking constraints"
OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG)
"""Errors that no Ctrl-C makes: what was evaluated could not be kept."""


def optimize(
    space: Space,
    settings: Settings,
    folder: Path,
    resume: bool = False,
    watcher: Watcher = WATCHER,
    proving: Proving | None = None,
) -> str:
    """Runs a study into `folder`, or goes on with the one there, without reports; see `run_study`."""
    with closing(RunFolder(folder, resume)) as place:
        return run_study(space, settings, place, watcher, proving)


def run_study(
    space: Space, settings: Settings, place: Place, watcher: Watcher = WATCHER, proving: Proving | None = None
) -> str:
    """Runs a study, kept at `place`; why it ended (a reason of `dse.study.stop`, `exhausted`, `interrupted`).

    `proving` begins the certificate while it searches. What was evaluated is kept however it ends; the caller closes
    the place, after what else is written there. Raises `InputError` for input that cannot be used.
    """
    try:
        return _run_study(space, settings, place, watcher, proving)
    except Exception as error:
        if not watcher.interrupted or (isinstance(error, OSError) and error.errno in OF_DISKS):
            raise
        return "interrupted"  # the error is what a library made of Ctrl-C in a callback


def _run_study(space: Space, settings: Settings, place: Place, watcher: Watcher, proving: Proving | None) -> str:
    watcher.phase(CHECKING)
    check_constraints(space, settings.engine, watcher.note)
    driver = driver_of(settings)
    name = driver.sampler_name(space, settings)
    limits = _limits(space, settings)
    document = study_document(space, settings, name) | driver.noted(space, settings)
    with ExitStack() as stack:
        known = place.earlier(space, document)
        document["trials"] = max(document["trials"], len(known))  # of a run that has more, all are repeated
        stack.enter_context(compiled_ahead(settings.engine))
        seed = driver.join(space, settings, document, stack)
        checkpoint = _checkpoint(limits, known, watcher) if driver.repeats else None
        sampler, checkpoint = _resumed_sampler(partial(driver.sampler, space, name, seed), name, checkpoint)
        drive = driver.drive(space, settings, watcher, stack)
        log = place.begin(space, document)
        sampler.on_note = watcher.note
        if isinstance(sampler, Prover):
            stack.callback(lambda prover: place.conclude(space, prover.proof()), sampler)
        stack.callback(log.close)
        watcher.start(name, len(known))
        study = Study(space, sampler, driver.ledger(settings, log, known, sampler), watcher.trial)
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


def driver_of(settings: Settings) -> Driver:
    """Who drives the search; what a kind of driver needs is loaded with it."""
    if settings.executor == "ray-tune":
        from dse.run.ray_tune_driver import RayTuneDriver

        return RayTuneDriver()
    if settings.storage is not None:
        from dse.run.shared_driver import SharedDriver

        return SharedDriver(settings.storage)
    return Driver()


def _limits(space: Space, settings: Settings) -> Limits:
    """When to stop. Raises `InputError` where a gap is asked for and an objective has no proven bound."""
    bounds: dict[str, float | None] = {} if settings.gap is None else proven_bounds(space, settings.engine)
    why = None if settings.gap is None else gap_problem(bounds, space.objectives)
    if why is not None:
        fix = "stop by trials, time or stagnation instead"
        raise InputError([Problem(("gap",), "a proven bound for each objective", why, fix)], "study")
    return Limits(settings.trials, settings.timeout, settings.stagnation, settings.gap, bounds)


def _checkpoint(limits: Limits, known: KeptTrials, watcher: Watcher) -> Checkpoint | None:
    """Where the study can go on; None where it is replayed: it is new, or every outcome has to be seen again."""
    steered = limits.stagnation is not None or limits.gap is not None
    return None if steered or watcher.wants_all else latest_checkpoint(known)


def _resumed_sampler(
    begin: Callable[[], Sampler], name: str, checkpoint: Checkpoint | None
) -> tuple[Sampler, Checkpoint | None]:
    """The sampler, as it was at a checkpoint; as it begins where that cannot be used, which is said."""
    sampler = begin()
    if checkpoint is None:
        return sampler, None
    try:
        sampler.restore(checkpoint.sampler)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as error:
        told = f"the journal's checkpoint after {checkpoint.trials} trials is none of '{name}' ({error})"
        warnings.warn(f"{told}; all trials are proposed again", InputWarning, stacklevel=2)
        return begin(), None
    return sampler, checkpoint
