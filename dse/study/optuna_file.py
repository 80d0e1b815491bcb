"""The lines of a journal, in the format of Optuna's journal file (`optuna.storages.JournalStorage`).

So Optuna and its dashboard can open it. Each line is a JSON object and ends with a checksum of the rest, so that a
digit that is another one counts as damage, too; a line without one, as Optuna or its dashboard writes them, is read as
it is.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, get_args

from dse.evaluate.evaluate import Outcome, is_sane
from dse.evaluate.record import State, TunedRecord
from dse.space.objective import Objective
from dse.study.stored import StoredTrial
from simcore.result.form import is_result

CREATE_STUDY, STUDY_ATTRIBUTE, CREATE_TRIAL = 0, 3, 4
"""Optuna's numbers of what a line does (`optuna.storages.journal.JournalOperation`)."""
CONSTRAINT = "constraints:"
"""How Optuna marks a constraint among a trial's attributes."""
_METRIC_NAMES = "study:metric_names"
_COMPLETE, _FAIL = 1, 3
"""Optuna's numbers of states (`optuna.trial.TrialState`)."""
_SEAL = re.compile(rb',"crc":"([0-9a-f]{8})"\}\r?\n\Z')


def study_line(worker: str, name: str, objectives: Sequence[Objective]) -> bytes:
    """The line that creates a study."""
    directions = [1 if objective.direction == "minimize" else 2 for objective in objectives]
    return _line({"op_code": CREATE_STUDY, "worker_id": worker, "study_name": name, "directions": directions})


def names_line(worker: str, study: int, objectives: Sequence[Objective]) -> bytes:
    """The line that names the objectives of a study, for Optuna's plots and tables."""
    names = {_METRIC_NAMES: [objective.name for objective in objectives]}
    return _line({"op_code": STUDY_ATTRIBUTE, "worker_id": worker, "study_id": study, "system_attr": names})


def value_places(objectives: int) -> list[str]:
    """The JSON pointers to the values of a trial's line, one for each of so many objectives."""
    return ["/value"] if objectives == 1 else [f"/values/{at}" for at in range(objectives)]


def has_names(log: Mapping[str, Any]) -> bool:
    """Whether a line names the objectives of its study."""
    return log["op_code"] == STUDY_ATTRIBUTE and _METRIC_NAMES in log["system_attr"]


def trial_line(worker: str, study: int, trial: StoredTrial, objectives: Sequence[Objective]) -> bytes:
    """The line of a finished trial, as Optuna writes that of one that is added to a study.

    Raises `ValueError` where a value or a violation is no number.
    """
    outcome, now = trial.outcome, datetime.now(tz=UTC).isoformat(timespec="microseconds")
    failed = outcome.state == "failed"
    values = None if failed else [outcome.values[objective.name] for objective in objectives]
    if any(map(math.isnan, [*(values or ()), *outcome.violations.values()])):
        raise ValueError(f"trial {trial.number}: expected numbers, got {values} and {outcome.violations}")
    several = values is not None and len(values) > 1
    attributes: dict[str, Any] = {
        "number": trial.number,
        "params": trial.params,
        "key": outcome.key,
        "state": outcome.state,
        "design": outcome.design,
        "metrics": outcome.metrics,
        "cut_by": outcome.cut_by,
        "error": outcome.error,
    }
    if outcome.workloads:
        attributes["workloads"] = [asdict(workload) for workload in outcome.workloads]
    if trial.draws is not None:
        attributes["draws"] = trial.draws
    return _line(
        {
            "op_code": CREATE_TRIAL,
            "worker_id": worker,
            "study_id": study,
            "datetime_start": now,
            "state": _FAIL if failed else _COMPLETE,
            "value": None if several or values is None else values[0],
            "values": values if several else None,
            "datetime_complete": now,
            "distributions": {},
            "params": {},
            "user_attrs": attributes,
            "system_attrs": {f"{CONSTRAINT}{name}": float(by) for name, by in outcome.violations.items()},
            "intermediate_values": {},
        }
    )


_MOST_NUMBER = 2**63


def _line(log: Mapping[str, Any]) -> bytes:
    return seal(json.dumps(log, separators=(",", ":")).encode())


def seal(line: bytes) -> bytes:
    """A line with its end, and the checksum of what is before that."""
    return line[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(line)


def unseal(line: bytes) -> bytes:
    """A line without checksum and end."""
    found = _SEAL.search(line)
    return line.rstrip(b"\r\n") if found is None else line[: found.start()] + b"}"


def _check_seal(line: bytes) -> None:
    """Raise `ValueError` where a line is not what its checksum is of."""
    found = _SEAL.search(line)
    if found is not None and zlib.crc32(line[: found.start()] + b"}") != int(found[1], 16):
        raise ValueError("a damaged line")


def read_line(line: bytes, objectives: Sequence[Objective]) -> Any:
    """The trial (or other record) in a line, None where it is damaged."""
    try:
        _check_seal(line)
        log = json.loads(line)
        return _stored(log, objectives) if log["op_code"] == CREATE_TRIAL else log
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _stored(log: Mapping[str, Any], objectives: Sequence[Objective]) -> StoredTrial:
    """The trial of a line; raises what Python does where it is none of this program's."""
    attributes = log["user_attrs"]
    marked = log["system_attrs"].items()
    values = log["values"] or ([] if log["value"] is None else [log["value"]])
    outcome = Outcome(
        key=attributes["key"],
        state=attributes["state"],
        values=dict(zip([objective.name for objective in objectives], values, strict=bool(values))),
        violations={key.removeprefix(CONSTRAINT): value for key, value in marked if key.startswith(CONSTRAINT)},
        design=attributes["design"],
        metrics=attributes["metrics"],
        cut_by=attributes["cut_by"],
        error=attributes["error"],
        workloads=tuple(TunedRecord(**workload) for workload in attributes.get("workloads", ())),
    )
    number = attributes["number"]
    if type(number) is not int or not 0 <= number < _MOST_NUMBER or outcome.state not in get_args(State):
        raise ValueError("no trial")
    _check_outcome(outcome)
    return StoredTrial(number, dict(attributes["params"]), outcome, attributes.get("draws"))


def _check_outcome(outcome: Outcome) -> None:
    """Raise `ValueError` where an outcome is none that an evaluation has: anybody may have written the file."""
    for text in (outcome.key, outcome.cut_by or "", outcome.error or ""):
        text.encode()  # without surrogates
    parts: list[Outcome | TunedRecord] = [outcome, *outcome.workloads]
    for part in parts:
        numbers = [*part.values.values(), *part.violations.values()]
        if not all(type(number) in (int, float) and not math.isnan(number) for number in numbers):
            raise ValueError("no values of a trial")
        if part.state != "cut" and not all(is_sane(number) for number in part.values.values()):
            raise ValueError("values that no design has")
        if not (part.design is None or isinstance(part.design, dict)):
            raise ValueError("no design")
        if not (part.metrics is None or is_result(part.metrics)):
            raise ValueError("no result")
