"""The interval of a prediction: what measured over predicted iteration time is in nine of ten jobs, times the latter.

It follows from where the numbers come from (`simcore.provenance`). On a device whose iterations decided the numbers of
the software, it is that of the software's own rows, predicted without their job. On another device of a generation
whose kernels were measured it is wider by `OTHER_DEVICE`. Software whose numbers no iteration decided, and devices
known by their data sheet alone, have the errors of such predictions. docs/accuracy.md says how they were found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.software import Software
from simcore.provenance import Evidence, evidence_of

Ratios = tuple[float, float]

OTHER_DEVICE: Ratios = (0.87, 1.29)
"""Of a device that no iterations were fitted to, beyond those of the software. The one that was left out, a machine
with B200s about 1.3 times slower than others (b200-simumax), took 1.13 to 1.29 times as long as its generation's
numbers say in nine of ten jobs; that a device may be faster by half as much is assumed."""
OTHER_SOFTWARE: Ratios = (0.62, 1.29)
"""Of software without numbers of its own: 186 jobs of seven stacks, each with the numbers of another stack."""
DATA_SHEET: Ratios = (0.67, 1.53)
"""Of a device without a curve: ten jobs of TPU v5p reached 0.80 to 1.53; that others are as much faster is assumed."""


def interval(design: Design, seconds: float) -> Ratios:
    """Where the measured time lies in nine of ten jobs [s], of `seconds` predicted."""
    low, high = ratios(design)
    return low * seconds, high * seconds


def ratios(design: Design) -> Ratios:
    """Measured over predicted time in nine of ten jobs."""
    return ratios_of(design.cluster.npu, design.software, design.workload.measured_as)


def ratios_of(npu: Npu, software: Software, measured_as: str) -> Ratios:
    """The same of a stack on a device, for a kind of model."""
    found = evidence_of(npu, software)
    if found.device == "data sheet":
        return DATA_SHEET
    own = _of_software(software, measured_as, found)
    if found.iterations:
        return own
    return own[0] * OTHER_DEVICE[0], own[1] * OTHER_DEVICE[1]


def _of_software(software: Software, measured_as: str, found: Evidence) -> Ratios:
    known: Mapping[Any, Ratios] = software.interval or {}
    return known.get(measured_as, OTHER_SOFTWARE) if found.software else OTHER_SOFTWARE
