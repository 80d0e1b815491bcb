"""What a written script says of itself: the design, what it is predicted to take, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from dse.export.base import Target
from simcore.design.design import Design
from simcore.workload.base import kind_of


def describe(design: Design, target: Target) -> Iterator[str]:
    """The first lines of a script, as sentences."""
    groups = " x ".join(f"{group} {degree}" for group, degree in kind_of(design.workload).degrees(design).items())
    yield f"{design.cluster.npus:,} NPUs of {design.cluster.npu.name or 'the cluster'}: {groups}; for {target.name}."
    yield "Run it once on each node, with NODE_RANK and MASTER_ADDR set; what is added after its name is passed on."
