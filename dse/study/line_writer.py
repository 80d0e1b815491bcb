"""Appends lines to a journal: one open file, one writer, synchronised to disk when a batch is done.

Optuna's own storage locks, opens and synchronises the file for each trial, so that many drivers can share it, reads
each trial back and keeps it; that takes longer than a simulation, and the memory of all trials.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from pathlib import Path

from dse.space.objective import Objective
from dse.study.optuna_file import CREATE_STUDY, has_names, names_line, study_line, trial_line
from dse.study.stored import StoredTrial

_OF_TRIAL = b'"datetime_start"'
"""What only the line of a trial has; so that those of the study are found without reading every trial."""


class LineWriter:
    """Appends to a journal whose lines are sound (`dse.study.journal.resumed_trials`), or to a new one."""

    def __init__(self, path: Path, name: str, objectives: tuple[Objective, ...]) -> None:
        self._worker = f"{uuid.uuid4()}-{threading.get_ident()}"
        self._objectives = objectives
        self.trials = 0
        """Trials that the file has."""
        studies, named = self._read_head(path)
        self._file = path.open("ab")
        if name not in studies:
            self._write(study_line(self._worker, name, objectives))
            studies.append(name)
        self._study = studies.index(name)
        if self._study not in named:
            self._write(names_line(self._worker, self._study, objectives))

    def _read_head(self, path: Path) -> tuple[list[str], set[int]]:
        """Names of the studies of a file, and numbers of those whose objectives are named; counts its trials."""
        studies, named = list[str](), set[int]()
        if not path.exists():
            return studies, named
        with path.open("rb") as file:
            for line in file:
                if _OF_TRIAL in line:
                    self.trials += 1
                    continue
                log = json.loads(line)
                if log["op_code"] == CREATE_STUDY:
                    studies.append(log["study_name"])
                elif has_names(log):
                    named.add(log["study_id"])
        return studies, named

    def append(self, trial: StoredTrial) -> None:
        """Append a trial."""
        self._write(trial_line(self._worker, self._study, trial, self._objectives))
        self.trials += 1

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()  # from here on a killed process loses nothing

    def synchronise(self) -> None:
        """Make sure that what was appended outlives a power failure."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self.synchronise()
        self._file.close()
