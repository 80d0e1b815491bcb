"""The journal of a study: every trial as it was finished, append-only, in Optuna's format (`dse.study.optuna_file`).

`journal.log` has a line for each trial, appended as soon as its outcome is there. When it has `TRIALS_A_PART`, the
next one puts them into a part, `journal.NNNNN.parquet` (`dse.study.sealing`): a tenth of the size, read by columns. A
line that a kill left unfinished, or that a disk or an editor damaged, costs its own trial only: readers pass over it
and say so, and a study that is resumed goes on from a journal without it.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dse.evaluate.evaluate import Outcome
from dse.space.objective import Objective
from dse.study.checkpoint import Checkpoint
from dse.study.give_back import give_back
from dse.study.kept import NOTHING_KEPT as NOTHING_KEPT
from dse.study.kept import KeptTrials as KeptTrials
from dse.study.line_writer import LineWriter
from dse.study.open_file import OpenFile
from dse.study.parts import JournalPart, missing_parts, part_paths
from dse.study.sealing import seal_lines
from dse.study.stored import StoredTrial as StoredTrial
from simcore.document.problem import InputError, InputWarning, Problem

JOURNAL = "journal.log"
TRIALS_A_PART = 20_000


class Journal:
    """Appends finished trials, to a journal that is whole (`resumed_trials`) or to a new one."""

    def __init__(self, folder: Path, name: str, objectives: tuple[Objective, ...]) -> None:
        self._path, self._name, self._objectives = folder / JOURNAL, name, objectives
        self._writer = self._open()
        self._trials = self._writer.trials + sum(JournalPart(part).rows for part in part_paths(folder))
        self._checkpoints: deque[Checkpoint] = deque()
        """The latest one that all trials before it are written for, and those to come."""

    def _open(self) -> LineWriter:
        return LineWriter(self._path, self._name, self._objectives)

    def append(
        self, number: int, params: Mapping[str, Any], outcome: Outcome, draws: Mapping[str, Any] | None = None
    ) -> None:
        """Append a trial; `draws` are the sampler's own numbers, where a study cannot be replayed from its seed."""
        if self._writer.trials >= TRIALS_A_PART:
            self._seal()
        self._writer.append(StoredTrial(number, dict(params), outcome, None if draws is None else dict(draws)))
        self._trials += 1

    def remember(self, trials: int, state: Mapping[str, Any]) -> None:
        """The sampler was in this state before it proposed trial `trials`; kept with the next part."""
        self._checkpoints.append(Checkpoint(trials, state))
        while len(self._checkpoints) > 1 and self._checkpoints[1].trials <= self._trials:
            self._checkpoints.popleft()

    def _seal(self) -> None:
        self._writer.close()
        reached = [one.document() for one in self._checkpoints if one.trials <= self._trials]
        told = reached[-1] if reached else {}
        seal_lines(self._path, self._writer.trials // TRIALS_A_PART, TRIALS_A_PART, self._objectives, told)
        self._writer = self._open()
        give_back()

    def synchronise(self) -> None:
        """Make sure that what was appended outlives a power failure."""
        self._writer.synchronise()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def read_trials(folder: Path, objectives: tuple[Objective, ...]) -> Iterator[StoredTrial]:
    """The trials of a journal in order of their numbers, each once.

    Warns (`InputWarning`) of lines that cannot be read, with file and line, and passes over them. Raises
    `InputError` where the journal is missing, or is not one of this program.
    """
    return iter(kept_trials(folder, objectives))


def resumed_trials(folder: Path, name: str, objectives: tuple[Objective, ...]) -> KeptTrials:
    """The trials of a journal; it is left with its whole, sound lines alone, so that it can be appended to.

    Where the line that creates the study called `name` was lost, it is put first again. Warns and raises as
    `read_trials`.
    """
    kept = kept_trials(folder, objectives)
    if kept.damaged or kept.repeated or kept.whole < (folder / JOURNAL).stat().st_size:
        kept.mend(name)
        return kept_trials(folder, objectives)
    return kept


def kept_trials(folder: Path, objectives: tuple[Objective, ...]) -> KeptTrials:
    """The trials of a journal, gone through once; warns and raises as `read_trials`."""
    kept = open_journal(folder, objectives)
    for _ in kept.scan():
        pass
    return kept


def open_journal(folder: Path, objectives: tuple[Objective, ...]) -> KeptTrials:
    """The journal of a folder, to be scanned.

    Warns (`InputWarning`) of parts that are not there. Raises `InputError` where there is no journal, or a part that
    cannot be read.
    """
    path = folder / JOURNAL
    if not path.is_file():
        problem = Problem((), f"a run folder with a {JOURNAL}", "none", "give the folder of an earlier dse optimize")
        raise InputError([problem], str(folder))
    file = OpenFile(path)  # before the parts are listed: what a driver moves meanwhile is in one or in both
    paths = part_paths(folder)
    for name in missing_parts(paths):
        told = f"{folder / name}: expected a part of the journal, got none; passed over (--resume evaluates it again)"
        warnings.warn(told, InputWarning, stacklevel=2)
    return KeptTrials(file, objectives, [JournalPart(part) for part in paths])
