"""The scheduling policies of a design that a decision names: those that the space left open and that matter to it."""

from __future__ import annotations

from collections.abc import Iterator

from dse.evaluate.record import TrialRecord
from dse.report.units import clean_text
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.system import System
from simcore.engine.registry import engine_named
from simcore.simulate import simulate

_POLICIES = ("intra_dimension", "inter_dimension")
_QUICK = "fast"
"""The engine whose designs a report simulates unbidden: others may take long."""


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
    design, metrics = parse_design(trial.design or {})[0], trial.metrics or {}
    if design is None or metrics.get("engine") != _QUICK:
        return False
    alike = design.model_copy(update={"system": design.system.model_copy(update={key: usual})})
    if check(alike):  # a journal of a stranger may hold a design that breaks rules
        return False
    return simulate(alike, engine_named(_QUICK)).iteration_time_s == metrics.get("iteration_time_s")
