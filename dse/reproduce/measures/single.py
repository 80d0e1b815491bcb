"""Measures that run one document."""

from __future__ import annotations

from dse.reproduce.measures.astra import RunAstra
from dse.reproduce.measures.base import Measure
from dse.reproduce.measures.design import SimulateDesign
from dse.reproduce.measures.incast import PlayIncast
from dse.reproduce.measures.optimize import OptimizeSpace
from dse.reproduce.measures.split import SplitBandwidth

SINGLE: dict[str, Measure] = {
    "design": SimulateDesign(),
    "astra": RunAstra(),
    "optimize": OptimizeSpace(),
    "incast": PlayIncast(),
    "split": SplitBandwidth(),
}
