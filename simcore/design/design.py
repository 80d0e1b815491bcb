"""The design document: everything about one training job on one cluster, frozen and validated at the door.

A `Design` is workload x parallelism x cluster x system x cost. Presets may stand by name or spelled out; quantities
carry units in the document and are SI inside. `Design.document()` is the complete canonical form, which loads back
to an equal design; `Design.key` identifies it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from html import escape
from itertools import zip_longest
from typing import Any, overload

from pydantic import ConfigDict, Field, model_validator

from simcore.catalog.preset import preset
from simcore.design.algorithm import AlgorithmName
from simcore.design.cluster import Cluster
from simcore.design.dimension import Dimension
from simcore.design.library import Library
from simcore.design.parallelism import Parallelism
from simcore.design.prices import NamedPrices, PriceList
from simcore.design.reliability import NamedReliability, usual_reliability
from simcore.design.software import NamedSoftware, usual_software
from simcore.design.system import System
from simcore.design.workload import AnyWorkload
from simcore.document.field import Flag, Frozen
from simcore.document.text import dump_document
from simcore.network import TOPOLOGIES

_USUAL: dict[str, Any] = {
    "oversubscription": 1.0,
    "routing_seed": 0,
    "connections": 1,
    "in_network": False,
    "efficiency": 1.0,
    "affinity": 1.0,
}
"""Keys of a dimension that the canonical document leaves out where they say nothing."""


def _usual_algorithm(dimension: Dimension) -> AlgorithmName:
    """The algorithm of a dimension that names none: its library's, else the topology's usual one."""
    own = dimension.library and dimension.library.algorithm
    return own or TOPOLOGIES[dimension.topology].default_algorithm(dimension.size)


class Design(Frozen):
    """One training job on one cluster."""

    model_config = ConfigDict(defer_build=True)  # kinds of workload are loaded when the first document is read

    workload: AnyWorkload
    """What is run: training or serving a model, a table of layers, a recommender, or one collective."""
    parallelism: Parallelism = Parallelism()
    """How the model and the batch are spread over the NPUs."""
    cluster: Cluster
    """NPUs and the network between them."""
    system: System = System()
    """Algorithms of collectives, and the order in which their chunks use the network."""
    software: NamedSoftware = Field(default_factory=usual_software)
    """The stack that trains."""
    cost: NamedPrices = Field(default_factory=lambda: preset(PriceList, "prices", "libra"))
    """The price list."""
    reliability: NamedReliability = Field(default_factory=usual_reliability)
    """What fails, and what that costs."""
    hypothetical: Flag = False
    """Whether the cluster may be one that nobody sells."""

    @model_validator(mode="after")
    def _settle(self) -> Design:
        """Fill in what the software decides; what was given stays known (`model_fields_set`)."""
        for name in ("workload", "parallelism"):
            section = getattr(self, name)
            decided = self.software.settle(section)
            if decided:
                settled = section.model_copy(update=decided)
                settled.model_fields_set.difference_update(decided)
                self.__dict__[name] = settled
        return self

    @cached_property
    def data(self) -> int:
        """Data-parallel degree: given, or what is left of the NPUs (0 where nothing is)."""
        p = self.parallelism
        return p.data or self.cluster.npus // (p.tensor * p.context * p.pipeline)

    @property
    def copies(self) -> int:
        """NPUs that have the same parameters, routed experts aside, and reduce their gradients: data x context."""
        return self.data * self.parallelism.context

    @property
    def expert_copies(self) -> int:
        """NPUs that have the same routed experts, and reduce their gradients."""
        return self.copies * self.parallelism.tensor // self.parallelism.expert_npus

    @property
    def sharding_npus(self) -> int:
        """NPUs over which ZeRO shards the states of all but routed experts: the shard group, else all copies."""
        return self.parallelism.shard_group or self.copies

    @property
    def expert_sharding_npus(self) -> int:
        """NPUs over which ZeRO shards the states of routed experts: as many of a shard group as have the same ones."""
        return self.sharding_npus * self.parallelism.tensor // self.parallelism.expert_npus

    @cached_property
    def algorithms(self) -> tuple[AlgorithmName, ...]:
        """All-reduce algorithm of each dimension."""
        listed = self.system.collective or ()
        flat = "flat_ring" if self.software.collectives == "flat" else None
        return tuple(
            dimension.collective or given or flat or _usual_algorithm(dimension)
            for dimension, given in zip_longest(self.cluster.dimensions, listed[: len(self.cluster.dimensions)])
        )

    def library_of(self, dimension: Dimension) -> Library | None:
        """What the library of collectives adds to the links of a dimension: its own, else, inside a node, its NPUs'.

        A collective that is asked for alone has the links alone, unless its dimension names a library.
        """
        curve = self.cluster.npu.curve
        if dimension.library is not None or curve is None or dimension.tier == "pod" or not self.workload.computes:
            return dimension.library
        return curve.library

    @property
    def microbatches(self) -> int:
        """Microbatches per pipeline and iteration."""
        return self.workload.global_batch // (self.data * self.microbatch)

    @cached_property
    def microbatch(self) -> int:
        """Sequences or samples of a microbatch: given, else what the kind of workload takes."""
        p = self.parallelism
        return p.microbatch if "microbatch" in p.model_fields_set else self.workload.usual_microbatch(self.data)

    @overload
    def with_(self, path: str, value: Any, /) -> Design: ...

    @overload
    def with_(self, changes: Mapping[str, Any], /) -> Design: ...

    def with_(self, changes: str | Mapping[str, Any], /, *value: Any) -> Design:
        """The design with other values: `with_("workload.global_batch", 128)`, `with_({path: value, ...})`.

        Paths and values are those of the document: `cluster.dimensions[1].bandwidth`, `"25 GB/s"` (or `SI(25e9)`, or
        a section of another design). What was not given follows from the new values: `data` where it was left open,
        default algorithms and microbatches, the bandwidth of NICs.

        Raises `InputError` with every problem, as `load_design` does.
        """
        from simcore.design.change import change_design  # a change comes in by the door, which is above the design

        if isinstance(changes, str) != (len(value) == 1):
            raise TypeError(f"with_: expected a path and its value, or a mapping of paths to values, got {changes!r}")
        design: Design = change_design(self, {changes: value[0]} if isinstance(changes, str) else changes)
        return design

    def document(self) -> dict[str, Any]:
        """The complete canonical document: every key, quantities with units; loads back to an equal design."""
        document = self.model_dump(mode="json", exclude_none=True)
        system: dict[str, Any] = document["system"]
        for dimension in document["cluster"]["dimensions"]:
            dimension.pop("collective", None)
            for key, usual in _USUAL.items():
                if dimension[key] == usual:
                    del dimension[key]
        for key in ("stragglers", "failed_links"):
            if not document["cluster"][key]:
                del document["cluster"][key]
        for link in document["cluster"].get("failed_links", ()):
            if not link["share"]:
                del link["share"]
        if not self.hypothetical:
            del document["hypothetical"]
        if self.cluster.switching == "cut_through":
            del document["cluster"]["switching"]
        if not self.system.algorithms:
            del system["algorithms"]
        system.pop("collective", None)
        document["system"] = {"collective": list(self.algorithms), **system}
        document["parallelism"] = self._parallelism_document(document["parallelism"])
        self.workload.complete(document)
        return document

    def _repr_html_(self) -> str:
        """For notebooks: the document, as YAML."""
        return f"<pre>{escape(dump_document(self.document()))}</pre>"

    def _parallelism_document(self, given: dict[str, Any]) -> dict[str, Any]:
        """The canonical section: what follows from other keys spelled out, what says nothing left out."""
        p = self.parallelism
        found = {**given, "data": self.data, "microbatch": self.microbatch}
        for key in ("accumulate", "gather"):
            found.pop(key, None)
        if p.zero >= 2 or p.reduces_each:
            found["accumulate"] = "sharded" if p.reduces_each else "local"
        if p.zero == 3 or p.gather not in (None, "twice"):
            found["gather"] = p.gather if p.zero < 3 else p.gathers
        if p.shard_group == self.copies:
            del found["shard_group"]
        if p.expert == 1:
            found.pop("dispatch", None)
        if p.expert_tensor == p.tensor:
            del found["expert_tensor"]
        if p.recompute_modules:
            if p.recomputed_modules == {"core_attn"}:
                del found["recompute_modules"]
            else:
                found["recompute_modules"] = sorted(p.recomputed_modules)
        return found

    @cached_property
    def key(self) -> str:
        """Identity of the design: designs with equal keys are simulated once."""
        text = json.dumps(self.document(), sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
