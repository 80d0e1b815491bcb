"""From the errors of predictions to an interval: what measured over predicted time was in nine cases of ten."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.measured.calibrate.fit import Floats, Sample

QUANTILES = (0.05, 0.95)
LEAST_ROWS = 20
"""Fewer rows of a regime say nothing of its tails."""


def intervals(chosen: Sequence[Sample], predicted: Floats) -> dict[str, list[float]]:
    """Quantiles of measured over predicted time, of jobs within one node and of those over several.

    `predicted` are times of fits that had not seen their rows, `[rows]` [s]. A regime with few rows takes all rows.
    """
    ratio = np.array([sample.row.seconds for sample in chosen]) / predicted
    several = np.array([len(sample.design.cluster.dimensions) > 1 for sample in chosen])
    out = {}
    for name, within in (("node", ~several), ("nodes", several)):
        own = ratio[within] if within.sum() >= LEAST_ROWS else ratio
        out[name] = [round(float(quantile), 3) for quantile in np.quantile(own, QUANTILES)]
    return out
