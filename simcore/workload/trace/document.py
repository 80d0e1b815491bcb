"""A trace: the section of the document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from simcore.design.workload import Workload
from simcore.document.field import Count, Frozen, Precision
from simcore.document.form import format_value
from simcore.document.problem import Refusal
from simcore.workload.trace.read import Trace, read_trace


class NamedFiles(Frozen):
    """Files by where they are and what is in them (see `simcore.workload.trace.files`)."""

    path: str
    """Where they are, for all documents."""
    digest: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    """Hash of the files' contents."""

    @model_validator(mode="before")
    @classmethod
    def _found(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise Refusal(
                "a path in a design that is a file", f"'{value}'", "a file is read only for a design that is one"
            )
        if not isinstance(value, Mapping | NamedFiles):
            raise Refusal("the path of files, relative to the document", format_value(value))
        return value


class TraceWorkload(Workload):
    """A Chakra trace, played once on the cluster."""

    trace: NamedFiles
    """PREFIX of the files `PREFIX.<rank>.et`, one for each NPU, or one `.et` file that all NPUs run; relative to the
    document."""
    comm_groups: NamedFiles | None = None
    """A file of communicator groups, as ASTRA-sim has them: names and lists of ranks."""
    ranks: Count | Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    """How many ranks play one file; or the sizes of the dimensions, innermost first, that `involved_dim` speaks of.
    Of files by rank without `involved_dim` it follows."""
    recorded_on: str | None = None
    """The NPU on which its times were recorded: operators then take these, and the design must have that NPU. Without
    it they take what their FLOPs (`num_ops`) and bytes (`tensor_size`) take on the design's NPU."""
    precision: Precision = "fp16"
    """What operators compute in, where their time follows from FLOPs."""
    tokens: Count | None = None
    """Tokens of an iteration over all NPUs, which a trace does not say."""

    @model_validator(mode="after")
    def _readable(self) -> Self:
        trace = self.content()
        if trace.alike and self.ranks is None:
            fix = "e.g. 'ranks: 64'; or the sizes of its dimensions, 'ranks: [8, 8]'"
            raise Refusal("'ranks' beside one file for all ranks", "nothing", fix)
        if trace.involved > len(self.dimensions):
            expected = f"the sizes of {trace.involved} dimensions, of which involved_dim speaks, as 'ranks'"
            raise Refusal(expected, f"{self.ranks}", "e.g. 'ranks: [8, 8]'")
        if not trace.alike and math.prod(self.dimensions) != len(trace.ranks):
            raise Refusal(f"the {len(trace.ranks)} ranks of the files", f"'ranks: {self.ranks}'")
        return self

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The sizes of the dimensions of the trace, which need not be those of the cluster; one where it has none."""
        if self.ranks is None:
            return (len(self.content().ranks),)
        return self.ranks if isinstance(self.ranks, tuple) else (self.ranks,)

    def content(self) -> Trace:
        """What is in the files. Raises `Refusal` where they are gone, changed or no traces that can be played."""
        groups = self.comm_groups
        where = (self.trace.path, self.trace.digest, *(("", "") if groups is None else (groups.path, groups.digest)))
        return read_trace(*where, self.recorded_on is not None)

    @property
    def global_batch(self) -> int:
        """The trace itself."""
        return 1

    def usual_microbatch(self, data: int, pipeline: int) -> int:
        """See `Workload.usual_microbatch`."""
        return 1

    def complete(self, document: dict[str, Any]) -> None:
        """See `Workload.complete`: the trace says who does what, so nothing is to be said of parallelism."""
        del document["parallelism"]
