"""What is built and what runs on it: the design document, frozen and validated."""

from simcore.design.design import (
    Cluster,
    CollectiveWorkload,
    Design,
    Dimension,
    FailedLink,
    Parallelism,
    Straggler,
    System,
    TransformerWorkload,
)

__all__ = [
    "Cluster",
    "CollectiveWorkload",
    "Design",
    "Dimension",
    "FailedLink",
    "Parallelism",
    "Straggler",
    "System",
    "TransformerWorkload",
]
