"""Metrics as an installed package brings them: each one row, and nothing else anywhere."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest
from dse_example.carbon import CARBON

from simcore.metrics import METRICS, Metric

UNPROVEN = replace(CARBON, bound=None)
FLOOR = Metric(unit="m2", scope="npus", before=lambda design, memory: design.cluster.npus / 32 * 1.2)


def install(monkeypatch: pytest.MonkeyPatch, **metrics: str) -> None:
    """As if a package with entry points for these were installed: name -> name in this module."""
    points = {name: EntryPoint(name, f"added_metrics:{value}", "simcore.metrics") for name, value in metrics.items()}
    monkeypatch.setattr("simcore.family._find_entry_points", lambda group: points if group == "simcore.metrics" else {})
    monkeypatch.setattr(METRICS, "_loaded", {})
