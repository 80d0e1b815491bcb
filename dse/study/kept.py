"""The trials of a journal in order of their numbers, each once: where each stands, to be read when it is asked for.

    journal.00000.parquet   journal.00001.parquet   …   journal.log      rows of the first part, of the next, …, lines

A trial takes some ten bytes here; it is some kilobytes in a line, and ten as a value. The files stay open: one that
takes the place of another changes nothing here, lines that are appended neither. Where somebody else writes over
lines, `load` says so.
"""

from __future__ import annotations

import hashlib
import warnings
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluate import Outcome
from dse.space.objective import Objective
from dse.study.files import write_pieces
from dse.study.keys import DIGESTS, key_digest
from dse.study.open_file import OpenFile
from dse.study.optuna_file import CREATE_STUDY, read_line, study_line
from dse.study.parts import FIX, JournalPart
from dse.study.stored import StoredTrial
from simcore.document.problem import InputError, InputWarning, Problem

AT_ONCE = 1000
"""Whole trials that are held while all are gone through."""
_MOST_NAMED = 5
"""Damaged lines that a warning names."""

Rows = NDArray[np.int64]


class KeptTrials:
    """The trials of some parts and of the lines after them; `scan` goes first."""

    def __init__(
        self, file: OpenFile | None, objectives: tuple[Objective, ...], parts: Sequence[JournalPart] = ()
    ) -> None:
        self._file, self._objectives, self.parts = file, objectives, tuple(parts)
        self.studies: list[int] = []
        """Numbers of the lines that create the study."""
        self.damaged: list[int] = []
        """Numbers of the lines that cannot be read."""
        self.repeated: list[int] = []
        """Numbers of the lines whose trials are in the parts, too: a kill came before they were taken out."""
        self.whole = 0
        """Length of the lines that have an end [B]."""
        self._sound = 0
        self.row_numbers = np.empty(0, dtype=np.int64)
        """Numbers of the trials of the parts' rows and of the lines."""
        self.order = self._places = self._line_numbers = np.empty(0, dtype=np.int64)
        """Which of the rows of the parts and then of the lines each of them is; where each line begins [B]."""
        self._line_keys = bytearray()
        self.starts = np.cumsum([0, *(part.rows for part in self.parts)])
        """The first row of each part, and of the lines."""
        self._open: JournalPart | None = None
        self._block: tuple[int, list[StoredTrial]] = (-1, [])
        self._last = -2

    def scan(self) -> Iterator[StoredTrial]:
        """Go through the lines once, and note where each trial stands; the trials of the lines as they come."""
        assert self._file is not None
        in_parts = [part.read_numbers() for part in self.parts]
        known = np.sort(np.concatenate(in_parts)) if in_parts else self.row_numbers
        numbers, places = array("q"), array("q")
        for number, line in enumerate(self._file.lines(), 1):
            if not line.endswith(b"\n"):  # one that is being written, or that a kill has torn
                break
            found = read_line(line, self._objectives)
            self._sound += found is not None
            if found is None:
                self.damaged.append(number)
            elif isinstance(found, StoredTrial):
                if _has(known, found.number):
                    self.repeated.append(number)
                numbers.append(found.number)
                places.append(self.whole)
                self._line_keys += key_digest(found.outcome.key)
                yield found
            elif found["op_code"] == CREATE_STUDY:
                self.studies.append(number)
            self.whole += len(line)
        self._line_numbers = np.array(numbers, dtype=np.int64)
        self.row_numbers = np.concatenate([*in_parts, self._line_numbers])
        self.order = last_of_each(self.row_numbers)
        self._places = np.array(places, dtype=np.int64)
        self._check()

    def _check(self) -> None:
        if self.damaged and not len(self):
            where = self.damaged[0]
            problem = Problem((), "a journal of dse optimize", "one without a trial that can be read", line=where)
            raise InputError([problem], self._name)
        if self.damaged:
            warnings.warn(_told(self._name, self.damaged), InputWarning, stacklevel=3)

    @property
    def _name(self) -> str:
        return "" if self._file is None else str(self._file.path)

    @property
    def numbers(self) -> Rows:
        """Numbers of the trials."""
        return self.row_numbers[self.order]

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[StoredTrial]:
        for start in range(0, len(self), AT_ONCE):
            yield from self.load(np.arange(start, min(start + AT_ONCE, len(self))))

    def of_part(self, owner: int) -> Iterator[StoredTrial]:
        """The trials of all rows of a part."""
        for start in range(0, self.parts[owner].rows, AT_ONCE):
            yield from self._read(owner, np.arange(start, min(start + AT_ONCE, self.parts[owner].rows)))

    def lines(self) -> Iterator[bytes]:
        """The line of each trial, in the order of their numbers."""
        sealed = int(self.starts[-1])
        for start in range(0, len(self), AT_ONCE):
            rows = self.order[start : start + AT_ONCE]
            found: dict[int, bytes] = {}
            for owner, where in split_by_owner(self.starts, rows):
                its = rows[where]
                if owner < len(self.parts):
                    found.update(zip(its.tolist(), self._part(owner).lines(its - self.starts[owner]), strict=True))
                elif self._file is not None:
                    places = self._places[its - sealed].tolist()
                    found.update(zip(its.tolist(), map(self._file.line, places), strict=True))
            yield from (found[row] for row in rows.tolist())

    @cached_property
    def _keys(self) -> tuple[NDArray[np.bytes_], Rows]:
        """Digests of the keys of all trials, and the order of those."""
        digests = bytearray().join(key_digest(key) for part in self.parts for key in part.read_keys())
        found = np.frombuffer(bytes(digests + self._line_keys), dtype=DIGESTS)[self.order]
        return found, np.argsort(found, kind="stable")

    @property
    def keys(self) -> NDArray[np.bytes_]:
        """Digests of the keys of the trials' designs (`dse.study.keys`), in order."""
        return self._keys[0]

    def digest(self) -> str:
        """What trials with other numbers, or of other designs, do not have in common."""
        return hashlib.blake2b(self.numbers.tobytes() + self.keys.tobytes(), digest_size=16).hexdigest()

    def digests(self, before: int) -> NDArray[np.bytes_]:
        """The digest of the key of each trial with a number below `before` (`dse.study.keys`)."""
        return self.keys[self.numbers < before]

    def get(self, key: str) -> Outcome | None:
        """The outcome of the design of a key."""
        keys, by_key = self._keys
        wanted = np.frombuffer(key_digest(key), dtype=DIGESTS)[0]
        place = int(np.searchsorted(keys, wanted, sorter=by_key))
        if place == len(self) or keys[by_key[place]] != wanted:
            return None
        outcome = self.load(by_key[[place]])[0].outcome
        return outcome if outcome.key == key else None

    def load(self, rows: Rows) -> list[StoredTrial]:
        """Trials, by their places in `numbers`. Raises `InputError` where they are not those of the scan any more."""
        return self.of_rows(self.order[rows])

    def of_rows(self, rows: Rows) -> list[StoredTrial]:
        """The trials of rows of the parts and of the lines."""
        sealed = int(self.starts[-1])
        found: list[StoredTrial | None] = [None] * len(rows)
        for owner, where in split_by_owner(self.starts, rows):
            if owner == len(self.parts):
                trials = [self._of_line(row) for row in (rows[where] - sealed).tolist()]
            else:
                trials = self._of_part(owner, rows[where] - self.starts[owner])
            for place, trial in zip(where.tolist(), trials, strict=True):
                found[place] = trial
        return [trial for trial in found if trial is not None]

    def _of_line(self, row: int) -> StoredTrial:
        assert self._file is not None
        place, number = int(self._places[row]), int(self._line_numbers[row])
        found = read_line(self._file.line(place), self._objectives)
        if not isinstance(found, StoredTrial) or found.number != number:
            what, fix = f"trial {number} where it was at first", "open the run again, and write into no journal"
            raise InputError([Problem((), what, f"something else at byte {place}", fix)], self._name)
        return found

    def _of_part(self, owner: int, rows: Rows) -> list[StoredTrial]:
        """Trials of one part; one after the other is read ahead."""
        if len(rows) > 1:
            return self._read(owner, rows)
        row = int(rows[0] + self.starts[owner])
        first, block = self._block
        if not first <= row < first + len(block):
            ahead = AT_ONCE if row == self._last + 1 else 1
            end = min(int(rows[0]) + ahead, self.parts[owner].rows)
            first, block = self._block = row, self._read(owner, np.arange(rows[0], end))
        self._last = row
        return [block[row - first]]

    def _read(self, owner: int, rows: Rows) -> list[StoredTrial]:
        part = self._part(owner)
        trials = [read_line(line, self._objectives) for line in part.lines(rows)]
        broken = [row for row, trial in zip(rows.tolist(), trials, strict=True) if not isinstance(trial, StoredTrial)]
        if broken:
            problem = Problem((), "a trial of this study in each row", f"none in row {broken[0]}", FIX)
            raise InputError([problem], str(part.path))
        return trials

    def _part(self, owner: int) -> JournalPart:
        """A part, to be read; the columns of one are held at a time."""
        part = self.parts[owner]
        if self._open is not None and self._open is not part:
            self._open.forget()
        self._open = part
        return part

    def mend(self, name: str) -> None:
        """Put a journal of the whole, sound lines in the place of this one, that of the study `name` first.

        Lines of trials that the parts have are left out.
        """
        assert self._file is not None
        studies = {*self.studies}
        study = [line for number, line in enumerate(self._file.lines(), 1) if number in studies][-1:]
        if (self._sound or self.parts) and not study:
            study = [study_line("mended", name, self._objectives)]
        passed = {*self.damaged, *self.repeated, *studies}
        lines = enumerate(self._file.lines(), 1)
        kept = (line for number, line in lines if number not in passed and line.endswith(b"\n"))
        write_pieces(self._file.path, chain(study, kept), durable=True)


NOTHING_KEPT = KeptTrials(None, ())
"""The trials of a study that begins."""


def split_by_owner(starts: Rows, rows: Rows) -> Iterator[tuple[int, Rows]]:
    """Which part (or, after all parts, the lines) has rows, and the places of its own among them, part by part."""
    owners = np.searchsorted(starts, rows, side="right") - 1
    for owner in np.unique(owners).tolist():
        yield owner, np.flatnonzero(owners == owner)


def last_of_each(numbers: Rows) -> Rows:
    """Places of numbers in their order, of equal ones the last."""
    order = np.argsort(numbers, kind="stable")
    if not len(order):
        return order
    ordered = numbers[order]
    last: Rows = order[np.append(ordered[1:] != ordered[:-1], True)]
    return last


def _has(known: Rows, number: int) -> bool:
    """Whether a number is among sorted ones."""
    place = int(np.searchsorted(known, number))
    return place < len(known) and int(known[place]) == number


def _told(path: str, damaged: list[int]) -> str:
    named = ", ".join(map(str, damaged[:_MOST_NAMED])) + (", …" if len(damaged) > _MOST_NAMED else "")
    lines = f"line {named}" if len(damaged) == 1 else f"lines {named} ({len(damaged)} of them)"
    return f"{path}: {lines}: expected a trial, got a damaged line; passed over (--resume evaluates it again)"
