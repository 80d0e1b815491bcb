"""A regressor without physics on the same rows, so that a curve has something to be better than."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.measured.calibrate.fit import Floats, Sample, weight_rows
from dse.measured.calibrate.folds import folds
from dse.measured.measured import MeasuredIteration
from simcore.document.problem import InputError, Problem


def predict_by_regression(chosen: Sequence[Sample], kind: str, others: Sequence[MeasuredIteration] = ()) -> Floats:
    """Times of all rows, each by gradient-boosted trees fitted without its job, hidden size or device [s].

    `others` are rows of other devices, for the last of these.

    Raises `InputError` where scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits
    except ImportError:
        fix = "pip install 'dse[calibrate]', or leave --baseline out"
        raise InputError([Problem((), "scikit-learn, for --baseline", "none installed", fix)], "calibration") from None
    rows = [*chosen, *weight_rows(others)] if kind == "device" else chosen
    features = np.array([_features(sample) for sample in rows])
    times = np.log([sample.row.seconds for sample in rows])
    predicted = np.full(len(rows), np.nan)
    for group in folds(rows, kind):
        out = np.zeros(len(rows), bool)
        out[list(group.rows)] = True
        model = HistGradientBoostingRegressor(min_samples_leaf=5, random_state=0)
        with threadpool_limits(1):  # tables are small: threads would mostly wait for each other
            predicted[out] = np.exp(model.fit(features[~out], times[~out]).predict(features[out]))
    return predicted[: len(chosen)]


def _features(sample: Sample) -> list[float]:
    """Logarithms of all sizes of a row."""
    design = sample.design
    workload, p = sample.row.workload, design.parallelism
    model, npu = workload.model, design.cluster.npu
    sizes = (
        model.hidden, model.layers, model.heads, model.ffn, workload.sequence, workload.global_batch,
        design.cluster.npus, p.tensor, p.pipeline, design.data, p.context, p.expert, p.microbatch, p.interleave,
        npu.rate(workload.precision), npu.memory.bandwidth,
    )  # fmt: skip
    kinds = (("none", "selective", "full").index(p.recompute), p.sequence_parallel)
    return [*np.log(np.array(sizes, float)), *(float(kind) for kind in kinds)]
