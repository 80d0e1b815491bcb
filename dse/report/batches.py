"""What the design to build would be at half and at twice its global batch, in clauses."""

from __future__ import annotations

from collections.abc import Iterator

from dse.evaluate.record import TrialRecord
from dse.report.aspects import value_at
from dse.report.summary import Summary
from dse.report.units import clean_text, format_brief
from dse.whatif.answers import DOES_NOT_FIT, AtBatch
from simcore.design.workload import read_workload
from simcore.metrics import METRICS

Answer = tuple[str, bool]
"""A clause, and whether it is about a change; else it only names what was tried."""
_CANNOT = {"microbatches fill the batch": "data x microbatch does not divide it"}
"""What a rule that a design breaks at another batch says of that batch."""


def at_batches(summary: Summary, trial: TrialRecord) -> Iterator[Answer]:
    """With which batches it leaves the front."""
    asked = summary.what_if.batches.get(trial.number, ())
    for at in asked:
        if not at.stays:
            yield f"at batch {format_brief(at.batch)}{_changed(at)} {_fate(trial, at)}", True
    if asked and all(at.stays for at in asked):
        half, twice = (next((_changed(at) for at in asked if (at.factor > 1) is more), "") for more in (False, True))
        yield f"half{half} or twice{twice} the batch", False


def _changed(at: AtBatch) -> str:
    """What else differs there: a microbatch that fits the batch."""
    return "" if at.microbatch is None else f" (with microbatch {at.microbatch})"


def _fate(trial: TrialRecord, at: AtBatch) -> str:
    if not at.why:
        return "other designs beat it"
    if at.why == DOES_NOT_FIT:
        return f"it {at.why}"
    if not any(sign in at.why for sign in ("<", ">")):
        return f"it cannot run ({_CANNOT.get(at.why) or clean_text(at.why)})"
    tokens = ", with the tokens that training takes at such a batch" if _takes_more(trial, at) else ""
    return f"it misses {clean_text(at.why)}{tokens}"


def _takes_more(trial: TrialRecord, at: AtBatch) -> bool:
    """Whether training takes more tokens at a batch, as the what-if has it, and the limit is one on what it takes."""
    workload = value_at(trial.design or {}, "workload")
    of_training = any(metric.needs == "training_tokens" and name in at.why for name, metric in METRICS.items())
    return of_training and at.factor > 1 and isinstance(workload, dict) and bool(read_workload(workload).anchor())
