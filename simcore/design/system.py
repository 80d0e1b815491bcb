"""Which algorithms collectives run by, and in which order their chunks use the network."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from simcore.design.algorithm import AlgorithmName, CollectiveKind, CustomKind
from simcore.design.parallelism import Group
from simcore.document.field import Count, Frozen
from simcore.document.form import format_value
from simcore.document.member import MemberOf
from simcore.document.problem import Refusal
from simcore.policy.inter_dimension import INTER_DIMENSION
from simcore.policy.intra_dimension import INTRA_DIMENSION


def _active_chunks(value: Any) -> Any:
    if value != "overlap" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise Refusal("'overlap', or a whole number of at least 1", format_value(value))
    return value


class System(Frozen):
    """In which order chunks of collectives use the network."""

    collective: tuple[AlgorithmName, ...] | None = None
    """All-reduce algorithm per dimension; by topology unless given."""
    chunks: Count = 64
    """Equal chunks into which a collective is cut."""
    intra_dimension: Annotated[str, MemberOf(INTRA_DIMENSION)] = "priority"
    """Order of chunks that wait for one dimension."""
    inter_dimension: Annotated[str, MemberOf(INTER_DIMENSION)] = "baseline"
    """Order in which a chunk visits the dimensions."""
    reduction: Literal["tree", "scatter"] = "tree"
    """How an all-reduce uses dimensions with `in_network`: all that follow one another as one tree, or the last one
    that it visits alone, after a reduce-scatter on the others."""
    active_chunks: Annotated[Literal["overlap"] | int, BeforeValidator(_active_chunks)] = "overlap"
    """Chunks that a dimension serves at once; `overlap`: it is held while bytes move, not while they travel."""
    priority: tuple[Group, ...] = ("tensor", "context", "expert", "pipeline", "data")
    """Which group's chunks go first where `intra_dimension` is `priority` or `preemptive`."""
    algorithms: dict[str, dict[CollectiveKind, CustomKind]] = Field(default_factory=dict)
    """The user's own algorithms, which `collective` names as `custom:NAME`."""
