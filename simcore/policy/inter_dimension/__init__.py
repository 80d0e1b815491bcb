"""Inter-dimension policies: one file each."""

from simcore.family import Family
from simcore.policy.inter_dimension.bandwidth_aware import BandwidthAware
from simcore.policy.inter_dimension.base import ChunkOrders, InterDimension
from simcore.policy.inter_dimension.baseline import Baseline
from simcore.policy.inter_dimension.themis import Themis

INTER_DIMENSION: Family[InterDimension] = Family(
    "simcore.inter_dimension",
    InterDimension,
    {
        "baseline": Baseline(),
        "themis": Themis(),
        "bandwidth_aware": BandwidthAware(),
    },
)

__all__ = ["INTER_DIMENSION", "ChunkOrders", "InterDimension"]
