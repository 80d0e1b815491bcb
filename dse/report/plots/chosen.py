"""The designs that a picture shows: picks of runs, whole fronts, design documents; each with its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.describe import compare
from dse.report.pick import KNEE, ROBUST, pick
from dse.report.plots.base import Options
from dse.report.units import clean_text, format_number, shorten_text
from dse.report.values import read_result
from dse.whatif.answers import NOTHING
from dse.whatif.subject import Subject
from simcore.document.problem import InputError, Problem
from simcore.result import Result

MOST_ROWS = 12
"""Designs of a front that are shown: evenly along it, with its ends and its knee."""


@dataclass(frozen=True)
class Chosen:
    """One design: of a trial, or of a document. Of a cluster for several workloads one for each of them."""

    name: str
    """Such as `#38`, or `#38 gpt3`."""
    note: str
    """What it is among others: `knee`, `robust`, `best:cost.total`; empty where it is none."""
    run: str
    trial: int | None
    document: Mapping[str, Any]
    result: Result
    told: str = ""
    """In what it differs from the others shown."""


@dataclass(frozen=True)
class Choice:
    """What is shown of how much."""

    designs: tuple[Chosen, ...]
    of: int
    """Members of the front that they were taken from; 0 where they were picked."""

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs, each once."""
        return tuple(dict.fromkeys(chosen.run for chosen in self.designs))

    def describe(self) -> str:
        """`16 of 27 designs on the front of transformer1t`."""
        shown = len({(chosen.run, chosen.trial) for chosen in self.designs})
        runs = shorten_text(", ".join(self.runs), 60)
        if not self.of:
            return runs if shown == 1 else f"{shown} designs of {runs}"
        if self.of == 1:
            return f"the best design of {runs}"
        front = f"{format_number(self.of)} designs on the front of {runs}"
        return f"all {front}" if shown == self.of else f"{shown} of {front}, evenly along it"


def choose_one(subject: Subject, options: Options) -> Chosen:
    """The one design to show: of a run the pick that `--trial` says, else the robust one, else the knee, else the best.

    Raises `InputError` where several were asked for, or where there is none.
    """
    if len(options.trial) > 1:
        problem = Problem(("--trial",), "one design", f"{len(options.trial)}", "make a picture of each")
        raise InputError([problem], subject.name)
    return next(iter(_picked(subject, options.trial or (None,))))


def choose_along(subjects: Sequence[Subject], options: Options) -> Choice:
    """The designs to set side by side: those picked, else of one run its front, else the usual pick of each run.

    Raises `InputError` where a run has no feasible design.
    """
    only = subjects[0]
    if len(subjects) > 1 or options.trial or only.record is None:
        words = options.trial or (None,)
        found = [
            replace(
                chosen, run=run, name=f"{run} {chosen.name}" if len(subjects) > 1 and subject.record else chosen.name
            )
            for subject, run in zip(subjects, names_of(subjects), strict=True)
            for chosen in _picked(subject, words)
        ]
        return Choice(_tell(_join_notes(found)), 0)
    front = only.record.front
    if not front:
        raise InputError([_nothing_feasible()], only.name)
    knee = only.record.knee
    keep = frozenset({front.index(knee)}) if knee is not None else frozenset()
    kept = [front[index] for index in spread_indices(len(front), MOST_ROWS, keep)]
    found = [c for trial in kept for c in _parts(only.record, trial, KNEE if trial is knee else "")]
    return Choice(_tell(found), len(front))


def _picked(subject: Subject, words: Sequence[str | None]) -> Iterator[Chosen]:
    record = subject.record
    if record is None:
        assert subject.document is not None
        yield Chosen(clean_text(subject.name), "", subject.name, None, subject.document, subject.result)
        return
    for word in words:
        trial = simulated_trial(subject, record, word)
        yield from _parts(record, trial, _note(subject, trial, word))


def _join_notes(found: Sequence[Chosen]) -> list[Chosen]:
    """Each design once: one that is the knee and the robust pick is both."""
    joined: dict[tuple[str, str], Chosen] = {}
    for chosen in found:
        key = chosen.run, chosen.name
        before = joined.get(key)
        notes = chosen.note if before is None else ", ".join(dict.fromkeys([before.note, chosen.note]))
        joined[key] = replace(chosen, note=notes)
    return list(joined.values())


def names_of(subjects: Sequence[Subject]) -> list[str]:
    """Names of the runs, told apart where two spaces have the same."""
    names = [subject.name for subject in subjects]
    return [
        clean_text(name if names.count(name) == 1 else f"{name} ({subject.place or index})")
        for index, (name, subject) in enumerate(zip(names, subjects, strict=True), 1)
    ]


def pick_of(subject: Subject, record: StudyRecord, word: str | None) -> TrialRecord:
    """The trial that `--trial` means; what a robust pick takes is asked only where one is meant."""
    asks = word is None or word.strip() == ROBUST
    return pick(record, subject.what_if if asks else NOTHING, word)


def simulated_trial(subject: Subject, record: StudyRecord, word: str | None) -> TrialRecord:
    """As `pick_of`; raises `InputError` where nothing is feasible and no trial named, or one that has no result."""
    if word is None and not record.feasible_trials:
        raise InputError([_nothing_feasible()], subject.name)
    trial = pick_of(subject, record, word)
    if trial.metrics is None:
        problem = Problem(("--trial",), "a trial that was simulated", f"trial {trial.number}, which is {trial.state}")
        raise InputError([problem], subject.name)
    return trial


def _note(subject: Subject, trial: TrialRecord, word: str | None) -> str:
    if word is not None:
        return "" if word.strip().isdecimal() else clean_text(word)
    if subject.what_if.robust == trial.number:
        return ROBUST
    record = subject.record
    assert record is not None
    return KNEE if record.knee is not None and record.knee.number == trial.number else "best"


def _parts(record: StudyRecord, trial: TrialRecord, note: str) -> Iterator[Chosen]:
    for workload, part in trial.parts:
        if part.metrics is not None and part.design is not None:
            name = f"#{trial.number} {shorten_text(workload, 14)}".strip()
            yield Chosen(name, note, record.space, trial.number, part.design, read_result(part.metrics))


def _tell(found: Sequence[Chosen]) -> tuple[Chosen, ...]:
    phrases = compare([chosen.document for chosen in found]).phrases
    return tuple(replace(chosen, told=", ".join(told)) for chosen, told in zip(found, phrases, strict=True))


def _nothing_feasible() -> Problem:
    fix = "relax the constraint that binds (dse report RUN names it), or give --trial NUMBER"
    return Problem((), "a run with a feasible design", "none", fix)
