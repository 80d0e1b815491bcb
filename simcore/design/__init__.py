"""What is built and what runs on it: the design document, frozen and validated."""

from simcore.design.design import (
    Cluster,
    Design,
    Dimension,
    FailedLink,
    Parallelism,
    Straggler,
    System,
)

__all__ = [
    "Cluster",
    "Design",
    "Dimension",
    "FailedLink",
    "Parallelism",
    "Straggler",
    "System",
]
