"""NPUs and the network between them, with what is slow or broken of either."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from simcore.design.dimension import Dimension
from simcore.design.fabric import fabric_dimensions
from simcore.design.memory import ClusterMemory
from simcore.design.nics import shared_nics
from simcore.design.node import NamedNode
from simcore.design.npu import NamedNpu, Npu
from simcore.design.power_cap import capped
from simcore.design.transport import NamedTransport
from simcore.document.field import Frozen, Natural
from simcore.document.problem import Refusal, suggest_nearest
from simcore.document.quantity import Power

_OF_FABRIC = ("fabric", "npus", "domain")
"""Keys that `dimensions` take the place of."""


def _not_a_key(key: str, known: list[str]) -> str:
    suggested = suggest_nearest(key, known)
    return f"'{key}' is no key of a cluster" + (f", {suggested}" if suggested else "")


class Straggler(Frozen):
    """An NPU that computes `slowdown` times as long as its data sheet says."""

    npu: Natural
    """Number of the NPU, counted innermost dimension first."""
    slowdown: Annotated[float, Field(strict=True, ge=1)]
    """Its compute time, over that of the others."""


class FailedLink(Frozen):
    """A link that does not work, or carries less, in every row of NPUs along its dimension: both directions of it."""

    dimension: Natural
    """Number of the dimension, innermost first, from 0."""
    between: tuple[Natural, Natural]
    """The places of its two ends in the dimension."""
    share: Annotated[float, Field(strict=True, ge=0, lt=1)] = 0.0
    """The share of its bandwidth that is left; 0: none, and messages go around."""


class Cluster(Frozen):
    """NPUs and the network between them, innermost dimension first."""

    npu: NamedNpu
    """The accelerator: a name of the catalogue, a variation of an entry, or one spelled out."""
    node: NamedNode | None = None
    """What the NPUs are bought in; unless given the node of the catalogue that is sold with them and their domain."""
    power_cap: Annotated[Power, Field(gt=0)] | None = None
    """The most that each NPU may draw [W], which lowers its clock; its own maximum unless given."""
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]
    """The network, innermost dimension first."""
    placement: tuple[Literal["tensor", "context", "data", "pipeline"], ...] = ("tensor", "context", "data", "pipeline")
    """Order in which parallel groups take the dimensions, innermost first."""
    stragglers: tuple[Straggler, ...] = ()
    """NPUs slower than the others; only engines `reference` and `reference_links` play them."""
    memory: ClusterMemory | None = None
    """Memory beyond that of the NPU's entry, and the margin of it that is lost."""
    failed_links: tuple[FailedLink, ...] = ()
    """Links that do not work, or carry less; engines `flow` and `reference_links` play them."""
    switching: Literal["cut_through", "store_and_forward", "interleaved"] = "cut_through"
    """When a message goes on: while it arrives, once it has arrived whole, or by segments whose links take turns (both
    engine `reference_links` alone)."""
    transport: NamedTransport = None
    """How messages travel as packets over the outermost dimension: a control's name, or a section."""

    @model_validator(mode="before")
    @classmethod
    def _expand_fabric(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "fabric" not in value:
            return {**value, "dimensions": shared_nics(value["dimensions"])} if "dimensions" in value else value
        if "dimensions" in value:
            raise Refusal("either 'fabric' or 'dimensions'", "both", "drop one")
        rest = {key: entry for key, entry in value.items() if key not in _OF_FABRIC}
        try:
            dimensions = fabric_dimensions(value["fabric"], value.get("npus"), value.get("domain"))
        except Refusal as refusal:
            # Without its dimensions nothing else of the cluster is looked at: its keys are told here.
            told = [
                _not_a_key(str(key), [*cls.model_fields, *_OF_FABRIC]) for key in rest if key not in cls.model_fields
            ]
            raise Refusal(refusal.expected, refusal.found, "; ".join(filter(None, [refusal.fix, *told]))) from None
        return {**rest, "dimensions": shared_nics(dimensions)}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """See `Frozen.model_copy`; of other dimensions, those with NICs have the bandwidth that follows from them."""
        if update and "dimensions" in update:
            update = {**update, "dimensions": tuple(shared_nics(update["dimensions"]))}
        return super().model_copy(update=update, deep=deep)

    @cached_property
    def npus(self) -> int:
        """Number of NPUs."""
        return math.prod(dimension.size for dimension in self.dimensions)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart in number two neighbours of each dimension are, and of all NPUs together."""
        return tuple(accumulate((dimension.size for dimension in self.dimensions), mul, initial=1))

    @property
    def at_once(self) -> tuple[int, ...]:
        """Places of the dimensions that collectives use at once; none where there is but one of these."""
        found = tuple(place for place, dimension in enumerate(self.dimensions) if dimension.at_once)
        return found if len(found) > 1 else ()

    def transport_share(self, dimension: Dimension) -> float:
        """Share of a dimension's rate that its transport lets collectives reach; 1 where none is named."""
        if self.transport is None or dimension is not self.dimensions[-1]:
            return 1.0
        return self.transport.reached.point

    def worn(self, dimension: int) -> dict[tuple[int, int], float]:
        """What is left of the links of a dimension that have failed, or carry less (`simcore.network.ways`)."""
        return {link.between: link.share for link in self.failed_links if link.dimension == dimension}

    @property
    def running_npu(self) -> Npu:
        """The NPU as it runs: below its data sheet where its power is capped."""
        return self.npu if self.power_cap is None else capped(self.npu, self.power_cap)
