"""How long an operator takes: one file per model of an NPU."""

from simcore.compute.roofline import Roofline, matmul_limit

__all__ = ["Roofline", "matmul_limit"]
