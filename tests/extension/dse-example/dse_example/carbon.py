"""A metric: the carbon dioxide of an iteration's electricity."""

from __future__ import annotations

from simcore.metrics import Metric

KG_PER_JOULE = 0.4 / 3.6e6
"""At 0.4 kg a kWh."""

CARBON = Metric(
    unit="kg",
    measure=lambda design, result: result.energy_j * KG_PER_JOULE,
    bound=lambda figures: None if figures.energy is None else figures.energy * KG_PER_JOULE,
    moves=("time", "energy"),
    label="carbon dioxide",
    shown="everywhere",
)
