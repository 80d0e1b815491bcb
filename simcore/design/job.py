"""One of several jobs that run on one cluster at the same time: what it runs, and which part of the cluster it has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from simcore.design.parallelism import Parallelism
from simcore.design.software import NamedSoftware
from simcore.design.workload import AnyWorkload
from simcore.document.field import Count, Frozen, Name, Natural

Manner = Literal["packed", "spread", "by_rail"]


class Job(Frozen):
    """One of several jobs on a cluster."""

    model_config = ConfigDict(defer_build=True)  # as of a design

    name: Name | None = None
    """What reports call it; unless given `job` and its number, from 0."""
    workload: AnyWorkload
    """What it runs."""
    parallelism: Parallelism = Parallelism()
    """How it is spread over its NPUs."""
    software: NamedSoftware | None = None
    """The stack that it runs with; unless given the design's, else the usual one of its workload."""
    npus: Count | None = None
    """NPUs that it has: whole nodes, or as many of every node (`by_rail`)."""
    nodes: Annotated[tuple[Natural, ...], Field(min_length=1)] | None = None
    """Its places on the outermost dimension, instead of `npus` and `placement`."""
    placement: Manner | None = None
    """Where its NPUs are: on nodes that follow one another, on every so many-th node, or on a part of every node.

    Unless given that of the job before it, and of the first one `packed`.
    """
