"""Where a run is kept: in a folder, or nowhere but in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dse.run.document import differences, open_study, proof_identity
from dse.space.space import Space
from dse.study.folder_lock import FolderLock
from dse.study.journal import JOURNAL, NOTHING_KEPT, Journal, KeptTrials, kept_trials, resumed_trials
from dse.study.ledger import TrialLog
from dse.study.memory import Memory
from dse.study.store import STUDY, check_folder, forget_proof, write_proof, write_study
from simcore.document.named_files import keep
from simcore.document.problem import InputError, Problem
from simcore.document.text import read_document


class Place(Protocol):
    """What a run leaves, in the order in which it leaves it."""

    def earlier(self, space: Space, document: Mapping[str, Any]) -> KeptTrials:
        """The trials of the study that goes on; `document` is the content of its `study.yaml`.

        Raises `InputError` where the study has changed, or where a new one would overwrite it.
        """

    def begin(self, space: Space, document: Mapping[str, Any]) -> TrialLog:
        """Keeps the document of a study; where its trials go.

        Raises `InputError` where nothing can be kept.
        """

    def space(self, space: Space) -> Space:
        """The space of the study that has begun, as its report will read it."""

    def conclude(self, space: Space, proof: Mapping[str, Any]) -> None:
        """Keeps what the sampler has proved (`dse.search.base.Prover.proof`)."""

    def close(self) -> None:
        """The run writes nothing more, reports neither."""


@dataclass
class RunFolder:
    """A folder with `study.yaml`, the journal, and `proof.json` where there is a proof."""

    path: Path
    resume: bool = False
    """Whether the study in the folder goes on."""
    _lock: FolderLock = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._lock = FolderLock(self.path)

    def earlier(self, space: Space, document: Mapping[str, Any]) -> KeptTrials:
        """See `Place.earlier`."""
        if self.resume:
            _check_resume(self.path, json.loads(json.dumps(document)))
            check_folder(self.path)
            self._lock.acquire()
            return resumed_trials(self.path, space.name, space.objectives)
        if os.path.exists(self.path / JOURNAL):  # False, too, where the path cannot be one; check_folder says why
            fix = "continue it with --resume, or choose another folder with --out"
            raise InputError([Problem((), "a new run folder", "one that holds a study", fix)], str(self.path))
        return NOTHING_KEPT

    def begin(self, space: Space, document: Mapping[str, Any]) -> TrialLog:
        """See `Place.begin`."""
        check_folder(self.path)
        self._lock.acquire()
        forget_proof(self.path)
        write_study(self.path, document)
        keep(document, self.path)
        return Journal(self.path, space.name, space.objectives)

    def space(self, space: Space) -> Space:
        """See `Place.space`: that of `study.yaml`, where names are spelled out."""
        return open_study(self.path).space

    def conclude(self, space: Space, proof: Mapping[str, Any]) -> None:
        """See `Place.conclude`."""
        study = read_document(self.path / STUDY).data
        write_proof(self.path, proof, proof_identity(study, kept_trials(self.path, space.objectives)))

    def close(self) -> None:
        """See `Place.close`."""
        self._lock.release()


@dataclass
class InMemory:
    """A run that is written nowhere; what it came to is in its attributes."""

    document: Mapping[str, Any] = field(default_factory=dict)
    log: Memory = field(default_factory=Memory)
    proof: Mapping[str, Any] | None = None

    def earlier(self, space: Space, document: Mapping[str, Any]) -> KeptTrials:
        """See `Place.earlier`: there is nothing to go on from."""
        return NOTHING_KEPT

    def begin(self, space: Space, document: Mapping[str, Any]) -> TrialLog:
        """See `Place.begin`."""
        self.document = document
        return self.log

    def space(self, space: Space) -> Space:
        """See `Place.space`: the very one."""
        return space

    def conclude(self, space: Space, proof: Mapping[str, Any]) -> None:
        """See `Place.conclude`."""
        self.proof = proof

    def close(self) -> None:
        """See `Place.close`."""


def make_room(folder: Path) -> Path:
    """Rename the folder of an earlier run, for a new one: `transformer1t.1`, then `transformer1t.2`, and so on.

    The new name. Raises `InputError` where that run still goes on, or writes its reports.
    """
    number = 1
    with FolderLock.held(folder) as lock:
        while (candidate := folder.with_name(f"{folder.name}.{number}")).exists():
            number += 1
        folder.rename(candidate)
        lock.follow(candidate)
    return candidate


def _check_resume(folder: Path, document: Mapping[str, Any]) -> None:
    """Raise `InputError` where what was asked has changed; when to stop, and `design_timeout`, may differ."""
    if not os.path.isfile(folder / STUDY):
        problem = Problem((), f"a run folder with a {STUDY}", "none", "drop --resume to start a new study")
        raise InputError([problem], str(folder))
    if not os.path.isfile(folder / JOURNAL) or not os.path.getsize(folder / JOURNAL):
        found = "an empty file" if os.path.isfile(folder / JOURNAL) else "none"
        fix = "put it back, or start anew: drop --resume, with another --out"
        raise InputError([Problem((), f"the {JOURNAL} of the study to resume", found, fix)], str(folder))
    old = read_document(folder / STUDY).data
    free = {"trials": 0, "design_timeout": 0, "stagnation": None, "gap": None}
    changed = differences({**old, **free}, {**document, **free})
    if changed:
        fix = "undo the change, or start a new study with --out"
        problems = [Problem((), "the study as it was started", line, fix) for line in changed]
        raise InputError(problems, f"cannot resume {folder}")
