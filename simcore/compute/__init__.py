"""How long an operator takes: one file per model of an NPU."""

from simcore.compute.roofline import Roofline, product_limit

__all__ = ["Roofline", "product_limit"]
