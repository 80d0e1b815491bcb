"""A single collective: the section of the document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from simcore.design.algorithm import CollectiveKind
from simcore.design.workload import Workload
from simcore.document.field import Count, Precision
from simcore.document.quantity import Size


class CollectiveWorkload(Workload):
    """One collective over all NPUs; `size` [B] is the full buffer (for all_gather: each NPU's share).

    broadcast goes from the first NPU to all, send_recv from the first to the last one.
    """

    collective: CollectiveKind
    """Kind of the collective that all NPUs run."""
    size: Annotated[Size, Field(gt=0)]
    """The full buffer [B]; of an all-gather each NPU's share."""
    groups: Annotated[tuple[Annotated[Count, Field(ge=2)], ...], Field(min_length=1)] | None = None
    """Members of the groups, equal or not, that follow one another on the innermost dimension, each with a collective
    of its own, all at once; unless given all NPUs are one group."""

    @property
    def global_batch(self) -> int:
        """The collective itself."""
        return 1

    @property
    def precision(self) -> Precision:
        """Of no matter: nothing is computed."""
        return "fp32"

    @property
    def computes(self) -> bool:
        """See `Workload.computes`."""
        return False

    def usual_microbatch(self, data: int) -> int:
        """See `Workload.usual_microbatch`."""
        return 1

    def complete(self, document: dict[str, Any]) -> None:
        """See `Workload.complete`: all NPUs take part, so nothing is to be said of parallelism or software."""
        del document["parallelism"]
        del document["software"]
