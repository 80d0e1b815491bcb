"""The record of a study in its folder: `study.yaml` (what was asked), the journal (`dse.study.journal`), `proof.json`.

Everything a report needs is in these files.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dse.space.objective import Objective
from dse.study.files import part_of, sweep, write_whole
from simcore.document.problem import InputError, InputWarning, Problem
from simcore.document.text import dump_document

STUDY, PROOF = "study.yaml", "proof.json"
_PROBE_BYTES = 16 << 20


def write_study(folder: Path, study: Mapping[str, Any]) -> None:
    """Write `study.yaml`."""
    write_whole(folder / STUDY, dump_document(dict(study)).encode())


def write_proof(folder: Path, proof: Mapping[str, Any], of: Mapping[str, Any]) -> None:
    """Write what a sampler proved of the whole space (`dse.search.base.Prover.proof`), and `of` what it did."""
    rows = proof.get("corners")
    said = {"corners": rows and [[value if math.isfinite(value) else None for value in row] for row in rows]}
    write_whole(folder / PROOF, f"{json.dumps({**proof, **said, 'of': of}, indent=2)}\n".encode())


def forget_proof(folder: Path) -> None:
    """Remove what was proved before: the study goes on, and may end without a proof."""
    (folder / PROOF).unlink(missing_ok=True)


def read_proof(
    folder: Path, objectives: tuple[Objective, ...], of: Callable[[], Mapping[str, Any]]
) -> dict[str, Any] | None:
    """What a sampler proved of the whole space; None where it proves nothing, or where it proved that `of` another.

    Warns (`InputWarning`) of a proof of another study, or of other trials. Raises `InputError` where the file is not
    what `write_proof` writes.
    """
    found = _read_values(folder / PROOF, lambda found: _known(found, objectives))
    if found is None or found.pop("of") == dict(of()):
        return found
    problem = Problem(
        (), "the proof of these trials", "that of others, of another space or of another version", "it is passed over"
    )
    warnings.warn(f"{folder / PROOF}: {problem}", InputWarning, stacklevel=2)
    return None


def _known(found: Any, objectives: tuple[Objective, ...]) -> dict[str, Any]:
    numbers = {key: _number(found[key]) for key in ("points", "repeats", "simulated", "open")}
    bounds = {objective.name: _number(found["bounds"].get(objective.name)) for objective in objectives}
    numbers["failed"] = _number(found.get("failed", 0))
    cut = {str(rule): _number(count) for rule, count in found["cut"].items()}
    said = {"complete": bool(found["complete"]), "solved_shares": bool(found.get("solved_shares"))}
    rows = found.get("corners")
    corners = None if rows is None else [[_loss(value) for value in row] for row in rows]
    return {**numbers, "cut": cut, **said, "bounds": bounds, "corners": corners, "of": found.get("of")}


def _number(value: Any) -> Any:
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"expected a number, got {value!r}")
    return value


def _loss(value: Any) -> float:
    """A number of a row; minus infinity, which JSON has no number for, where nothing is proven."""
    return -math.inf if value is None else float(_number(value))


def _read_values(path: Path, known: Callable[[Any], dict[str, Any]]) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        return known(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = Problem(
            (), "what a run of dse optimize wrote", f"a file that cannot be read ({error})", "run it again"
        )
        raise InputError([problem], str(path)) from None


def check_folder(folder: Path) -> None:
    """Make the run folder, free of what killed runs left, and make sure before the search that it can be written.

    Raises `InputError` where the folder cannot be made or written, or the disk has no room.
    """
    probe = part_of(folder / "probe")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
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
