"""How long an operator takes: one file per model of an NPU."""

from simcore.compute.roofline import Roofline

__all__ = ["Roofline"]
