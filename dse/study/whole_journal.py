"""A study as one journal file of Optuna, whatever parts its own journal has: for Optuna's tools and dashboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from dse.space.objective import Objective
from dse.study.files import write_pieces
from dse.study.journal import JOURNAL, kept_trials
from dse.study.kept import KeptTrials
from dse.study.optuna_file import names_line, seal, study_line, unseal
from simcore.document.problem import InputError, Problem

_WRITER = "dse-export"
_OF_FIRST = b'"study_id":0,'
_HEAD = 300
"""Bytes of a line in which it names its study."""


def write_whole_journal(folder: Path, name: str, objectives: tuple[Objective, ...], path: Path) -> int:
    """Write all trials of a run folder to `path`, as the study `name`; how many there are.

    Trials are in the order of their numbers, which Optuna's are where none is missing. Warns and raises as
    `dse.study.journal.read_trials`, and raises `InputError` where `path` is the folder's own journal.
    """
    if path.resolve() == (folder / JOURNAL).resolve():
        problem = Problem(("--optuna",), "a file of its own", "the journal of the run", "choose another name")
        raise InputError([problem], "command line")
    kept = kept_trials(folder, objectives)
    write_pieces(path, _lines(kept, name, objectives))
    return len(kept)


def _lines(kept: KeptTrials, name: str, objectives: tuple[Objective, ...]) -> Iterator[bytes]:
    yield study_line(_WRITER, name, objectives)
    yield names_line(_WRITER, 0, objectives)
    for line in kept.lines():
        yield line if _OF_FIRST in line[:_HEAD] else _of_first(line)


def _of_first(line: bytes) -> bytes:
    """A line of another study of a journal as one of the first, and only, study."""
    log = json.loads(unseal(line)) | {"study_id": 0}
    return seal(json.dumps(log, separators=(",", ":")).encode())
