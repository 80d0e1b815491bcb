"""What the design to build would be in 16 bits, where it trains in fewer and what that loses is not counted."""

from __future__ import annotations

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.whatif.answers import Wider
from dse.whatif.climb import Simulate, loss_against
from simcore.check.load import parse_design
from simcore.document.field import NARROW
from simcore.document.problem import Refusal
from simcore.workload.base import kind_of

WIDE = "bf16"


def find_wider(record: StudyRecord, trial: TrialRecord, simulate: Simulate) -> Wider | None:
    """A trial's design in 16 bits; None of one that has them, or serves, or where its NPU has no such peak.

    `simulate` evaluates a document; where it says that one is of unsound form (`UnsoundError`), there is none.
    """
    design = None if trial.design is None else parse_design(trial.design)[0]
    if trial.design is None or design is None or design.jobs is not None or not kind_of(design.workload).trained:
        return None
    if design.workload.precision not in NARROW:
        return None
    try:
        outcome = simulate({**trial.design, "workload": {**trial.design["workload"], "precision": WIDE}})
    except Refusal:
        return None
    if outcome.state != "feasible":
        return Wider(trial.number, WIDE, None) if outcome.violations.get("fits", 0.0) > 0 else None
    return Wider(trial.number, WIDE, loss_against(record, trial, outcome.values))
