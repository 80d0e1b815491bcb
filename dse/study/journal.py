"""`journal.log`: every trial of a study as it was finished, in Optuna's journal format, append-only.

So Optuna and its dashboard can open it. A trial is a line, appended as soon as its outcome is there. A line that a kill
left unfinished, or that a disk or an editor damaged, costs its own trial only: readers pass over it and say so, and a
study that is resumed goes on from a journal without it. Each line ends with a checksum, so that a digit that is another
one counts as damage, too; a line without one, as Optuna or its dashboard writes them, is read as it is.
"""

from __future__ import annotations

import json
import math
import os
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import State, TunedRecord
from dse.space.objective import Objective
from dse.study.files import write_whole
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
    return iter(_read(folder, objectives).in_order)


def resumed_trials(folder: Path, name: str, objectives: tuple[Objective, ...]) -> list[StoredTrial]:
    """As `read_trials`; the journal is left with its whole, sound lines alone, so that it can be appended to.

    Where the line that creates the study called `name` was lost, it is put first again.
    """
    read = _read(folder, objectives)
    path = folder / JOURNAL
    if read.damaged or read.whole < path.stat().st_size:
        _mend(path, name, objectives, read)
    return read.in_order


@dataclass(slots=True)
class _Read:
    """What a journal says, and where it does not."""

    trials: dict[int, StoredTrial] = field(default_factory=dict)
    studies: list[int] = field(default_factory=list)
    """Numbers of the lines that create the study."""
    damaged: list[int] = field(default_factory=list)
    """Numbers of the lines that cannot be read."""
    whole: int = 0
    """Length of the lines that have an end [B]."""

    @property
    def in_order(self) -> list[StoredTrial]:
        return [self.trials[number] for number in sorted(self.trials)]


def _read(folder: Path, objectives: tuple[Objective, ...]) -> _Read:
    """See `read_trials`."""
    path = folder / JOURNAL
    if not path.is_file():
        problem = Problem((), f"a run folder with a {JOURNAL}", "none", "give the folder of an earlier dse optimize")
        raise InputError([problem], str(folder))
    read = _Read()
    for number, line, found in _lines(path, objectives):
        read.whole += len(line)
        if found is None:
            read.damaged.append(number)
        elif isinstance(found, StoredTrial):
            read.trials[found.number] = found
        elif found["op_code"] == _CREATE_STUDY:
            read.studies.append(number)
    if read.damaged and not read.trials:
        where = read.damaged[0]
        problem = Problem((), "a journal of dse optimize", "one without a trial that can be read", line=where)
        raise InputError([problem], str(path))
    if read.damaged:
        warnings.warn(_told(path, read.damaged), InputWarning, stacklevel=3)
    return read


def _told(path: Path, damaged: list[int]) -> str:
    named = ", ".join(map(str, damaged[:_MOST_NAMED])) + (", …" if len(damaged) > _MOST_NAMED else "")
    lines = f"line {named}" if len(damaged) == 1 else f"lines {named} ({len(damaged)} of them)"
    return f"{path}: {lines}: expected a trial, got a damaged line; passed over (--resume evaluates it again)"


def _lines(path: Path, objectives: tuple[Objective, ...]) -> Iterator[tuple[int, bytes, Any]]:
    """The whole lines of a journal: number, text, and the trial (or other record) in it, None where it is damaged.

    A last line without its end is one that is being written, or that a kill has torn: it does not count.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                _check_seal(line)
                log = json.loads(line)
                yield number, line, _stored(log, objectives) if log["op_code"] == _CREATE_TRIAL else log
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                yield number, line, None


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


def _mend(path: Path, name: str, objectives: tuple[Objective, ...], read: _Read) -> None:
    """Leave the whole, sound lines of a journal, that of the study first."""
    damaged = set(read.damaged)
    with path.open("rb") as file:
        kept = {n: line for n, line in enumerate(file, 1) if line.endswith(b"\n") and n not in damaged}
    study = [kept.pop(number) for number in read.studies][-1:]
    if kept and not study:
        directions = [1 if objective.direction == "minimize" else 2 for objective in objectives]
        made = {"op_code": _CREATE_STUDY, "worker_id": "mended", "study_name": name, "directions": directions}
        study = [_seal(json.dumps(made, separators=(",", ":")).encode())]
    write_whole(path, b"".join([*study, *kept.values()]))
