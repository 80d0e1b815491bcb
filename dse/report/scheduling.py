"""The scheduling policies of a design that a decision names: those that the space left open and that matter to it."""

from __future__ import annotations

from collections.abc import Iterator

from dse.evaluate.record import TrialRecord
from dse.report.quick import seconds_as
from dse.report.units import clean_text
from simcore.check.load import parse_design
from simcore.design.system import System

_POLICIES = ("intra_dimension", "inter_dimension")


def open_policies(trial: TrialRecord) -> Iterator[str]:
    """The values of open policies: the usual one, and another where it does not take just as long with the usual one.

    Where nothing waits for anything a search takes any policy, and a reader would look for a reason.
    """
    for key in _POLICIES:
        value, usual = trial.params.get(f"system.{key}"), System.model_fields[key].default
        if value is not None and (value == usual or not _makes_no_difference(trial, key, usual)):
            yield clean_text(value)


def _makes_no_difference(trial: TrialRecord, key: str, usual: str) -> bool:
    """Whether a design takes as long with the usual policy, as far as a report asks."""
    design = parse_design(trial.design or {})[0]
    if design is None:
        return False
    alike = design.model_copy(update={"system": design.system.model_copy(update={key: usual})})
    seconds = seconds_as(trial, alike)
    return seconds is not None and seconds == (trial.metrics or {}).get("iteration_time_s")
