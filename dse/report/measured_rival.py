"""That a choice rests on a data sheet, and the nearest design on a device whose kernels were measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.describe import headline
from dse.report.nearest import READ, describe_changes, nearest
from dse.report.units import clean_text
from dse.whatif.machines import machine_of
from simcore.check.load import parse_design
from simcore.provenance import evidence


def describe_measured_rival(record: StudyRecord, trial: TrialRecord) -> str:
    """Which design to build instead where only measurements count; empty where the trial's device was measured.

    Also where no design of the study is on a measured device.
    """
    if not _rests_on_data_sheet(trial):
        return ""
    known: dict[str, bool] = {}

    def is_measured(other: TrialRecord) -> bool:
        name = machine_of(other.design)
        if name not in known:
            known[name] = not _rests_on_data_sheet(other)
        return known[name]

    rival = nearest(record, trial, is_measured, READ)
    if rival is None:
        return ""
    name = clean_text(machine_of(trial.design))
    what = headline(rival.decided_document, ("NPUs", "degrees", "software"))
    return (
        f"The times of {name} rest on its data sheet alone: a pilot comes before an order. On devices whose kernels "
        f"were measured, trial {rival.number} ({what}) is the nearest: {describe_changes(record, trial, rival)}."
    )


def _rests_on_data_sheet(trial: TrialRecord) -> bool:
    """Whether the times of a trial do, of any of its workloads."""
    return any(rests_on_data_sheet(part.design) for _, part in trial.parts)


def rests_on_data_sheet(document: Mapping[str, Any] | None) -> bool:
    """Whether the times of a design rest on a data sheet alone."""
    design = parse_design(document or {})[0]
    return design is not None and design.jobs is None and evidence(design).device == "data sheet"
