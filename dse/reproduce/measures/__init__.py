"""What a part of a study can run, by the key of `run` that says it."""

from __future__ import annotations

from dse.reproduce.measures.average import AverageRuns
from dse.reproduce.measures.base import Measure
from dse.reproduce.measures.single import SINGLE

MEASURES: dict[str, Measure] = {**SINGLE, "average": AverageRuns()}
