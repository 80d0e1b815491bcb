"""The reports of a run, phase by phase: bounding, asking what-ifs, drawing. Good files are never replaced by less."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dse.evaluate.record import StudyRecord
from dse.proof.certificate import certify
from dse.report import write_reports
from dse.report.choice import design_to_build
from dse.run.document import OpenStudy, open_study
from dse.run.proving_beside import certify_beside
from dse.run.record import Prove, record_in
from dse.study.parts import part_paths
from dse.study.store import STUDY, check_folder
from dse.study.watch import WATCHER, Watcher
from dse.whatif.answers import WhatIf
from dse.whatif.ask import answers_about
from simcore.document.problem import InputError, Problem

_FRONT = "pareto.json"


@dataclass(frozen=True)
class Reported:
    """What was reported, and where."""

    study: OpenStudy
    record: StudyRecord
    answers: WhatIf
    folder: Path
    files: tuple[Path, ...]


def report_run(
    run: Path,
    out: Path | None = None,
    simulations: int | None = None,
    watcher: Watcher = WATCHER,
    may_be_empty: bool = False,
    prove: Prove | None = None,
) -> Reported:
    """Write the reports of a run folder, into `out` where it is given; `watcher` is told how far they are.

    `prove` certifies its space: that of its search, if it has just ended, has begun with it; unless given `certify`, in
    a process of its own beside trials in parts, since what it leaves behind takes memory. `simulations` is the limit
    of `answers_about`; `may_be_empty`: a study that just ended may have no trial. Raises `InputError` where the folder
    holds no study, or nothing to report, or where the files would take the place of another run's or of better ones.
    """
    folder = run if out is None else out
    if (folder / STUDY).exists() and folder.resolve() != run.resolve():
        fix = "choose another folder with --out"
        raise InputError([Problem((), "a folder for reports", "the folder of another run", fix)], str(folder))
    study = open_study(run)
    usual: Prove = certify_beside if part_paths(run) else certify
    record = record_in(study, watcher=watcher, prove=prove or usual)
    if not record.trials and not may_be_empty:
        fix = "evaluate some: dse optimize SPACE --out with a new folder"
        raise InputError([Problem((), "a journal with trials to report", "one without any", fix)], str(run))
    if not record.feasible_trials and _has_front(folder):
        found = "a study without a feasible trial"
        fix = "put the journal back that they are of, or report into another folder with --out"
        raise InputError([Problem((), f"a front to replace that in {_FRONT}", found, fix)], str(folder))
    check_folder(folder)

    watcher.phase("asking what-ifs")
    choose = design_to_build(record)
    answers = answers_about(record, study.space, study.engine, simulations, watcher.note, choose)
    watcher.phase("drawing")
    return Reported(study, record, answers, folder, write_reports(record, folder, answers, watcher.note))


def _has_front(folder: Path) -> bool:
    """Whether a folder has the report of a study with a front."""
    try:
        return bool(json.loads((folder / _FRONT).read_text(encoding="utf-8"))["front"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
