"""Puts the lines of a journal that is full into a part, and takes them out of the journal.

    lines ─▶ hidden file, synchronised ─▶ journal.NNNNN.parquet ─▶ the journal without these lines, put in its place

Killed before the part has its name, the journal has the trials; killed after that, both have them, and readers count
each once. Whoever resumes takes the lines out then (`dse.study.kept`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dse.space.objective import Objective
from dse.study.derived import Derived
from dse.study.files import write_pieces
from dse.study.optuna_file import CREATE_TRIAL, read_line
from dse.study.parts import free_part, write_part
from dse.study.stored import StoredTrial


def seal_lines(
    journal: Path, parts: int, rows: int, objectives: tuple[Objective, ...], told: Mapping[str, Any] | None = None
) -> None:
    """Put the first trials of a journal into `parts` parts of `rows` rows each; `told` is kept in the last of them.

    Other lines stay: those of the study, damaged ones. A line that changes a trial, as Optuna's dashboard writes one
    for a note, goes: it names the trial by its place in the file.
    """
    rest: list[bytes] = []
    with journal.open("rb") as file:
        sound = _trial_lines(iter(file), objectives, rest)
        for part in range(parts):
            metrics, last = Derived(), part == parts - 1
            lines = _counted(islice(sound, rows), metrics)
            write_part(free_part(journal.parent), lines, rows, (told or {}) if last else {}, metrics)
        rest += (line for line, _ in sound)
    write_pieces(journal, rest, durable=True)


def _counted(trials: Iterator[tuple[bytes, StoredTrial]], metrics: Derived) -> Iterator[bytes]:
    """The lines of trials, whose metrics are added as they pass."""
    for line, trial in trials:
        metrics.add(trial)
        yield line


def _trial_lines(
    lines: Iterator[bytes], objectives: tuple[Objective, ...], rest: list[bytes]
) -> Iterator[tuple[bytes, StoredTrial]]:
    """The sound lines of trials, and these; what else stays goes to `rest`."""
    for line in lines:
        found = read_line(line, objectives)
        if isinstance(found, StoredTrial):
            yield line, found
        elif found is None or ("trial_id" not in found and found["op_code"] != CREATE_TRIAL):
            rest.append(line)
