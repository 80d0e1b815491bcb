"""Fitting an efficiency curve to measured iterations, and asking it about jobs that it has not seen."""

from dse.measured.calibrate.fit import PARAMETERS, Fit, Sample, fit, samples
from dse.measured.calibrate.folds import Fold, HeldOutRows, folds, predict_held_out, predict_without_device

__all__ = [
    "PARAMETERS",
    "Fit",
    "Fold",
    "HeldOutRows",
    "Sample",
    "fit",
    "folds",
    "predict_held_out",
    "predict_without_device",
    "samples",
]
