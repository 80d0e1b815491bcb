"""What a part of a study can run, by the key of `run` that says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.reproduce.measures.astra import RunAstra
from dse.reproduce.measures.average import AverageRuns
from dse.reproduce.measures.base import Measure
from dse.reproduce.measures.design import SimulateDesign
from dse.reproduce.measures.incast import PlayIncast
from dse.reproduce.measures.optimize import OptimizeSpace
from dse.reproduce.measures.split import SplitBandwidth
from simcore.document.problem import InputError, Problem

MEASURES: dict[str, Measure] = {
    "design": SimulateDesign(),
    "astra": RunAstra(),
    "optimize": OptimizeSpace(),
    "incast": PlayIncast(),
    "split": SplitBandwidth(),
}
MEASURES["average"] = AverageRuns(dict(MEASURES))


def measure_of(run: Mapping[str, Any]) -> Measure:
    """What runs `run`; raises `InputError` where nothing does."""
    for key, measure in MEASURES.items():
        if key in run:
            return measure
    raise InputError([Problem(("run",), f"one of {', '.join(MEASURES)}", ", ".join(run) or "nothing")])
