"""Fitting an efficiency curve to measured iterations, and asking it about jobs that it has not seen."""

from dse.measured.calibrate.fit import PARAMETERS, Fit, Sample, fit, samples
from dse.measured.calibrate.folds import Fold, Held, folds, held_out, without_device

__all__ = ["PARAMETERS", "Fit", "Fold", "Held", "Sample", "fit", "folds", "held_out", "samples", "without_device"]
