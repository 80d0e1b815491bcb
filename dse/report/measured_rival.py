"""A sentence where a choice rests on a data sheet: the nearest design on a device whose kernels were measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.describe import headline
from dse.report.nearest import READ, describe_changes, distance, nearest
from dse.report.runnable import describe_otherwise, runs_otherwise
from dse.report.units import clean_text
from dse.whatif.answers import Machine
from dse.whatif.machines import machine_of
from simcore.check.load import parse_design
from simcore.provenance import evidence


def describe_measured_rival(record: StudyRecord, trial: TrialRecord, machines: Sequence[Machine] = ()) -> str:
    """Which design to build instead where only measurements count; empty where the trial's device was measured.

    It is the nearest trial that its stack runs, or the design found on one of `machines`, if that is nearer; one that
    no stack runs as it is only where there is no other. Empty, too, where none is on a measured device.
    """
    if not _rests_on_data_sheet(trial):
        return ""
    for kernels_of, devices in (("kernels", ("kernels",)), ("kernels of their generation", ("kernels", "generation"))):
        rival = _nearest_on(devices, record, trial, machines)
        if rival is not None:
            name = clean_text(machine_of(trial.design))
            who = f"trial {rival.number}" if isinstance(rival, TrialRecord) else "a design that is no trial"
            document = rival.decided_document if isinstance(rival, TrialRecord) else rival.design
            what = headline(document, ("NPUs", "degrees", "software"))
            changes, otherwise = describe_changes(record, trial, rival), describe_otherwise(rival.design)
            return (
                f"The times of {name} rest on its data sheet alone: a pilot comes before an order. On devices whose "
                f"{kernels_of} were measured, {who} ({what}) is the nearest: {changes}"
                f"{otherwise and f'; {otherwise}'}."
            )
    return ""


def _nearest_on(
    devices: Sequence[str], record: StudyRecord, trial: TrialRecord, machines: Sequence[Machine]
) -> TrialRecord | Machine | None:
    """The nearest trial, or design on a machine, whose devices all have such evidence, and that its stack runs."""
    is_on = _is_on(devices)
    of_machines = [machine for machine in machines if _device_evidence(machine.design) in devices]
    running = _nearest_of(
        lambda other: is_on(other) and not runs_otherwise(other),
        record,
        trial,
        [machine for machine in of_machines if not describe_otherwise(machine.design)],
    )
    return running or _nearest_of(is_on, record, trial, of_machines)


def _nearest_of(
    accepts: Callable[[TrialRecord], bool], record: StudyRecord, trial: TrialRecord, machines: Sequence[Machine]
) -> TrialRecord | Machine | None:
    """The nearest of such trials, or design on a machine: of the front where one is such."""
    if members := [member for member in record.front[:READ] if accepts(member)]:
        return min(members, key=lambda member: distance(record, trial, member))
    rival = nearest(record, trial, accepts, READ)
    found: list[TrialRecord | Machine] = [] if rival is None else [rival]  # first: a machine's design may be this trial
    return min([*found, *machines], key=lambda other: distance(record, trial, other), default=None)


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
