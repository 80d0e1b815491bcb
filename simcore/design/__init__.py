"""What is built and what runs on it: the design document, frozen and validated."""

from simcore.design.cluster import Cluster, FailedLink, Straggler
from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.parallelism import Parallelism
from simcore.design.system import System

__all__ = [
    "Cluster",
    "Design",
    "Dimension",
    "FailedLink",
    "Parallelism",
    "Straggler",
    "System",
]
