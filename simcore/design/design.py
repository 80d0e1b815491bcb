"""The design document: everything about one training job on one cluster, frozen and validated at the door.

A `Design` is workload x parallelism x cluster x system x cost. Presets may stand by name or spelled out; quantities
carry units in the document and are SI inside. `Design.document()` is the complete canonical form, which loads back
to an equal design; `Design.key` identifies it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import cached_property
from itertools import zip_longest
from typing import Annotated, Any, Literal, Self, overload

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from simcore import catalog
from simcore.design.algorithm import Algorithm, CollectiveKind, CustomKind
from simcore.design.efficiency import Efficiency
from simcore.design.memory import ClusterMemory
from simcore.design.spec import (
    MOST_NPUS,
    Count,
    Factor,
    Flag,
    Frozen,
    NamedNpu,
    NamedPrices,
    Natural,
    Share,
    Tier,
    preset,
)
from simcore.design.workload import AnyWorkload
from simcore.document.form import shown
from simcore.document.quantity import SI, Bandwidth, Size, Time, parse

Group = Literal["tensor", "context", "expert", "data", "pipeline"]
Topology = Literal["ring", "mesh", "fully_connected", "switch", "fat_tree"]


class Parallelism(Frozen):
    """How the model and the batch are spread over the NPUs."""

    tensor: Count = 1
    pipeline: Count = 1
    data: Count | None = None
    """What is left of the NPUs unless given."""
    context: Count = 1
    expert: Count = 1
    zero: Annotated[int, Field(strict=True, ge=0, le=3)] = 0
    accumulate: Literal["sharded", "local"] | None = None
    """Gradients are reduced in every microbatch and kept in shards, or kept whole and reduced in the last one; sharded
    from ZeRO-2 on unless there is a pipeline."""
    gather: Literal["twice", "microbatch", "once"] | None = None
    """ZeRO-3's parameters are gathered before forward and again before backward of each microbatch; once a microbatch;
    or once an iteration. Twice unless there is a pipeline."""
    shard_group: Annotated[Count, Field(ge=2)] | None = None
    """Neighbouring NPUs of data x context over which ZeRO shards, and between which groups it reduces; all of them."""
    microbatch: Count = 1
    schedule: Literal["gpipe", "1f1b", "zero_bubble"] = "1f1b"
    interleave: Count = 1
    first_stage_layers: Count | None = None
    """Layers of the first pipeline stage, and of the last one; an even share unless given."""
    last_stage_layers: Count | None = None
    recompute: Literal["none", "selective", "full"] = "none"
    recompute_layers: Count | None = None
    """With `recompute: full`, how many layers of each virtual stage, the first ones; all of them unless given."""
    sequence_parallel: Flag = False
    flash_attention: Flag = True
    """One fused kernel that keeps no scores and recomputes them in the backward pass."""
    cross_entropy_fusion: Flag = True
    """The loss is computed on 16-bit logits, in place; else on a copy of them in fp32."""
    context_communication: Literal["ring", "all_to_all"] = "ring"
    """Keys and values go round the context group; or all-to-alls give each NPU some heads of the whole sequence."""
    context_overlap: Flag = True
    """Keys and values travel while the attention to those before them is computed (ring)."""
    tensor_overlap: Flag = False
    """Gathers and reduce-scatters of sequence parallelism go step by step beside pieces of their matrix product."""
    data_overlap: Flag = True
    """Gradients are reduced, and ZeRO-3's parameters gathered, beside the computation of other layers."""
    bucket: Annotated[Size, Field(gt=0)] = 25e6
    """Least bytes of gradients that are reduced together [B]."""

    @property
    def reduces_each(self) -> bool:
        """Whether gradients are reduced in every microbatch, because they are kept in shards."""
        if self.accumulate is not None:
            return self.accumulate == "sharded"
        return self.zero >= 2 and self.pipeline == 1

    @property
    def gathers(self) -> Literal["never", "twice", "microbatch", "once"]:
        """When ZeRO-3 gathers parameters; never in another stage."""
        if self.zero < 3:
            return "never"
        return self.gather or ("twice" if self.pipeline == 1 else "once")


class Dimension(Frozen):
    """One dimension of the network."""

    topology: Topology
    size: Count
    bandwidth: Bandwidth
    """Injection bandwidth per NPU, each direction [B/s]."""
    latency: Time
    """One step between neighbours [s]."""
    tier: Tier = "node"
    leaf: Count | None = None
    """NPUs under each leaf switch of a fat tree."""
    oversubscription: Factor = 1.0
    """Traffic that leaves the leaf of a fat tree (of a switch: all of it) gets bandwidth / oversubscription."""
    in_network: Flag = False
    """The switch reduces: an all-reduce sends its buffer once."""
    efficiency: Efficiency = 1.0
    """Share of the bandwidth that messages reach: a number, or a table by the size of a message."""
    affinity: Share = 1.0
    """Share of that which collectives reach whose group has several NPUs of what lies further in, but not all."""
    collective: Algorithm | None = None
    """All-reduce algorithm of this dimension, instead of its entry in `system.collective`."""
    nics: Count | None = None
    """NICs of each node (all NPUs of the dimensions further in), which share them: gives `bandwidth`."""
    nic_bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Of one NIC, each direction [B/s]."""


class Straggler(Frozen):
    """An NPU that computes `slowdown` times as long as its data sheet says."""

    npu: Natural
    """Number of the NPU, counted innermost dimension first."""
    slowdown: Annotated[float, Field(strict=True, gt=0)]


class FailedLink(Frozen):
    """A link that does not work, in every row of NPUs along its dimension: both directions of it."""

    dimension: Natural
    between: tuple[Natural, Natural]
    """The places of its two ends in the dimension."""


class Cluster(Frozen):
    """NPUs and the network between them, innermost dimension first."""

    npu: NamedNpu
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]
    placement: tuple[Literal["tensor", "context", "data", "pipeline"], ...] = ("tensor", "context", "data", "pipeline")
    stragglers: tuple[Straggler, ...] = ()
    """NPUs slower than the others; only engines `reference` and `reference_links` play them."""
    memory: ClusterMemory | None = None
    """Memory beyond that of the NPU's entry, and the margin of it that is lost."""
    failed_links: tuple[FailedLink, ...] = ()
    """Links that do not work; only engine `reference_links` plays them."""
    switching: Literal["cut_through", "store_and_forward"] = "cut_through"
    """When a message goes on: while it arrives, or once it has arrived whole (engine `reference_links` alone)."""

    @model_validator(mode="before")
    @classmethod
    def _expand_fabric(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "fabric" not in value:
            return {**value, "dimensions": shared_nics(value["dimensions"])} if "dimensions" in value else value
        if "dimensions" in value:
            raise ValueError("expected either 'fabric' or 'dimensions', got both; drop one")
        rest = {key: entry for key, entry in value.items() if key not in ("fabric", "npus")}
        return {**rest, "dimensions": shared_nics(fabric_dimensions(value["fabric"], value.get("npus")))}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """See `Frozen.model_copy`; of other dimensions, those with NICs have the bandwidth that follows from them."""
        if update and "dimensions" in update:
            update = {**update, "dimensions": tuple(shared_nics(update["dimensions"]))}
        return super().model_copy(update=update, deep=deep)

    @property
    def npus(self) -> int:
        """Number of NPUs."""
        return math.prod(dimension.size for dimension in self.dimensions)


def shared_nics(dimensions: Any) -> Any:
    """The dimensions, written or read, with a bandwidth where NICs are given: theirs, shared by the NPUs of a node.

    Raises `ValueError` for NICs that are no whole number, have no bandwidth, or contradict the bandwidth given.
    """
    if not isinstance(dimensions, list | tuple):
        return dimensions
    out: list[Any] = []
    inside = 1
    for index, dimension in enumerate(dimensions):
        given = dimension if isinstance(dimension, dict) else {}
        size = given.get("size")
        if isinstance(dimension, Dimension):
            size = dimension.size
            if dimension.nics is not None:
                own = {"nics": dimension.nics, "nic_bandwidth": dimension.nic_bandwidth}
                dimension = dimension.model_copy(update={"bandwidth": float(_nic_share(own, index, inside))})
        elif given.get("nics") is not None:
            dimension = {**given, "bandwidth": _nic_share(given, index, inside)}
        inside *= size if isinstance(size, int) else 1
        out.append(dimension)
    return out


def _nic_share(dimension: dict[str, Any], index: int, npus: int) -> SI:
    """Bandwidth of each of the `npus` NPUs that share a node's NICs [B/s]."""
    nics, bandwidth = dimension["nics"], dimension.get("nic_bandwidth")
    if not isinstance(nics, int) or isinstance(nics, bool) or nics < 1:
        raise ValueError(f"expected a whole number of 'nics' in dimension {index}, got {nics!r}")
    if bandwidth is None:
        raise ValueError(f"expected 'nic_bandwidth' beside 'nics' in dimension {index}, got nothing; e.g. 50 GB/s")
    each = SI(nics * _bandwidth(bandwidth) / npus)
    given = dimension.get("bandwidth")
    if given is not None and not math.isclose(_bandwidth(given), each, rel_tol=1e-9):
        share = f"{nics} NICs of {bandwidth} for {npus} NPUs"
        raise ValueError(
            f"expected no 'bandwidth' beside 'nics' in dimension {index}, got {given!r} and {share}; drop one"
        )
    return each


def _bandwidth(value: Any) -> float:
    return parse(value, "bandwidth") if isinstance(value, str) else float(value)


def fabric_dimensions(fabric: Any, npus: Any) -> list[dict[str, Any]]:
    """The dimensions of a fabric of `npus` NPUs: fixed sizes innermost, the last takes the rest.

    With `sizes: even` all sizes are open, and as near to each other as they can be.

    Raises `ValueError` for an unknown fabric, or a number of NPUs that does not fill whole nodes.
    """
    if not isinstance(npus, int) or isinstance(npus, bool) or not 1 <= npus <= MOST_NPUS:
        what = f"'npus', the number of NPUs of the fabric, from 1 to {MOST_NPUS:,}"
        raise ValueError(f"expected {what}, got {shown(npus)}; e.g. 'npus: 512'")
    spec = catalog.entry("fabrics", fabric) if isinstance(fabric, str) else fabric
    if not isinstance(spec, dict) or not isinstance(spec.get("dimensions"), list):
        raise ValueError(f"expected a fabric of the catalogue or one with 'dimensions', got {fabric!r}")
    left = npus
    dimensions: list[dict[str, Any]] = []
    if spec.get("sizes", "even") != "even":
        raise ValueError(f"expected 'sizes: even', or sizes in the dimensions of the fabric, got {spec['sizes']!r}")
    even = iter(even_factors(npus, len(spec["dimensions"]))) if "sizes" in spec else None
    for index, dimension in enumerate(spec["dimensions"]):
        if not isinstance(dimension, dict):
            raise ValueError(f"expected dimensions that are mappings, got {dimension!r}")
        whole = dimension.get("size", left) if even is None else next(even)
        if not isinstance(whole, int) or isinstance(whole, bool) or whole < 1:
            raise ValueError(f"expected a size of at least 1 in dimension {index}, got {whole!r}")
        size = min(whole, left)
        if left % size:
            raise ValueError(f"expected a number of NPUs that fills whole groups of {size}, got {npus}")
        if size > 1 or (not dimensions and (even is None or left == 1)):
            dimensions.append({**dimension, "size": size})
        left //= size
    if left != 1:
        raise ValueError(f"expected at most {npus // left} NPUs on this fabric, got {npus}; leave its last size open")
    return dimensions


def even_factors(number: int, count: int) -> tuple[int, ...]:
    """`count` factors, ascending, whose product is `number` and whose largest is the least possible."""
    if count == 1:
        return (number,)
    divisors = [f for f in range(1, math.isqrt(number) + 1) if number % f == 0]
    splits = [tuple(sorted((f, *even_factors(number // f, count - 1)))) for f in divisors if f**count <= number]
    return min(splits, key=lambda factors: factors[::-1])


def _active_chunks(value: Any) -> Any:
    if value != "overlap" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError(f"expected 'overlap', or a whole number of at least 1, got {shown(value)}")
    return value


class System(Frozen):
    """In which order chunks of collectives use the network."""

    collective: tuple[Algorithm, ...] | None = None
    """All-reduce algorithm per dimension; by topology unless given."""
    chunks: Count = 64
    intra_dimension: Literal["fifo", "lifo", "scf", "priority"] = "priority"
    inter_dimension: Literal["baseline", "themis", "bandwidth_aware"] = "baseline"
    active_chunks: Annotated[Literal["overlap"] | int, BeforeValidator(_active_chunks)] = "overlap"
    priority: tuple[Group, ...] = ("tensor", "context", "expert", "pipeline", "data")
    """Which group's chunks go first where `intra_dimension` is `priority`."""
    algorithms: dict[str, dict[CollectiveKind, CustomKind]] = Field(default_factory=dict)
    """The user's own algorithms, which `collective` names as `custom:NAME`."""


_USUAL: dict[str, Any] = {"oversubscription": 1.0, "in_network": False, "efficiency": 1.0, "affinity": 1.0}
"""Keys of a dimension that the canonical document leaves out where they say nothing."""


class Design(Frozen):
    """One training job on one cluster."""

    model_config = ConfigDict(defer_build=True)  # kinds of workload are loaded when the first document is read

    workload: AnyWorkload
    parallelism: Parallelism = Parallelism()
    cluster: Cluster
    system: System = System()
    cost: NamedPrices = Field(default_factory=lambda: preset("prices", "libra"))

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
    def sharded_over(self) -> int:
        """NPUs over which ZeRO shards the states of all but routed experts: the shard group, else all copies."""
        return self.parallelism.shard_group or self.copies

    @cached_property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """All-reduce algorithm of each dimension."""
        listed = self.system.collective or ()
        return tuple(
            dimension.collective or given or default_algorithm(dimension.topology, dimension.size)
            for dimension, given in zip_longest(self.cluster.dimensions, listed[: len(self.cluster.dimensions)])
        )

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
        from simcore.design.change import changed_design  # a change comes in by the door, which is above the design

        if isinstance(changes, str) != (len(value) == 1):
            raise TypeError(f"with_: expected a path and its value, or a mapping of paths to values, got {changes!r}")
        design: Design = changed_design(self, {changes: value[0]} if isinstance(changes, str) else changes)
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
        if self.cluster.switching == "cut_through":
            del document["cluster"]["switching"]
        if not self.system.algorithms:
            del system["algorithms"]
        system.pop("collective", None)
        document["system"] = {"collective": list(self.algorithms), **system}
        document["parallelism"] = self._parallelism(document["parallelism"])
        self.workload.complete(document)
        return document

    def _parallelism(self, given: dict[str, Any]) -> dict[str, Any]:
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
        return found

    @cached_property
    def key(self) -> str:
        """Identity of the design: designs with equal keys are simulated once."""
        text = json.dumps(self.document(), sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def default_algorithm(topology: Topology, size: int) -> Algorithm:
    """Ring on ring and mesh, direct on fully connected, halving_doubling on switches (ring where no power of two)."""
    if topology == "fully_connected":
        return "direct"
    return "halving_doubling" if topology in ("switch", "fat_tree") and size & (size - 1) == 0 else "ring"


__all__ = [
    "Algorithm",
    "Cluster",
    "CollectiveKind",
    "Design",
    "Dimension",
    "FailedLink",
    "Group",
    "Parallelism",
    "Straggler",
    "System",
    "Topology",
    "default_algorithm",
    "fabric_dimensions",
]
