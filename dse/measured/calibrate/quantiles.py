"""From the errors of predictions to an interval: what measured over predicted time was in nine jobs of ten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dse.measured.calibrate.fit import Floats, Sample

QUANTILES = (0.05, 0.95)


def intervals(chosen: Sequence[Sample], predicted: Floats) -> dict[str, list[float]]:
    """Quantiles of measured over predicted time by kind of model, `dense` or `moe`; each job counts once.

    `predicted` are times of fits that had not seen their rows, `[rows]` [s].
    """
    ratio = np.array([sample.row.seconds for sample in chosen]) / predicted
    jobs = Counter(sample.row.job for sample in chosen)
    votes = np.array([1.0 / jobs[sample.row.job] for sample in chosen])
    kinds = np.array([sample.row.kind for sample in chosen])
    return {
        str(kind): [round(quantile(ratio[kinds == kind], votes[kinds == kind], q), 3) for q in QUANTILES]
        for kind in dict.fromkeys(kinds)
    }


def quantile(values: Floats, votes: Floats, share: float) -> float:
    """The value below which so large a share of the votes lies."""
    order = np.argsort(values)
    below = np.cumsum(votes[order]) / votes.sum()
    return float(values[order][min(int(np.searchsorted(below, share)), len(values) - 1)])
