"""Metrics as an installed package brings them: each one row, and nothing else anywhere."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from simcore.metrics import METRICS, Metric

KG_PER_JOULE = 0.4 / 3.6e6

CARBON = Metric(
    unit="kg",
    measure=lambda design, result: result.energy_j * KG_PER_JOULE,
    bound=lambda figures: None if figures.energy is None else figures.energy * KG_PER_JOULE,
    moves=("time", "energy"),
    label="carbon dioxide",
    shown="everywhere",
)
UNPROVEN = replace(CARBON, bound=None)
FLOOR = Metric(unit="m2", scope="npus", before=lambda design, memory: design.cluster.npus / 32 * 1.2)


def install(monkeypatch: pytest.MonkeyPatch, **metrics: str) -> None:
    """As if a package with entry points for these were installed: name -> name in this module."""
    points = {name: EntryPoint(name, f"added_metrics:{value}", "simcore.metrics") for name, value in metrics.items()}
    monkeypatch.setattr("simcore.family._find_entry_points", lambda group: points if group == "simcore.metrics" else {})
    monkeypatch.setattr(METRICS, "_loaded", {})
