"""That a choice rests on a data sheet, and the nearest design on a device whose kernels were measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    for kernels_of, devices in (("kernels", ("kernels",)), ("kernels of their generation", ("kernels", "generation"))):
        rival = nearest(record, trial, _is_on(devices), READ)
        if rival is not None:
            name = clean_text(machine_of(trial.design))
            what = headline(rival.decided_document, ("NPUs", "degrees", "software"))
            return (
                f"The times of {name} rest on its data sheet alone: a pilot comes before an order. On devices whose "
                f"{kernels_of} were measured, trial {rival.number} ({what}) is the nearest: "
                f"{describe_changes(record, trial, rival)}."
            )
    return ""


def _is_on(devices: Sequence[str]) -> Callable[[TrialRecord], bool]:
    """Whether all that a trial is about is on devices of which such evidence is known (`simcore.provenance`)."""
    known: dict[str, bool] = {}

    def is_on(trial: TrialRecord) -> bool:
        name = machine_of(trial.design)
        if name not in known:
            known[name] = all(_device_evidence(part.design) in (*devices, "") for _, part in trial.parts)
        return known[name]

    return is_on


def _rests_on_data_sheet(trial: TrialRecord) -> bool:
    """Whether the times of a trial do, of any of its workloads."""
    return any(rests_on_data_sheet(part.design) for _, part in trial.parts)


def rests_on_data_sheet(document: Mapping[str, Any] | None) -> bool:
    """Whether the times of a design rest on a data sheet alone."""
    return _device_evidence(document) == "data sheet"


def _device_evidence(document: Mapping[str, Any] | None) -> str:
    """What is known of the device of a design; empty where it has several jobs, or is none."""
    design = parse_design(document or {})[0]
    return "" if design is None or design.jobs is not None else evidence(design).device
