"""What a design pays in loss or tokens that no metric counts, or counts at the least."""

from __future__ import annotations

from dse.evaluate.record import TrialRecord
from dse.report.aspects import value_at
from simcore.check.load import parse_design
from simcore.workload.narrow import LOSSY
from simcore.workload.penalties import lost_accuracy


def lossy_precisions(trial: TrialRecord) -> set[str]:
    """The precisions in which a trial trains whose loss no published run has made up for."""
    documents = [part.design or {} for _, part in trial.parts]
    trained = [document for document in documents if not value_at(document, "workload.output_length")]
    return {*LOSSY} & {str(value_at(document, "workload.precision")) for document in trained}


def uncounted_losses(trial: TrialRecord) -> set[str]:
    """What precisions, sums and old weights of a trial are known to cost in loss or tokens, a text each."""
    designs = [parse_design(part.design or {})[0] for _, part in trial.parts]
    known = {text for design in designs if design is not None and design.jobs is None for text in lost_accuracy(design)}
    return known | lossy_precisions(trial)


def name_losses(losses: set[str]) -> list[str]:
    """What these come from: `fp8 with a scale for each tensor`."""
    return list(dict.fromkeys(text.partition(":")[0] for text in sorted(losses)))
