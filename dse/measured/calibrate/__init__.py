"""Fitting a device and its software to measured iterations, and asking them about jobs that they have not seen."""

from dse.measured.calibrate.fit import Fit, Sample, fit, samples, start_values
from dse.measured.calibrate.folds import Fold, HeldOutRows, folds, predict_held_out, predict_without_device
from dse.measured.calibrate.parameters import PARAMETERS, read_parameter, with_values

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
    "read_parameter",
    "samples",
    "start_values",
    "with_values",
]
