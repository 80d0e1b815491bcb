"""Inter-dimension policies: one file each."""

from simcore.system.inter_dimension.bandwidth_aware import BandwidthAware
from simcore.system.inter_dimension.base import InterDimension
from simcore.system.inter_dimension.baseline import Baseline
from simcore.system.inter_dimension.themis import Themis

INTER_DIMENSION: dict[str, InterDimension] = {
    "baseline": Baseline(),
    "themis": Themis(),
    "bandwidth_aware": BandwidthAware(),
}

__all__ = ["INTER_DIMENSION", "InterDimension"]
