"""What the design to build would be as its stack runs it, where that does something otherwise than was simulated."""

from __future__ import annotations

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.export import as_run, target_of
from dse.whatif.answers import AsRun
from dse.whatif.batches import describe_broken
from dse.whatif.climb import Simulate, loss_against
from simcore.check.load import parse_design
from simcore.document.problem import InputError, Refusal
from simcore.layout.settle import settle


def find_as_run(record: StudyRecord, trial: TrialRecord, simulate: Simulate) -> AsRun | None:
    """A trial's design as its stack runs it; None where it is the same, or no export knows the stack or takes it.

    `simulate` evaluates a document; where it says that one is of unsound form (`UnsoundError`), none exists.
    """
    outcome = simulate_as_run(trial, simulate)
    if outcome is None:
        return None
    if outcome.state != "feasible":
        return AsRun(trial.number, None, describe_broken(outcome))
    loss = loss_against(record, trial, outcome.values)
    return AsRun(trial.number, loss) if any(loss.values()) else None


def simulate_as_run(trial: TrialRecord, simulate: Simulate) -> Outcome | None:
    """What a design comes to as its stack runs it; None where that is the same, or no export knows it."""
    design = None if trial.design is None else parse_design(trial.design)[0]
    if trial.design is None or design is None or design.jobs is not None:
        return None
    target = target_of(design.software.name)
    if target is None:
        return None
    try:
        its, own = as_run(design, target).document(), settle(design).document()
        workload = {**trial.design["workload"], "precision": its["workload"]["precision"]}
        if its["parallelism"] == own["parallelism"] and workload == trial.design["workload"]:
            return None
        outcome = simulate({**trial.design, "workload": workload, "parallelism": its["parallelism"]})
    except (Refusal, InputError):
        return None
    return None if outcome.state == "failed" else outcome
