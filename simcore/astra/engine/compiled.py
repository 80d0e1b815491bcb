"""The seam to numba is the native engine's: the kernels here are compiled as those there."""

from simcore.compiled import HAVE_NUMBA, borrowing

__all__ = ["HAVE_NUMBA", "borrowing"]
