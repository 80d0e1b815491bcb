"""`journal.log`: every trial of a study as it was finished, in Optuna's journal format, append-only.

So Optuna and its dashboard can open it. A trial is a line, appended as soon as its outcome is there. A line that a kill
left unfinished, or that a disk or an editor damaged, costs its own trial only: readers pass over it and say so, and a
study that is resumed goes on from a journal without it. Each line ends with a checksum, so that a digit that is another
one counts as damage, too; a line without one, as Optuna or its dashboard writes them, is read as it is.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import warnings
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import State, TunedRecord
from dse.space.objective import Objective
from dse.study.files import write_pieces
from dse.study.keys import DIGESTS, key_digest
from dse.study.open_file import OpenFile
from simcore.document.problem import InputError, InputWarning, Problem

JOURNAL = "journal.log"
_CREATE_STUDY, _CREATE_TRIAL = 0, 4
"""Optuna's numbers of what a line does (`optuna.storages.journal.JournalOperation`)."""
_CONSTRAINT = "constraints:"
"""How Optuna marks a constraint among a trial's attributes."""
_SEAL = re.compile(rb',"crc":"([0-9a-f]{8})"\}\r?\n\Z')
_MOST_NAMED = 5
"""Damaged lines that a warning names."""
FORGET = 1000
"""Trials after which the writer's memory of them is emptied."""


def _file_of_one_writer(path: Path) -> Any:
    """Optuna's journal file, for a single writer: one open file, synchronised to disk when a batch is done.

    Optuna's own backend locks, opens and synchronises the file for each trial, so that many drivers can share it, and
    its storage reads each trial back and keeps it; that takes longer than a simulation, and the memory of all trials.
    """
    from optuna.storages.journal import BaseJournalBackend

    class OneWriter(BaseJournalBackend):  # defined here so that optuna is imported when needed
        def __init__(self) -> None:
            self._recent: list[dict[str, Any]] = []
            if path.exists():
                with path.open("rb") as file:  # Optuna's own reader would parse every trial
                    self.forget(json.loads(line) for line in file if b'"datetime_start"' not in line)
            self._file = path.open("ab")

        def forget(self, logs: Iterable[dict[str, Any]] | None = None) -> None:
            # Optuna keeps every trial that it reads: it is shown the study, and the trials since the last time.
            logs = self._recent if logs is None else logs
            self._recent = [log for log in logs if "datetime_start" not in log and "trial_id" not in log]

        def read_logs(self, log_number_from: int) -> Any:
            return self._recent[log_number_from:]

        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            self._recent += logs
            self._file.write(b"".join(_seal(json.dumps(log, separators=(",", ":")).encode()) for log in logs))
            self._file.flush()  # from here on a killed process loses nothing

        def synchronise(self) -> None:
            os.fsync(self._file.fileno())

        def close(self) -> None:
            self._file.close()

    return OneWriter()


class Journal:
    """Appends finished trials, to a journal that is whole (`resumed_trials`) or to a new one."""

    def __init__(self, folder: Path, name: str, objectives: tuple[Objective, ...]) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._backend = _file_of_one_writer(folder / JOURNAL)
        self._name, self._objectives, self._appended = name, objectives, 0
        self._study = self._open()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._study.set_metric_names([objective.name for objective in objectives])

    def _open(self) -> Any:
        import optuna
        from optuna.storages import JournalStorage

        return optuna.create_study(
            storage=JournalStorage(self._backend),
            study_name=self._name,
            directions=[objective.direction for objective in self._objectives],
            load_if_exists=True,
        )

    def append(
        self, number: int, params: Mapping[str, Any], outcome: Outcome, draws: Mapping[str, Any] | None = None
    ) -> None:
        """Append a trial; `draws` are the sampler's own numbers, where a study cannot be replayed from its seed."""
        from optuna.trial import TrialState, create_trial

        attributes = {
            "number": number,
            "params": dict(params),
            "key": outcome.key,
            "state": outcome.state,
            "design": outcome.design,
            "metrics": outcome.metrics,
            "cut_by": outcome.cut_by,
            "error": outcome.error,
        }
        if outcome.workloads:
            attributes["workloads"] = [asdict(workload) for workload in outcome.workloads]
        if draws is not None:
            attributes["draws"] = dict(draws)
        failed = outcome.state == "failed"
        trial = create_trial(
            state=TrialState.FAIL if failed else TrialState.COMPLETE,
            values=None if failed else [outcome.values[objective.name] for objective in self._objectives],
            user_attrs=attributes,
            constraints=dict(outcome.violations),
        )
        self._study.add_trial(trial)
        self._appended += 1
        if self._appended % FORGET == 0:
            self._backend.forget()
            self._study = self._open()

    def synchronise(self) -> None:
        """Make sure that what was appended outlives a power failure."""
        self._backend.synchronise()

    def close(self) -> None:
        """Close the file."""
        self._backend.synchronise()
        self._backend.close()


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of the journal."""

    number: int
    params: dict[str, Any]
    outcome: Outcome
    draws: dict[str, Any] | None = None


def read_trials(folder: Path, objectives: tuple[Objective, ...]) -> Iterator[StoredTrial]:
    """The trials of a journal in order of their numbers, each once.

    Warns (`InputWarning`) of lines that cannot be read, with file and line, and passes over them. Raises
    `InputError` where the journal is missing, or is not one of this program.
    """
    kept = kept_trials(folder, objectives)
    return iter(kept.load(np.arange(len(kept))))


def resumed_trials(folder: Path, name: str, objectives: tuple[Objective, ...]) -> KeptTrials:
    """The trials of a journal; it is left with its whole, sound lines alone, so that it can be appended to.

    Where the line that creates the study called `name` was lost, it is put first again. Warns and raises as
    `read_trials`.
    """
    kept = kept_trials(folder, objectives)
    if kept.damaged or kept.whole < (folder / JOURNAL).stat().st_size:
        kept.mend(name)
        return kept_trials(folder, objectives)
    return kept


class KeptTrials:
    """The trials of a journal in order of their numbers, each once: where each stands, to be read when it is asked for.

    A trial takes 40 bytes here; it is some kilobytes in the journal, and ten as a value. The journal stays open: one
    that takes its place (`mend`) changes nothing here, lines that are appended neither. Where somebody else writes over
    lines, `load` says so.
    """

    def __init__(self, file: OpenFile | None, objectives: tuple[Objective, ...]) -> None:
        self._file, self._objectives = file, objectives
        self.studies: list[int] = []
        """Numbers of the lines that create the study."""
        self.damaged: list[int] = []
        """Numbers of the lines that cannot be read."""
        self.whole = 0
        """Length of the lines that have an end [B]."""
        self._sound = 0
        self.numbers = np.empty(0, dtype=np.int64)
        """Numbers of the trials."""
        self.order = self._places = np.empty(0, dtype=np.int64)
        self._keys, self._by_key = np.empty(0, dtype=DIGESTS), self.order

    def scan(self) -> Iterator[StoredTrial]:
        """Go through the journal once, line by line, and note where each trial stands; the trials as they come."""
        assert self._file is not None
        numbers, places, keys = array("q"), array("q"), bytearray()
        for number, line, found in _lines(self._file, self._objectives):
            self._sound += found is not None
            if found is None:
                self.damaged.append(number)
            elif isinstance(found, StoredTrial):
                numbers.append(found.number)
                places.append(self.whole)
                keys += key_digest(found.outcome.key)
                yield found
            elif found["op_code"] == _CREATE_STUDY:
                self.studies.append(number)
            self.whole += len(line)
        self.order = last_of_each(np.array(numbers, dtype=np.int64))
        self.numbers = np.array(numbers, dtype=np.int64)[self.order]
        self._places = np.array(places, dtype=np.int64)[self.order]
        self._keys = np.frombuffer(bytes(keys), dtype=DIGESTS)[self.order]
        self._by_key = np.argsort(self._keys, kind="stable")
        self._check()

    def _check(self) -> None:
        if self.damaged and not len(self.numbers):
            where = self.damaged[0]
            problem = Problem((), "a journal of dse optimize", "one without a trial that can be read", line=where)
            raise InputError([problem], self._name)
        if self.damaged:
            warnings.warn(_told(self._name, self.damaged), InputWarning, stacklevel=3)

    @property
    def _name(self) -> str:
        return "" if self._file is None else str(self._file.path)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[StoredTrial]:
        for start in range(0, len(self), FORGET):
            yield from self.load(np.arange(start, min(start + FORGET, len(self))))

    def get(self, key: str) -> Outcome | None:
        """The outcome of the design of a key."""
        wanted = np.frombuffer(key_digest(key), dtype=DIGESTS)[0]
        place = int(np.searchsorted(self._keys, wanted, sorter=self._by_key))
        if place == len(self) or self._keys[self._by_key[place]] != wanted:
            return None
        outcome = self.load(self._by_key[[place]])[0].outcome
        return outcome if outcome.key == key else None

    @property
    def keys(self) -> NDArray[np.bytes_]:
        """The digests of the keys of the trials' designs (`dse.study.keys`), in order."""
        return self._keys

    @property
    def digest(self) -> str:
        """What trials with other numbers, or of other designs, do not have in common."""
        return hashlib.blake2b(self.numbers.tobytes() + self._keys.tobytes(), digest_size=16).hexdigest()

    def load(self, rows: NDArray[np.int64]) -> list[StoredTrial]:
        """The trials of some rows, in that order. Raises `InputError` where they are not those of the scan any more."""
        places, numbers = self._places[rows].tolist(), self.numbers[rows].tolist()
        return [self._read(place, number) for place, number in zip(places, numbers, strict=True)]

    def _read(self, place: int, number: int) -> StoredTrial:
        assert self._file is not None
        found = _trial_of(self._file.line(place), self._objectives)
        if not isinstance(found, StoredTrial) or found.number != number:
            what, fix = f"trial {number} where it was at first", "open the run again, and write into no journal"
            raise InputError([Problem((), what, f"something else at byte {place}", fix)], self._name)
        return found

    def mend(self, name: str) -> None:
        """Put a journal of the whole, sound lines in the place of this one, that of the study `name` first."""
        assert self._file is not None
        studies = {*self.studies}
        study = [line for number, line in enumerate(self._file.lines(), 1) if number in studies][-1:]
        if self._sound and not study:
            directions = [1 if objective.direction == "minimize" else 2 for objective in self._objectives]
            made = {"op_code": _CREATE_STUDY, "worker_id": "mended", "study_name": name, "directions": directions}
            study = [_seal(json.dumps(made, separators=(",", ":")).encode())]
        passed = {*self.damaged, *studies}
        lines = enumerate(self._file.lines(), 1)
        kept = (line for number, line in lines if number not in passed and line.endswith(b"\n"))
        write_pieces(self._file.path, chain(study, kept))


NOTHING_KEPT = KeptTrials(None, ())
"""The trials of a study that begins."""


def kept_trials(folder: Path, objectives: tuple[Objective, ...]) -> KeptTrials:
    """The trials of a journal, gone through once; warns and raises as `read_trials`."""
    kept = open_journal(folder, objectives)
    for _ in kept.scan():
        pass
    return kept


def open_journal(folder: Path, objectives: tuple[Objective, ...]) -> KeptTrials:
    """The journal of a folder, to be scanned. Raises `InputError` where there is none."""
    path = folder / JOURNAL
    if not path.is_file():
        problem = Problem((), f"a run folder with a {JOURNAL}", "none", "give the folder of an earlier dse optimize")
        raise InputError([problem], str(folder))
    return KeptTrials(OpenFile(path), objectives)


def last_of_each(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of numbers in their order, of equal ones the last."""
    order = np.argsort(numbers, kind="stable")
    if not len(order):
        return order
    ordered = numbers[order]
    last: NDArray[np.int64] = order[np.append(ordered[1:] != ordered[:-1], True)]
    return last


def _told(path: str, damaged: list[int]) -> str:
    named = ", ".join(map(str, damaged[:_MOST_NAMED])) + (", …" if len(damaged) > _MOST_NAMED else "")
    lines = f"line {named}" if len(damaged) == 1 else f"lines {named} ({len(damaged)} of them)"
    return f"{path}: {lines}: expected a trial, got a damaged line; passed over (--resume evaluates it again)"


def _lines(file: OpenFile, objectives: tuple[Objective, ...]) -> Iterator[tuple[int, bytes, Any]]:
    """The whole lines of a journal: number, text, and the trial (or other record) in it, None where it is damaged.

    A last line without its end is one that is being written, or that a kill has torn: it does not count.
    """
    for number, line in enumerate(file.lines(), 1):
        if not line.endswith(b"\n"):
            return
        yield number, line, _trial_of(line, objectives)


def _trial_of(line: bytes, objectives: tuple[Objective, ...]) -> Any:
    """The trial (or other record) in a line, None where it is damaged."""
    try:
        _check_seal(line)
        log = json.loads(line)
        return _stored(log, objectives) if log["op_code"] == _CREATE_TRIAL else log
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _seal(line: bytes) -> bytes:
    """A line with its end, and the checksum of what is before that."""
    return line[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(line)


def _check_seal(line: bytes) -> None:
    """Raise `ValueError` where a line is not what its checksum is of."""
    found = _SEAL.search(line)
    if found is not None and zlib.crc32(line[: found.start()] + b"}") != int(found[1], 16):
        raise ValueError("a damaged line")


def _stored(log: Mapping[str, Any], objectives: tuple[Objective, ...]) -> StoredTrial:
    """The trial of a line; raises what Python does where it is none of this program's."""
    attributes = log["user_attrs"]
    marked = log["system_attrs"].items()
    values = log["values"] or ([] if log["value"] is None else [log["value"]])
    outcome = Outcome(
        key=attributes["key"],
        state=attributes["state"],
        values=dict(zip([objective.name for objective in objectives], values, strict=bool(values))),
        violations={key.removeprefix(_CONSTRAINT): value for key, value in marked if key.startswith(_CONSTRAINT)},
        design=attributes["design"],
        metrics=attributes["metrics"],
        cut_by=attributes["cut_by"],
        error=attributes["error"],
        workloads=tuple(TunedRecord(**workload) for workload in attributes.get("workloads", ())),
    )
    number, numbers = attributes["number"], [*outcome.values.values(), *outcome.violations.values()]
    if not isinstance(number, int) or number < 0 or outcome.state not in get_args(State):
        raise ValueError("no trial")
    if not all(isinstance(value, int | float) and not math.isnan(value) for value in numbers):
        raise ValueError("no values of a trial")
    return StoredTrial(number, dict(attributes["params"]), outcome, attributes.get("draws"))
