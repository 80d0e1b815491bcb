"""The network of a machine from what nccl-tests or rccl-tests printed on it."""

from dse.measured.fabric.fit import DimensionFit, fit_fabric
from dse.measured.fabric.logs import MeasuredCollective, read_logs

__all__ = ["DimensionFit", "MeasuredCollective", "fit_fabric", "read_logs"]
