"""What a picture or an explanation is asked about: a finished run, or one design document.

A run keeps what it takes to ask it more: its space and its engine. Answers to further questions cost simulations, so
they are found when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.record import StudyRecord
from dse.run.document import OpenStudy, open_study
from dse.run.record import record_in
from dse.space.space import Space
from dse.study.watch import WATCHER, Watcher
from dse.whatif.answers import NOTHING, WhatIf
from dse.whatif.ask import answers_about
from simcore.check.load import SPACE_KEYS, design_from
from simcore.document.problem import InputError, Problem
from simcore.document.text import read_document
from simcore.engine.registry import BUILT_IN
from simcore.result import Result
from simcore.simulate import simulate

_OF_A_SPACE = frozenset({*SPACE_KEYS, "versions"})
"""Keys of a space, and of the `study.yaml` of a run, that a design document has not."""


@dataclass(frozen=True)
class Study:
    """What a run was asked with, and is asked more with."""

    space: Space
    engine: str
    folder: Path | None = None
    """Where its `study.yaml` is; None of a run that was written nowhere."""

    @classmethod
    def of(cls, opened: OpenStudy) -> Study:
        """The study of a run folder."""
        return cls(opened.space, opened.engine, opened.folder)

    def evaluator(self) -> Evaluator:
        """What evaluates designs as the study did.

        Raises `InputError` where that is code that a file names, or where a cluster is bought for several workloads.
        """
        if self.engine not in BUILT_IN:
            problem = Problem(("engine",), f"an engine of the project ({', '.join(BUILT_IN)})", f"'{self.engine}'")
            raise InputError([problem], self.space.name)
        if self.space.jobs:
            fix = "every other design would have to be tuned for each workload: search a space of one of them"
            raise InputError([Problem(("workloads",), "a study of one workload", "several", fix)], self.space.name)
        return Evaluator(self.space.objectives, self.space.constraints, self.engine)


@dataclass(frozen=True)
class Subject:
    """A run (then `record` is there), or a design document."""

    name: str
    record: StudyRecord | None = None
    study: Study | None = None
    document: Mapping[str, Any] | None = None
    place: str = ""
    """Name of the folder or file that it was read from."""
    watcher: Watcher = field(default=WATCHER, compare=False)
    """Told what takes time."""

    @cached_property
    def what_if(self) -> WhatIf:
        """What a report knows of the run beside its journal."""
        if self.record is None or self.study is None or self.study.folder is None or not self.record.front:
            return NOTHING
        self.watcher.phase("asking what-ifs")
        return answers_about(self.record, self.study.space, self.study.engine, note=self.watcher.note)

    @property
    def engine(self) -> str:
        """The engine that simulates its designs again."""
        known = self.study is not None and self.study.engine in BUILT_IN
        return self.study.engine if known and self.study is not None else "auto"

    @cached_property
    def result(self) -> Result:
        """The design document, simulated."""
        assert self.document is not None
        return simulate(design_from(self.document), self.engine)


def subject_of(path: str, *, bounds: bool, watcher: Watcher = WATCHER) -> Subject:
    """The run in a folder, or the design in a file; `bounds`: whether what is proven of the run is asked for.

    Raises `InputError` where it is neither.
    """
    place = Path(path)
    if not place.is_dir():
        return _design_subject(path, watcher)
    watcher.phase("reading the journal")
    opened = open_study(place)
    record = record_in(opened, bounds, watcher)
    if not record.trials:
        fix = "evaluate some first: dse optimize SPACE --out RUN --resume"
        raise InputError([Problem((), "a journal with trials", "one without any", fix)], path)
    name = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in record.space)
    return Subject(name, record, Study.of(opened), place=place.name, watcher=watcher)


def _design_subject(path: str, watcher: Watcher) -> Subject:
    document = read_document(path)
    if _OF_A_SPACE.intersection(document.data):
        fix = f"search it first: dse optimize {path}, and give the run folder"
        raise InputError([Problem((), "a run folder or a design document", "a space", fix)], path)
    design = design_from(document.data, document)
    return Subject(Path(path).stem, document=design.document(), place=path, watcher=watcher)
