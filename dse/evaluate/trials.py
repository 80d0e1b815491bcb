"""All trials of a study: columns of what every reader asks of all of them, and whole trials where one is looked at.

A trial is some ten kilobytes of documents. Counts, fronts, pictures and windows need a few numbers of each, which are
arrays here, less than a hundred bytes a trial; a trial itself is read from where it is kept when somebody takes it out
of the sequence, and not held.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.cells import Cells, ReadCells
from dse.evaluate.trial import VALID, State, TrialRecord
from dse.space.sections import JOB_SECTIONS

AT_ONCE = 500
"""Whole trials that are held while all are gone through."""
TEXTS = ("state", "cut_by", "error", "missed", "counts")
"""Columns of texts: `missed` has the names of the constraints that are broken, as a JSON list, `counts` what the
throughput counts (`dse.report.counted`)."""
_WHOLE = re.compile(r"(?<=\d)\.0(?=[,\]}])")
_PLAIN = {
    "number": np.int64,
    "worst": np.float64,
    "job": np.uint64,
    "simulated": np.bool_,
    "designed": np.bool_,
    "possible": np.bool_,
}
"""Columns of one number, or of true and false, and their types."""

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
First = tuple[int, int]
"""The first trial that has a name, and its place there."""
Load = Callable[[Rows], Sequence[TrialRecord]]
"""The whole trials of some rows, in that order."""


@dataclass(frozen=True)
class Texts:
    """A column of texts as indices of them, -1 where there is none; texts in order of their first appearance."""

    codes: NDArray[np.signedinteger[Any]]
    texts: tuple[str, ...]

    def packed(self) -> Texts:
        """The column with codes of as few bytes as they need."""
        return Texts(self.codes.astype(np.min_scalar_type(-1 - len(self.texts))), self.texts)

    def codes_among(self, places: dict[str, int]) -> NDArray[np.int32]:
        """The codes where texts have these places; those that have none get the next ones."""
        moved = np.array([*(places.setdefault(text, len(places)) for text in self.texts), -1], dtype=np.int32)
        found: NDArray[np.int32] = moved[self.codes]
        return found


@dataclass(frozen=True)
class Columns:
    """What is known of every trial, `[trials]` each."""

    number: NDArray[np.int64]
    texts: Mapping[str, Texts]
    """One for each of `TEXTS`."""
    values: Mapping[str, Floats]
    """By objective; NaN where a trial has none."""
    worst: Floats
    """The largest violation of a constraint that is broken; NaN where none is."""
    job: NDArray[np.uint64]
    """`job_digest` of its design."""
    simulated: NDArray[np.bool_]
    """Whether it has metrics."""
    designed: NDArray[np.bool_]
    possible: NDArray[np.bool_]
    """Whether it has a design, and whether that is a valid one."""
    first_params: Mapping[str, First] = field(default_factory=dict)
    first_violations: Mapping[str, First] = field(default_factory=dict)
    """Names of parameters and of constraints, with their first appearance."""

    @property
    def params(self) -> tuple[str, ...]:
        """Names of parameters in order of first appearance."""
        return tuple(sorted(self.first_params, key=self.first_params.__getitem__))

    @property
    def violations(self) -> tuple[str, ...]:
        """Names of constraints, likewise."""
        return tuple(sorted(self.first_violations, key=self.first_violations.__getitem__))

    @staticmethod
    def of(trials: Iterable[TrialRecord], names: Sequence[str] = ()) -> Columns:
        """The columns of whole trials; `names` are values that have a column in any case."""
        builder = _Builder(names)
        for trial in trials:
            builder.add(trial)
        return builder.build()

    @staticmethod
    def join(pieces: Iterable[Columns], count: int) -> Columns:
        """The columns of `count` trials: those of each piece, one after the other; a piece is let go when it is in."""
        plain: dict[str, NDArray[Any]] = {name: np.empty(count, dtype) for name, dtype in _PLAIN.items()}
        codes = {name: np.empty(count, np.int32) for name in TEXTS}
        places: dict[str, dict[str, int]] = {name: {} for name in TEXTS}
        values: dict[str, Floats] = {}
        firsts: tuple[dict[str, First], dict[str, First]] = ({}, {})
        start = 0
        for piece in pieces:
            where = slice(start, start + len(piece.number))
            for name, column in plain.items():
                column[where] = getattr(piece, name)
            for name, texts in piece.texts.items():
                codes[name][where] = texts.codes_among(places[name])
            for name, numbers in piece.values.items():
                values.setdefault(name, np.full(count, np.nan))[where] = numbers
            for known, found in zip(firsts, (piece.first_params, piece.first_violations), strict=True):
                known.update({name: min(at, known.get(name, at)) for name, at in found.items()})
            start = where.stop
        texts_of = {name: Texts(column, (*places[name],)).packed() for name, column in codes.items()}
        return Columns(texts=texts_of, values=values, first_params=firsts[0], first_violations=firsts[1], **plain)

    def value(self, name: str) -> Floats:
        """Values of that name; NaN for trials that have none."""
        found = self.values.get(name)
        return np.full(len(self.number), np.nan) if found is None else found


class _Builder:
    """Columns in the making."""

    def __init__(self, names: Sequence[str]) -> None:
        self._numbers, self._worst, self._job = array("q"), array("d"), array("Q")
        self._texts: dict[str, dict[str, int]] = {name: {} for name in TEXTS}
        self._codes = {name: array("i") for name in TEXTS}
        self._values = {name: array("d") for name in names}
        self._flags = bytearray()
        self._params: dict[str, First] = {}
        self._violations: dict[str, First] = {}

    def add(self, trial: TrialRecord) -> None:
        """One more trial."""
        missed, count = trial.missed, len(self._numbers)
        told = (trial.state, trial.cut_by, trial.error, json.dumps([*missed]) if missed else None, _counted(trial))
        for name, text in zip(TEXTS, told, strict=True):
            known = self._texts[name]
            self._codes[name].append(-1 if text is None else known.setdefault(text, len(known)))
        for name in trial.values:
            if name not in self._values:
                self._values[name] = array("d", [math.nan]) * count
        for name, column in self._values.items():
            value = trial.values.get(name)
            column.append(math.nan if value is None else value)
        self._numbers.append(trial.number)
        self._worst.append(max(missed.values(), default=math.nan))
        self._job.append(0 if trial.design is None or trial.workloads else job_digest(trial.design))
        possible = trial.violations.get(VALID, 0.0) <= 0
        self._flags += bytes((trial.metrics is not None, trial.design is not None, possible))
        _note_names(self._params, trial.number, trial.params)
        _note_names(self._violations, trial.number, trial.violations)

    def build(self) -> Columns:
        """The columns."""
        flags = np.frombuffer(bytes(self._flags), dtype=bool).reshape(-1, 3)
        return Columns(
            np.array(self._numbers, dtype=np.int64),
            {
                name: Texts(np.array(codes, dtype=np.int32), (*self._texts[name],))
                for name, codes in self._codes.items()
            },
            {name: np.array(values, dtype=np.float64) for name, values in self._values.items()},
            np.array(self._worst, dtype=np.float64),
            np.array(self._job, dtype=np.uint64),
            flags[:, 0],
            flags[:, 1],
            flags[:, 2],
            self._params,
            self._violations,
        )


def _note_names(known: dict[str, First], number: int, names: Iterable[str]) -> None:
    """Note where names appear first; trials need not come in the order of their numbers."""
    for place, name in enumerate(names):
        if name not in known or number < known[name][0]:
            known[name] = (number, place)


def _counted(trial: TrialRecord) -> str | None:
    if trial.metrics is None:
        return None
    parts = [part.metrics for _, part in trial.parts if part.metrics is not None]
    return " ".join(sorted({str(metrics.get("throughput_counts", "tokens")) for metrics in parts})) or None


def job_digest(design: Mapping[str, Any]) -> int:
    """A number that designs with the same job (workload, parallelism, software) have in common."""
    text = json.dumps([design.get(section) for section in JOB_SECTIONS], sort_keys=True)
    text = _WHOLE.sub("", text)  # 1 and 1.0 are one number
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


class Trials(Sequence[TrialRecord]):
    """Trials in order: a sequence of whole trials, which are read when they are taken, with columns of all of them."""

    def __init__(
        self, columns: Columns, load: Load, rows: Rows | None = None, read_cells: ReadCells | None = None
    ) -> None:
        self._columns, self._load, self._read_cells = columns, load, read_cells
        self.rows = np.arange(len(columns.number)) if rows is None else rows

    @staticmethod
    def of(trials: Iterable[TrialRecord]) -> Trials:
        """Trials that are there, as whole ones."""
        if isinstance(trials, Trials):
            return trials
        held = tuple(trials)
        return Trials(Columns.of(held), lambda rows: [held[row] for row in rows.tolist()])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> TrialRecord: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TrialRecord, ...]: ...
    def __getitem__(self, index: int | slice) -> TrialRecord | tuple[TrialRecord, ...]:
        if isinstance(index, slice):
            return tuple(self._load(self.rows[index]))
        return self._load(self.rows[[index]])[0]

    def __iter__(self) -> Iterator[TrialRecord]:
        for start in range(0, len(self), AT_ONCE):
            yield from self._load(self.rows[start : start + AT_ONCE])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the parameters of all trials of the study, in order of first appearance."""
        return self._columns.params

    @property
    def violations(self) -> tuple[str, ...]:
        """Names of their constraints, likewise."""
        return self._columns.violations

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the trials."""
        return self._columns.number[self.rows]

    @property
    def worst(self) -> Floats:
        """The largest violation of each trial that breaks a constraint, else NaN."""
        return self._columns.worst[self.rows]

    @property
    def simulated(self) -> NDArray[np.bool_]:
        """Which of them have metrics."""
        return self._columns.simulated[self.rows]

    @property
    def designed(self) -> NDArray[np.bool_]:
        """Which of them have a design."""
        return self._columns.designed[self.rows]

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which of them are valid designs, so that their constraints were evaluated."""
        return self._columns.possible[self.rows]

    def values(self, name: str) -> Floats:
        """A value of each, NaN where a trial has none."""
        return self._columns.value(name)[self.rows]

    def codes(self, name: str) -> NDArray[np.signedinteger[Any]]:
        """Which of `texts(name)` each has; -1: none."""
        return self._columns.texts[name].codes[self.rows]

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of a column of `TEXTS`."""
        return self._columns.texts[name].texts

    def is_text(self, name: str, *texts: str) -> NDArray[np.bool_]:
        """Which of them have one of some texts in that column."""
        codes = [code for code, text in enumerate(self.texts(name)) if text in texts]
        return np.isin(self.codes(name), codes)

    def is_state(self, *states: State) -> NDArray[np.bool_]:
        """Which of them ended so."""
        return self.is_text("state", *states)

    def count(self, name: str) -> Counter[str | None]:  # type: ignore[override]
        """How many have each text of a column (None: none of them), by first appearance."""
        codes, first, counts = np.unique(self.codes(name), return_index=True, return_counts=True)
        texts = self.texts(name)
        order = np.argsort(first)
        return Counter({None if codes[i] < 0 else texts[codes[i]]: int(counts[i]) for i in order})

    def count_missed(self) -> Counter[str]:
        """How many break each constraint."""
        found: Counter[str] = Counter()
        for names, count in self.count("missed").items():
            for name in json.loads(names or "[]"):
                found[name] += count
        return found

    def count_errors_at(self, place: str) -> int:
        """How many have an error that names `place`, those aside that failed: what stands there had no value."""
        codes = [code for code, text in enumerate(self.texts("error")) if f"{place}: " in text]
        return int(np.count_nonzero(np.isin(self.codes("error"), codes) & ~self.is_state("failed")))

    def select(self, which: NDArray[Any]) -> Trials:
        """Some of them: a mask of them, or their places in the order that is wanted."""
        return Trials(self._columns, self._load, self.rows[which], self._read_cells)

    def cells(self) -> Cells:
        """Their metrics, violations and parameters as columns; for some thousands of them at a time."""
        return Cells.of(self.whole) if self._read_cells is None else self._read_cells(self.rows)

    def with_job(self, design: Mapping[str, Any]) -> Trials:
        """The trials with the job of a design (`job_digest`)."""
        return self.select(self._columns.job[self.rows] == np.uint64(job_digest(design)))

    def numbered(self, number: int) -> TrialRecord | None:
        """The trial of that number."""
        places = np.flatnonzero(self.numbers == number)
        return self[int(places[0])] if len(places) else None

    def numbered_among(self, numbers: Iterable[int]) -> tuple[TrialRecord, ...]:
        """The trials with some numbers, in their own order."""
        return self.select(np.isin(self.numbers, [*numbers])).whole

    @cached_property
    def whole(self) -> tuple[TrialRecord, ...]:
        """All of them at once, for the few that are shown."""
        return tuple(self)
