"""Designs of a run as files, which `dse simulate` takes, with the numbers that the run had."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.evaluate.record import TrialRecord
from dse.study.files import write_whole
from simcore.check.load import design_from
from simcore.document.named_files import nearer
from simcore.document.problem import InputError, Problem
from simcore.document.text import dump_document
from simcore.engine.registry import QUICK
from simcore.simulate import simulate


@dataclass(frozen=True, slots=True)
class DesignFile:
    """A design that was written."""

    path: Path
    note: str
    """What differs from the run; empty where a simulation of the file gives the run's own numbers."""


def write_designs(trial: TrialRecord, path: Path, engine: str) -> tuple[DesignFile, ...]:
    """Write the design of a trial to `path`; of a purchase one file a workload, with its name before the suffix.

    Each design is simulated once more where the run's engine is a quick one, to hold the file to its numbers. Raises
    `InputError` where the trial has no design, `OSError` where a file cannot be written.
    """
    parts = [(name, part) for name, part in trial.parts if part.design is not None]
    if not parts:
        raise InputError([Problem(("--design",), "a trial with a design", f"trial {trial.number}, which has none")])
    files = [_file_of(path, name, index) for index, (name, _) in enumerate(parts)]
    for file, (_, part) in zip(files, parts, strict=True):
        document = _without_shares(part.design or {})
        write_whole(file, dump_document(nearer(document, file.parent)).encode())
    return tuple(DesignFile(file, _note(part, engine)) for file, (_, part) in zip(files, parts, strict=True))


def _without_shares(design: Mapping[str, Any]) -> dict[str, Any]:
    """A design without the bandwidths that follow from NICs, so that whoever edits it can change these alone."""
    dimensions = [
        {key: value for key, value in dimension.items() if key != "bandwidth"} if dimension.get("nics") else dimension
        for dimension in design.get("cluster", {}).get("dimensions", ())
    ]
    return {**design, "cluster": {**design["cluster"], "dimensions": dimensions}} if dimensions else dict(design)


def _file_of(path: Path, workload: str, index: int) -> Path:
    """The file of one workload; its name is a stranger's, so only plain letters of it are kept."""
    if not workload:
        return path
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", workload).strip(".-")[:40]
    return path.with_name(
        f"{path.stem}-{index + 1}-{plain}{path.suffix}" if plain else f"{path.stem}-{index + 1}{path.suffix}"
    )


def _note(part: TrialRecord, engine: str) -> str:
    if part.metrics is None or part.design is None:
        return "the run never simulated it"
    if engine not in QUICK:
        return f"the run used engine {engine}: dse simulate with --engine {engine}"
    recorded, now = part.metrics["iteration_time_s"], simulate(design_from(part.design), engine).iteration_time_s
    if now == recorded:
        return ""
    return f"it takes {now:.6g} s with this version, {recorded:.6g} s in the run"
