"""The answers about the study of a run folder, as a report and `dse show` ask for them."""

from __future__ import annotations

from pathlib import Path

from dse.evaluate.record import StudyRecord
from dse.run.document import open_study
from dse.whatif.answers import WhatIf
from dse.whatif.ask import answers_about


def answer_what_if(record: StudyRecord, folder: Path, simulations: int | None = None) -> WhatIf:
    study = open_study(folder)
    return answers_about(record, study.space, study.engine, simulations)
