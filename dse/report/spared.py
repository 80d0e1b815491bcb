"""What a design that pays no loss and no tokens would be, where the one to build pays some that no metric counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.describe import compare, headline
from dse.report.families import KIND
from dse.report.losses import name_losses, uncounted_losses
from dse.report.nearest import READ, describe_changes, describe_losses, nearest, shares_worse
from dse.report.units import clean_text
from dse.whatif.answers import Wider

_NEAR = 1.0
"""By which share a design may be worse that is named because it does not pay what is not counted."""
_TOLD = 4
"""Differences that are told of a design that is no trial."""


def describe_spared(record: StudyRecord, trial: TrialRecord, wider: Wider | None = None) -> Iterator[str]:
    """The nearest design that pays no loss and no tokens, where a trial pays some that no metric counts.

    It is a trial, or the best that was found in a precision that pays none (`wider`).
    """
    paid = uncounted_losses(trial)
    if not paid:
        return
    other = nearest(record, trial, lambda other: other.design is not None and not uncounted_losses(other), READ)
    far = inf if other is None else float(shares_worse(record, (other,), trial)[0])
    its = None if wider is None or wider.trial != trial.number else wider
    if its is not None and its.loss is not None and max(its.loss.values()) < far and _is_free(trial, its):
        yield f"{_name_wider(trial, its)}: {describe_losses(record, its.loss)}."
    elif other is not None and far <= _NEAR:
        spared = " and ".join(map(clean_text, name_losses(paid)))
        machines = [headline(one.design, ("NPUs",)) for one in (trial, other)]
        where = f" ({machines[1]})" if machines[0] != machines[1] else ""
        yield f"Trial {other.number}{where} does without {spared}: {describe_changes(record, trial, other)}."
    elif its is not None and its.loss is None:
        yield f"Trial {trial.number} in {its.precision}: it does not fit."


def _is_free(trial: TrialRecord, wider: Wider) -> bool:
    """Whether a wider precision is all that it takes to pay nothing that is not counted."""
    return not uncounted_losses(replace(trial, design=wider.design))


def _name_wider(trial: TrialRecord, wider: Wider) -> str:
    """The design in a wider precision: the trial itself, or in what it differs."""
    differs = compare([trial.design, wider.design], KIND).phrases[1]
    told = [text for text in differs if text != wider.precision][:_TOLD]
    if not told:
        return f"Trial {trial.number} in {wider.precision}"
    return f"The best found in {wider.precision} ({', '.join(told)})"
