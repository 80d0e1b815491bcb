"""What-ifs of a run that has ended, asked as its reports ask them, so that a design picked by them is the same."""

from __future__ import annotations

from dse.door.interrupt import Interrupt
from dse.door.progress import Phases
from dse.evaluate.record import StudyRecord
from dse.report.choice import design_to_build
from dse.run.document import OpenStudy
from dse.whatif.answers import WhatIf
from dse.whatif.ask import answers_about


def ask_again(study: OpenStudy, record: StudyRecord, interrupt: Interrupt) -> WhatIf:
    """The answers about a study that choose a design, of which `record` is the record; how far they are is shown."""
    with Phases(interrupt) as phases:
        phases.phase("asking what-ifs")
        choose = design_to_build(record)
        return answers_about(record, study.space, study.engine, note=phases.note, choose=choose, around=False)
