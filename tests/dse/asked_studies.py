"""The answers about the study of a run folder, as a report and `dse show` ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dse.evaluate.record import StudyRecord
from dse.report.decision import describe_decision
from dse.report.summary import summarize
from dse.run.document import open_study
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import space_from
from dse.whatif.answers import WhatIf
from dse.whatif.ask import answers_about
from simcore.document.text import parse_document


def answer_what_if(record: StudyRecord, folder: Path, simulations: int | None = None) -> WhatIf:
    study = open_study(folder)
    return answers_about(record, study.space, study.engine, simulations)


def ask_about_all(document: Mapping[str, Any], folder: Path) -> tuple[WhatIf, tuple[str, ...], dict[str, Any]]:
    """Of every design of a space: the answers, the sentences of the decision, and the design to build."""
    space = space_from(parse_document(yaml.safe_dump(dict(document), sort_keys=False), "space"), "asked")
    optimize(space, Settings(sampler="exhaustive", trials=100, seed=0), folder, resume=False)
    record, study = load_record(folder), open_study(folder)
    answer = answers_about(record, study.space, study.engine, choose=lambda _: record.front[0])
    decision = describe_decision(record, summarize(record, answer))
    built = record.trials.numbered(decision.trial or 0)
    assert built is not None
    return answer, decision.sentences, dict(built.design or {})
