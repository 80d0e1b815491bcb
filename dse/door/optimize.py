"""`dse.optimize`: a search from a program or a notebook, the same to the byte as that of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Unpack

from dse.door.options import Options, as_arguments, check_options
from dse.door.reports import report_run
from dse.door.run import Run
from dse.door.watch import Caller
from dse.evaluate.record import TrialRecord
from dse.run.document import open_space, open_study
from dse.run.drive import run_study
from dse.run.place import InMemory, RunFolder
from dse.run.proving import Proving
from dse.run.record import record_in, record_of, trials_of
from dse.run.settings import settle
from dse.space.space import Space, load_space
from dse.study.watch import WATCHER, Watcher
from dse.whatif.subject import Study
from simcore.document.problem import InputError, Problem


@as_arguments()
def optimize(
    space: Space | str | Path | Mapping[str, Any],
    *,
    trials: int | None = None,
    sampler: str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    folder: str | Path | None = None,
    callback: Callable[[TrialRecord], object] | None = None,
    progress: bool = False,
    **options: Unpack[Options],
) -> Run:
    """Searches a space for the designs worth building.

    Parameters
    ----------
    space
        As `dse.load_space` gives it, or what that takes: a path (the `study.yaml` of an earlier run repeats that run),
        or a mapping.
    trials, sampler, seed
        Distinct designs to try, how to choose them, and from which seed; those of the space's `study` section unless
        given. The same space, sampler and seed give the same trials, on any machine, and as the command line does.
    jobs
        Processes that evaluate; 1 unless given. A script that asks for more needs `if __name__ == "__main__":`.
    folder
        Run folder, with everything that `dse optimize` writes into it. Without one, nothing is written.
    callback
        Called with each trial when it is done, in order. It ends the search by raising `StopIteration`; whatever else
        it raises comes out of `optimize`.
    progress
        Show a bar on stderr (plain lines where that is neither a terminal nor a notebook).
    options
        See `dse.door.options.Options`.

    Ctrl-C, and interrupting a notebook, end the search and return what was done; `Run.ended` says so. Raises
    `InputError` with everything that is wrong with the space and with what is asked for.
    """
    asked = check_options({"trials": trials, "sampler": sampler, "seed": seed, "jobs": jobs, **options})
    _check_folder(folder, asked["resume"])
    loaded, earlier = _open(space)
    settings = settle(loaded, earlier, asked)
    place = InMemory() if folder is None else RunFolder(Path(folder), asked["resume"])
    with closing(place), _progress(loaded, settings.trials) if progress else nullcontext(WATCHER) as shown:
        caller = Caller(shown, callback)
        proving = Proving()
        ended = run_study(loaded, settings, place, caller, proving)
        ended = "stopped" if caller.stopped else ended
        if isinstance(place, InMemory):
            shown.phase("bounding")
            done = sorted(place.log.trials, key=lambda trial: trial.number)
            found, prove = trials_of(loaded, done), proving.certify
            record = record_of(loaded, place.document, found, place.proof, note=shown.note, prove=prove)
            return Run(record, ended, Study(loaded, settings.engine))
        return _reported(place.path, ended, shown, proving)


def _check_folder(folder: str | Path | None, resume: bool) -> None:
    """Raise `InputError` for a folder that has no name, and where there is none to go on with."""
    if folder is None and resume:
        raise InputError([Problem(("resume",), "a folder with a study to go on with", "none", "give folder")])
    if folder is not None and (not str(folder) or "\0" in str(folder)):
        raise InputError([Problem(("folder",), "the name of a folder", repr(str(folder)))])


def _open(space: Space | str | Path | Mapping[str, Any]) -> tuple[Space, Mapping[str, Any] | None]:
    if isinstance(space, str | Path):
        return open_space(str(space))
    return space if isinstance(space, Space) else load_space(space), None


def _progress(space: Space, trials: int) -> Any:
    """What shows the command line's progress, without its handling of signals."""
    from dse.door.interrupt import Interrupt
    from dse.door.progress import Progress

    return Progress(space, trials, Interrupt())


def _reported(folder: Path, ended: str, shown: Watcher, proving: Proving) -> Run:
    """The run in a folder, with its reports unless it was broken off: who does that does not want to wait."""
    if ended in ("interrupted", "stopped"):
        study = open_study(folder)
        record = record_in(study, watcher=shown, prove=proving.certify)
    else:
        reported = report_run(folder, watcher=shown, may_be_empty=True, prove=proving.certify)
        study, record = reported.study, reported.record
    return Run(record, ended, Study.of(study))
