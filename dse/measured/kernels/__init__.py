"""Tables of measured kernels: what a curve says of them, and the curve that is fitted to them."""

from dse.measured.kernels.fit import KernelFit, fit_curve
from dse.measured.kernels.table import KernelTable, is_kernel_table, read_kernels
from dse.measured.kernels.validate import KernelReport, validate_kernels

__all__ = [
    "KernelFit",
    "KernelReport",
    "KernelTable",
    "fit_curve",
    "is_kernel_table",
    "read_kernels",
    "validate_kernels",
]
