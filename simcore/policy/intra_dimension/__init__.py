"""Intra-dimension policies: one file each."""

from simcore.family import Family
from simcore.policy.intra_dimension.base import IntraDimension
from simcore.policy.intra_dimension.fifo import Fifo
from simcore.policy.intra_dimension.lifo import Lifo
from simcore.policy.intra_dimension.preemptive import Preemptive
from simcore.policy.intra_dimension.priority import Priority
from simcore.policy.intra_dimension.scf import SmallestChunkFirst

INTRA_DIMENSION: Family[IntraDimension] = Family(
    "simcore.intra_dimension",
    IntraDimension,
    {
        "fifo": Fifo(),
        "lifo": Lifo(),
        "scf": SmallestChunkFirst(),
        "priority": Priority(),
        "preemptive": Preemptive(),
    },
)

__all__ = ["INTRA_DIMENSION", "IntraDimension"]
