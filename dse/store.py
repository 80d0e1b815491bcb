"""The run folder's record of a study: `study.yaml` (what was asked) and `journal.log` (every trial, append-only).

The journal is in Optuna's journal format, so that Optuna and its dashboard can open it. A trial is appended as soon as
its outcome is there; a line that a kill left unfinished is cut off when the study is resumed. Everything a report needs
is in these two files.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dse.evaluate import Outcome
from dse.objective import Objective
from dse.record import Purchase, StudyRecord, TrialRecord, TunedRecord
from simcore.document import dump_document
from simcore.problem import InputError, Problem

JOURNAL, STUDY, PROOF = "journal.log", "study.yaml", "proof.json"
_PROBE_BYTES = 16 << 20
FORGET = 1000
"""Trials after which the writer's memory of them is emptied."""


def _file_of_one_writer(path: Path) -> Any:
    """Optuna's journal file, for a single writer: one open file, synchronised to disk when a batch is done.

    Optuna's own backend locks, opens and synchronises the file for each trial, so that many drivers can share it, and
    its storage reads each trial back and keeps it; that takes longer than a simulation, and the memory of all trials.
    """
    from optuna.storages.journal import BaseJournalBackend, JournalFileBackend

    class OneWriter(BaseJournalBackend):  # defined here so that optuna is imported when needed
        def __init__(self) -> None:
            self._recent: list[dict[str, Any]] = []
            if path.exists():
                self.forget(JournalFileBackend(str(path)).read_logs(0))
            self._file = path.open("ab")
            self._echo: list[dict[str, Any]] = []

        def forget(self, logs: Iterable[dict[str, Any]] | None = None) -> None:
            # Optuna keeps every trial that it reads: it is shown the study, and the trials since the last time.
            logs = self._recent if logs is None else logs
            self._recent = [log for log in logs if "datetime_start" not in log and "trial_id" not in log]

        def read_logs(self, log_number_from: int) -> Any:
            return self._recent[log_number_from:]

        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            self._recent += logs
            lines = (json.dumps(log, separators=(",", ":")) for log in logs)
            self._file.write("".join(f"{line}\n" for line in lines).encode())
            self._file.flush()  # from here on a killed process loses nothing
            self._echo = [{**log, "user_attrs": {}} for log in logs]

        def synchronise(self) -> None:
            os.fsync(self._file.fileno())

        def close(self) -> None:
            self._file.close()

    return OneWriter()


class Journal:
    """Appends finished trials."""

    def __init__(self, folder: Path, name: str, objectives: tuple[Objective, ...]) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        path = folder / JOURNAL
        _cut_torn_line(path)
        self._backend = _file_of_one_writer(path)
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


def _whole_lines(path: Path) -> int:
    """Number of whole lines of a journal; one still being written does not count.

    Raises `ValueError` where the last of them is no JSON: Optuna would pass over it, and stumble when more follow.
    """
    with path.open("rb") as file:
        lines = [line for line in file if line.endswith(b"\n")]
    if lines:
        json.loads(lines[-1])
    return len(lines)


def _cut_torn_line(path: Path) -> None:
    """Cut off a last line without its end: what a kill in the middle of an append leaves."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        data = file.read()
        if data and not data.endswith(b"\n"):
            file.truncate(data.rfind(b"\n") + 1)


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of the journal."""

    number: int
    params: dict[str, Any]
    outcome: Outcome
    draws: dict[str, Any] | None = None


def read_trials(folder: Path, objectives: tuple[Objective, ...]) -> Iterator[StoredTrial]:
    """The trials of a journal in order of their numbers, each once.

    Raises `InputError` where the journal is missing or is not one of this program.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = folder / JOURNAL
    if not path.is_file():
        problem = Problem((), f"a run folder with a {JOURNAL}", "none", "give the folder of an earlier dse optimize")
        raise InputError([problem], str(folder))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: dict[int, StoredTrial] = {}
    try:
        if not _whole_lines(path):
            return iter(())
        study = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(path))))
        for trial in study.get_trials(deepcopy=False):
            stored = _stored(trial, objectives)
            found[stored.number] = stored
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = Problem((), "a journal of dse optimize", f"one that cannot be read ({error})")
        raise InputError([problem], str(path)) from None
    return iter([found[number] for number in sorted(found)])


def _stored(trial: Any, objectives: tuple[Objective, ...]) -> StoredTrial:
    attributes = trial.user_attrs
    values = trial.values or []
    outcome = Outcome(
        key=attributes["key"],
        state=attributes["state"],
        values={objective.name: value for objective, value in zip(objectives, values, strict=False)},
        violations=dict(trial.constraints),
        design=attributes["design"],
        metrics=attributes["metrics"],
        cut_by=attributes["cut_by"],
        error=attributes["error"],
        workloads=tuple(TunedRecord(**workload) for workload in attributes.get("workloads", ())),
    )
    return StoredTrial(attributes["number"], attributes["params"], outcome, attributes.get("draws"))


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is either the old one or the new one, whole."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def write_study(folder: Path, study: Mapping[str, Any]) -> None:
    """Write `study.yaml`."""
    write_atomically(folder / STUDY, dump_document(dict(study)))


def write_proof(folder: Path, proof: Mapping[str, Any]) -> None:
    """Write what a sampler proved of the whole space (`dse.search.base.Prover.proof`)."""
    write_atomically(folder / PROOF, json.dumps(dict(proof), indent=2) + "\n")


def read_proof(folder: Path, objectives: tuple[Objective, ...]) -> dict[str, Any] | None:
    """What a sampler proved of the whole space; None where it proves nothing.

    Raises `InputError` where the file is not what `write_proof` writes.
    """

    def known(found: Any) -> dict[str, Any]:
        numbers = {key: _number(found[key]) for key in ("points", "repeats", "simulated", "open")}
        bounds = {objective.name: _number(found["bounds"][objective.name]) for objective in objectives}
        numbers["failed"] = _number(found.get("failed", 0))
        cut = {str(rule): _number(count) for rule, count in found["cut"].items()}
        said = {"complete": bool(found["complete"]), "solved_shares": bool(found.get("solved_shares"))}
        return {**numbers, "cut": cut, **said, "bounds": bounds}

    return _read_values(folder / PROOF, known)


def _number(value: Any) -> Any:
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"expected a number, got {value!r}")
    return value


def _read_values(path: Path, known: Callable[[Any], dict[str, Any]]) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        return known(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = Problem(
            (), "what a run of dse optimize wrote", f"a file that cannot be read ({error})", "run it again"
        )
        raise InputError([problem], str(path)) from None


def check_folder(folder: Path) -> None:
    """Make the run folder, and make sure before the search that a study can be written there.

    Raises `InputError` where the folder cannot be made or written, or the disk has no room.
    """
    probe = folder / ".probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < _PROBE_BYTES:
            raise OSError(f"{free / 2**20:.0f} MiB free on the disk, {_PROBE_BYTES / 2**20:.0f} MiB needed")
        with probe.open("wb") as file:
            file.write(b"\0" * (_PROBE_BYTES // 16))
            file.flush()
            os.fsync(file.fileno())
        probe.unlink()
    except OSError as error:
        probe.unlink(missing_ok=True) if os.path.isdir(folder) and os.access(folder, os.W_OK) else None
        fix = "choose another folder with --out, or make room"
        found = error.strerror or str(error)
        raise InputError([Problem((), "a run folder that can be written", found, fix)], str(folder)) from None


def trial_record(stored: StoredTrial, sections: tuple[str, ...] = ()) -> TrialRecord:
    """A stored trial as reports see it; `sections` are those that its workloads share."""
    outcome = stored.outcome
    return TrialRecord(
        number=stored.number,
        state=outcome.state,
        values=outcome.values,
        params=stored.params,
        violations=outcome.violations,
        design=outcome.design,
        metrics=outcome.metrics,
        cut_by=outcome.cut_by,
        error=outcome.error,
        workloads=outcome.workloads,
        sections=sections,
    )


def study_record(
    space: str,
    objectives: tuple[Objective, ...],
    trials: Iterator[StoredTrial],
    study: Mapping[str, Any],
    bounds: Mapping[str, float | None],
    prices: Mapping[str, str],
    purchase: Purchase | None = None,
    proof: Mapping[str, Any] | None = None,
) -> StudyRecord:
    """What the reports see of a run folder."""
    return StudyRecord(
        space=space,
        objectives=objectives,
        trials=tuple(trial_record(trial, purchase.sections if purchase else ()) for trial in trials),
        bounds=bounds,
        sampler=study["sampler"],
        seed=study["seed"],
        prices=prices,
        given_reference=study.get("reference_point"),
        purchase=purchase,
        proof=proof,
    )
