"""What fails, how a job is saved and begun again, and which nodes stand by."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from simcore.catalog.preset import named, preset
from simcore.document.field import Count, Flag, Frozen, Name
from simcore.document.problem import Refusal
from simcore.document.quantity import Bandwidth, Duration, Time

BetweenFailures = Annotated[Duration, Field(gt=0)]


class FailureTimes(Frozen):
    """Mean time between failures of one piece that stop the job, by what fails; what is not listed does not fail."""

    npu: BetweenFailures | None = None
    """Mean time between failures of one NPU, with its memory and its links inside the node."""
    node: BetweenFailures | None = None
    """Mean time between failures of a node's host: processors, memory, disks, power, urgent maintenance."""
    nic: BetweenFailures | None = None
    """Mean time between failures of one NIC."""
    link: BetweenFailures | None = None
    """Mean time between failures of a NIC's link, or an NPU's own link between nodes, transceivers included."""
    switch: BetweenFailures | None = None
    """Mean time between failures of a leaf switch; failures above the leaves are routed around."""
    software: BetweenFailures | None = None
    """Mean time between crashes and hangs of one node's software; the job begins again on the same nodes."""


class Checkpoint(Frozen):
    """How the state of a job is saved."""

    bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Write bandwidth of the cluster's storage; instead of `bandwidth_per_npu`."""
    bandwidth_per_npu: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Write bandwidth of the cluster's storage for each NPU; needed without `bandwidth`."""
    bytes_per_parameter: Annotated[float, Field(strict=True, gt=0)] | None = None
    """What is kept of each parameter; unless given 12 (an fp32 copy and two moments) and a 16-bit weight."""
    asynchronous: Flag = True
    """The job goes on while the copy in its hosts' memory is written to the storage; else it waits for that."""
    stall: Annotated[Time, Field(ge=0)]
    """How long each checkpoint stops the job, whatever its size."""
    copy_bandwidth: Annotated[Bandwidth, Field(gt=0)]
    """At which each NPU copies its share to its host's memory."""
    interval: Annotated[Duration, Field(gt=0)] | None = None
    """Work between two checkpoints; unless given that of the most goodput."""
    kept: Count = 2
    """Checkpoints that the storage holds."""

    @model_validator(mode="after")
    def _check_bandwidth(self) -> Checkpoint:
        if self.bandwidth is None and self.bandwidth_per_npu is None:
            raise Refusal("'bandwidth' of the storage, or 'bandwidth_per_npu'", "neither", "e.g. bandwidth: 100 GB/s")
        return self


class Restart(Frozen):
    """What lies between a failure and the first new iteration, loading aside, which takes as long as writing."""

    detection: Annotated[Duration, Field(ge=0)]
    """Until the failure is known and its node is found."""
    replacement: Annotated[Duration, Field(ge=0)]
    """Until another node stands in its place, where one is spare."""
    initialisation: Annotated[Duration, Field(ge=0)]
    """Until processes run and have found each other, whatever their number."""
    initialisation_per_npu: Annotated[Time, Field(ge=0)]
    """More of that for each NPU."""


class Reliability(Frozen):
    """What fails, how a job is saved and begun again, and which nodes stand by."""

    name: Name = ""
    mtbf: FailureTimes = FailureTimes()
    """Mean time between failures of one piece."""
    checkpoint: Checkpoint | None = None
    """How the state of a job is saved; needed where something fails."""
    restart: Restart | None = None
    """What lies between a failure and the first new iteration; needed where something fails."""
    spares: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    """Nodes that stand by, bought beside the job's, as a share of these, rounded up; unless given as many as are worth
    their price."""
    repair: Annotated[Duration, Field(gt=0)] = 86400.0
    """Mean time until a failed node is back; where none stands by the job waits for one."""
    sources: dict[str, str] = {}

    @property
    def fails(self) -> bool:
        """Whether anything fails."""
        return any(getattr(self.mtbf, piece) is not None for piece in FailureTimes.model_fields)


def usual_reliability() -> Reliability:
    """The reliability of a design that says nothing of it."""
    return preset(Reliability, "reliability", "llama3")


NamedReliability = Annotated[Reliability, *named(Reliability, "reliability")]
