"""A single collective: the section of the document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from simcore.design.algorithm import CollectiveKind
from simcore.design.workload import GivenWorkload
from simcore.document.field import Count
from simcore.document.quantity import Size


class CollectiveWorkload(GivenWorkload):
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

    def complete(self, document: dict[str, Any]) -> None:
        """See `Workload.complete`: all NPUs take part, so nothing is to be said of parallelism or software."""
        del document["parallelism"]
        del document["software"]
