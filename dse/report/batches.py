"""What the design to build would be at half and at twice its global batch, and what lies beyond those of the space."""

from __future__ import annotations

from collections.abc import Iterator

from dse.evaluate.pareto import ALIKE
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.aspects import value_at
from dse.report.describe import headline
from dse.report.nearest import describe_losses
from dse.report.summary import Summary
from dse.report.units import clean_text, format_brief
from dse.whatif.answers import DOES_NOT_FIT, AtBatch
from dse.whatif.batches import batch_of
from dse.whatif.climb import loss_against
from simcore.design.workload import read_workload
from simcore.metrics import METRICS

_TIMES = ("half", "twice")
Answer = tuple[str, bool]
"""A clause, and whether it is about a change; else it only names what was tried."""
_CANNOT = {"microbatches fill the batch": "data x microbatch does not divide it"}
"""What a rule that a design breaks at another batch says of that batch."""


def at_batches(summary: Summary, trial: TrialRecord) -> Iterator[Answer]:
    """With which batches it leaves the front."""
    asked = [at for at in summary.what_if.batches.get(trial.number, ()) if float(at.batch).is_integer()]
    fates: dict[str, list[str]] = {}
    for at in asked:
        if not at.stays:
            fates.setdefault(_fate(trial, at), []).append(f"at batch {format_brief(at.batch)}{_changed(at)}")
    yield from ((f"{' and '.join(batches)} {fate}", True) for fate, batches in fates.items())
    if asked and all(at.stays for at in asked):
        yield f"{' or '.join(f'{_TIMES[at.factor > 1]}{_changed(at)}' for at in asked)} the batch", False


def beyond_batches(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    """What a design of the front gains at a larger batch than the space has, where a model is served; else empty.

    It ends where the space does, so that which design is best depends on that. That with the largest gain is told, as
    it is beside the design to build, of those that lose nothing by it.
    """
    served = value_at(trial.design or {}, "workload.output_length")
    if not served or "workload.global_batch" not in record.trials.params:
        return ""
    largest = max((batch_of(member) or 0 for member in summary.front), default=0)
    found: list[tuple[float, TrialRecord, AtBatch]] = []
    for member in summary.front:
        for at in summary.what_if.batches.get(member.number, ()):
            if at.factor > 1 and not at.why and batch_of(member) == largest:
                own, built = (loss_against(record, one, at.values) for one in (member, trial))
                if max(own.values()) <= ALIKE:
                    found.append((min(max(own[name], built[name]) for name in own), member, at))
    best = min(found, key=lambda one: one[0], default=None)
    if best is None or best[0] > -ALIKE:
        return ""
    _, member, at = best
    told = describe_losses(record, loss_against(record, trial, at.values))
    which = f"trial {member.number} ({headline(member.design, ('NPUs',))})" if member.number != trial.number else "it"
    return f"at batch {format_brief(at.batch)}, beyond the space, {which} has {told}"


def _changed(at: AtBatch) -> str:
    """What else differs there: a microbatch that fits the batch."""
    return "" if at.microbatch is None else f" (with microbatch {at.microbatch})"


def _fate(trial: TrialRecord, at: AtBatch) -> str:
    who = f"trial {trial.number}"  # what is said before this may be about another one
    if not at.why:
        return f"other designs beat {who}"
    if at.why == DOES_NOT_FIT:
        return f"{who} {at.why}"
    if not any(sign in at.why for sign in ("<", ">")):
        return f"{who} cannot run ({_CANNOT.get(at.why) or clean_text(at.why)})"
    tokens = ", with the tokens that training takes at such a batch" if _takes_more(trial, at) else ""
    return f"{who} misses {clean_text(at.why)}{tokens}"


def _takes_more(trial: TrialRecord, at: AtBatch) -> bool:
    """Whether training takes more tokens at a batch, as the what-if has it, and the limit is one on what it takes."""
    workload = value_at(trial.design or {}, "workload")
    of_training = any(metric.needs == "training_tokens" and name in at.why for name, metric in METRICS.items())
    return of_training and at.factor > 1 and isinstance(workload, dict) and bool(read_workload(workload).anchor())
