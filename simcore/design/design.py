"""The design document: everything about one training job on one cluster, frozen and validated at the door.

A `Design` is workload x parallelism x cluster x system x cost. Presets may stand by name or spelled out; quantities
carry units in the document and are SI inside. `Design.document()` is the complete canonical form, which loads back
to an equal design; `Design.key` identifies it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property, lru_cache
from html import escape
from itertools import zip_longest
from typing import Annotated, Any, TypeVar, overload

from pydantic import ConfigDict, Field, model_validator

from simcore.catalog.preset import preset
from simcore.design.algorithm import AlgorithmName
from simcore.design.cluster import Cluster
from simcore.design.dimension import Dimension
from simcore.design.job import Job
from simcore.design.library import Library
from simcore.design.memory import ExpandedMemory
from simcore.design.npu import Platform
from simcore.design.parallelism import Parallelism
from simcore.design.prices import NamedPrices, PriceList
from simcore.design.reliability import NamedReliability, usual_reliability
from simcore.design.same import Same
from simcore.design.software import NamedSoftware, Software, usual_software
from simcore.design.system import System
from simcore.design.usual_library import is_usual, npus_library
from simcore.design.workload import AnyWorkload, Workload, names_no_files, workload_tag
from simcore.document.field import Flag, Frozen
from simcore.document.problem import Refusal
from simcore.document.shared import shared
from simcore.document.text import dump_document
from simcore.network import TOPOLOGIES

Section = TypeVar("Section", bound=Frozen)

_USUAL: dict[str, Any] = {
    "oversubscription": 1.0,
    "routing_seed": 0,
    "connections": 1,
    "in_network": False,
    "efficiency": 1.0,
    "affinity": 1.0,
    "at_once": False,
}
"""Keys of a dimension that the canonical document leaves out where they say nothing."""


_ALL_REACHED = ("switch", "fully_connected")
"""Topologies on which every NPU reads from any other."""
_ALONE, _PLAIN = Parallelism(), System()
"""Sections of designs that leave them out: a default would be copied for each of them."""
OF_JOB = ("workload", "parallelism")
"""Sections that each of several jobs has for itself."""


def _settled(section: Section, software: Software, platform: Platform) -> Section:
    """A section with what the software decides; what was given stays known (`model_fields_set`)."""
    found: Section = _settle(Same(section), Same(software), platform)
    return found


@lru_cache(maxsize=4096)
def _settle(section: Same[Any], software: Same[Software], platform: Platform) -> Any:
    """As `_settled`: of one section and one software the same object."""
    decided = software.value.settle(section.value, platform)
    if not decided:
        return section.value
    settled = section.value.model_copy(update=decided)
    settled.model_fields_set.difference_update(decided)
    return settled


def _settled_job(job: Job, software: Software, of_design: Software, platform: Platform) -> Job:
    """A job whose sections have what its software decides, which it names where that of the design is another."""
    settled = {name: _settled(getattr(job, name), software, platform) for name in OF_JOB}
    found = job.model_copy(update={**settled, "software": job.software if software == of_design else software})
    if "software" not in job.model_fields_set:
        found.model_fields_set.discard("software")
    return found


@lru_cache(maxsize=4096)
def _reached(cluster: Same[Cluster]) -> Cluster:
    """A cluster of NPUs whose collectives nobody measured, without a library beside an efficiency: what one reaches.

    Such dimensions have links alone in so many words, so that a copy with another efficiency has them, too.
    """
    dimensions = cluster.value.dimensions
    alone = [d.library is None and d.tier != "pod" and d.efficiency != 1.0 for d in dimensions]
    if not any(alone):
        return cluster.value
    links = {"library": Library()}
    told = tuple(d.model_copy(update=links) if its else d for d, its in zip(dimensions, alone, strict=True))
    return cluster.value.model_copy(update={"dimensions": told})


def _usual_algorithm(dimension: Dimension) -> AlgorithmName:
    """The algorithm of a dimension that names none: its library's, else the topology's usual one."""
    own = dimension.library and dimension.library.algorithm
    return own or TOPOLOGIES[dimension.topology].default_algorithm(dimension.size)


class Design(Frozen):
    """One job on one cluster, or several.

    Of several (`jobs`), `workload` and `parallelism` are those of the first one.
    """

    model_config = ConfigDict(defer_build=True)  # kinds of workload are loaded when the first document is read

    workload: Annotated[AnyWorkload, shared(names_no_files)]
    """What is run: training or serving a model, a table of layers, a recommender, or one collective."""
    parallelism: Annotated[Parallelism, shared()] = Field(default_factory=lambda: _ALONE)
    """How the model and the batch are spread over the NPUs."""
    jobs: Annotated[tuple[Job, ...], Field(min_length=1)] | None = None
    """Several jobs that run on the cluster at the same time, instead of `workload` and `parallelism`."""
    cluster: Annotated[Cluster, shared()]
    """NPUs and the network between them."""
    system: Annotated[System, shared()] = Field(default_factory=lambda: _PLAIN)
    """Algorithms of collectives, and the order in which their chunks use the network."""
    software: Annotated[NamedSoftware, shared()] = Field(default_factory=usual_software)
    """The stack that trains; unless given the usual one on its NPUs, of several jobs that of each."""
    cost: Annotated[NamedPrices, shared()] = Field(default_factory=lambda: preset(PriceList, "prices", "libra"))
    """The price list."""
    reliability: Annotated[NamedReliability, shared()] = Field(default_factory=usual_reliability)
    """What fails, and what that costs."""
    hypothetical: Flag = False
    """Whether the cluster may be one that nobody sells."""

    @model_validator(mode="before")
    @classmethod
    def _take_first_job(cls, value: Any) -> Any:
        """Give a design of several jobs the sections of the first one."""
        if not isinstance(value, dict) or value.get("jobs") is None:
            return value
        beside = [key for key in OF_JOB if key in value]
        if beside:
            raise Refusal("either 'jobs' or 'workload' and 'parallelism'", f"'{beside[0]}' beside 'jobs'", "drop one")
        listed = value["jobs"]
        first = listed[0] if isinstance(listed, list | tuple) and listed else {}
        if isinstance(first, Job):
            return {**value, **{key: getattr(first, key) for key in OF_JOB}}
        return {**value, **{key: first[key] for key in OF_JOB if isinstance(first, dict) and key in first}}

    @model_validator(mode="after")
    def _settle(self) -> Design:
        """Fill in the software, and what it decides, and where an efficiency stands for a library.

        What was given stays known (`model_fields_set`).
        """
        if "software" not in self.model_fields_set:
            self.__dict__["software"] = self._usual_software(self.workload)
        if self.workload.computes and is_usual(npus_library(self.cluster.npu)):
            self.__dict__["cluster"] = _reached(Same(self.cluster))
        platform = self.cluster.npu.platform
        for name in OF_JOB:
            self.__dict__[name] = _settled(getattr(self, name), self.software, platform)
        if self.jobs is not None:
            self.__dict__["jobs"] = tuple(
                _settled_job(job, self._stack_of(job), self.software, platform) for job in self.jobs
            )
            self.__dict__ |= {name: getattr(self.jobs[0], name) for name in OF_JOB}
            self.model_fields_set.difference_update(OF_JOB)
        return self

    def _stack_of(self, job: Job) -> Software:
        """What a job runs with: its own stack, else that of the design, unless that is only what its first job has."""
        given = self.software if "software" in self.model_fields_set else self._usual_software(job.workload)
        return job.software or given

    def _usual_software(self, workload: Workload) -> Software:
        """The stack of a workload that names none."""
        return usual_software(self.cluster.npu.programmed, workload_tag(workload))

    @cached_property
    def running_software(self) -> Software:
        """The software as it is on these NPUs."""
        return self.software_on(self.cluster.npu.name)

    def software_on(self, npu: str) -> Software:
        """The software as it would be on other NPUs of the same platform, with this ZeRO stage and these experts."""
        running, p = self.software.running_on(npu), self.parallelism
        moves = p.moves_tokens and self.cluster.npu.platform == "cuda"
        launched = p.zero not in running.graph_zero or (moves and p.dispatch not in running.graph_dispatch)
        return running.launching if launched and running.execution == "graph" else running

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
        return tuple(
            dimension.collective or given or self._of_stack(dimension) or _usual_algorithm(dimension)
            for dimension, given in zip_longest(self.cluster.dimensions, listed[: len(self.cluster.dimensions)])
        )

    def _of_stack(self, dimension: Dimension) -> AlgorithmName | None:
        """The algorithm that the stack brings to a dimension; None where it leaves that to the library."""
        flat = "flat_ring" if self.software.collectives == "flat" else None
        return "direct" if self.has_kernel_on(dimension) else flat

    def has_kernel_on(self, dimension: Dimension) -> bool:
        """Whether the stack has all-reduces of its own on a dimension: inside a node where all NPUs reach each other.

        And where it names the library that was measured there: over PCIe (vLLM, `custom_all_reduce.py`) it has none.
        """
        library, near = dimension.library, dimension.tier != "pod" and dimension.topology in _ALL_REACHED
        return self.software.collectives == "direct" and near and library is not None and library.adds

    def library_of(self, dimension: Dimension) -> Library | None:
        """What the library of collectives adds to the links of a dimension: its own, else, inside a node, its NPUs'.

        A collective that is asked for alone has the links alone, unless its dimension names a library.
        """
        if dimension.library is not None or dimension.tier == "pod" or not self.workload.computes:
            return dimension.library
        return npus_library(self.cluster.npu)

    @property
    def expanded_memory(self) -> ExpandedMemory | None:
        """The memory beside that of the NPUs, if there is one."""
        memory = self.cluster.memory
        return None if memory is None else memory.expanded

    @property
    def streamed(self) -> ExpandedMemory | None:
        """The memory that weights stream in from, and gradients leave for; None where NPUs hold their weights."""
        expanded = self.expanded_memory
        return expanded if expanded is not None and expanded.streams else None

    @property
    def microbatches(self) -> int:
        """Microbatches per pipeline and iteration."""
        return self.workload.global_batch // (self.data * self.microbatch)

    @cached_property
    def microbatch(self) -> int:
        """Sequences or samples of a microbatch: given, else what the kind of workload takes."""
        p = self.parallelism
        if "microbatch" in p.model_fields_set:
            return p.microbatch
        return self.workload.usual_microbatch(self.data, p.pipeline)

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
            if self.jobs is None:  # usual algorithms of jobs follow from what each has of a dimension
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
        listed = system.pop("collective", None)
        if self.jobs is not None and listed is not None:
            document["system"] = {"collective": listed, **system}
        if self.jobs is not None:
            return self._with_jobs(document)
        document["system"] = {"collective": list(self.algorithms), **system}
        document["parallelism"] = self._parallelism_document(document["parallelism"])
        self.workload.complete(document)
        return document

    def _with_jobs(self, document: dict[str, Any]) -> dict[str, Any]:
        """The canonical document of several jobs, each with the sections of a design of its own."""
        for job, listed in zip(self.jobs or (), document["jobs"], strict=True):
            alone = self._on_its_npus(job).document()
            for key in OF_JOB:
                listed.pop(key, None)
            listed |= {key: alone[key] for key in OF_JOB if key in alone}
        return {key: section for key, section in document.items() if key not in OF_JOB}

    def _on_its_npus(self, job: Job) -> Design:
        """A job on as many NPUs as it has, wherever these are."""
        outer = self.cluster.dimensions[-1]
        npus = job.npus or len(job.nodes or ()) * (self.cluster.npus // outer.size)
        cluster = self.cluster.model_copy(update={"dimensions": (outer.model_copy(update={"size": max(1, npus)}),)})
        own = {key: getattr(job, key) for key in OF_JOB}
        return self.model_copy(
            update={**own, "jobs": None, "cluster": cluster, "software": job.software or self.software}
        )

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
        if not p.moves_tokens:
            found.pop("dispatch", None)
        if p.attention_split == "heads":
            del found["attention_split"]
        if p.expert_tensor == p.tensor:
            del found["expert_tensor"]
        for listed in found.get("layers", ()):
            for key in ("tensor", "expert"):
                if listed.get(key) == getattr(p, key):
                    del listed[key]
        if p.recompute_modules:
            if p.recomputed_modules == {"core_attn"} or not p.recomputes_modules:
                del found["recompute_modules"]
            else:
                found["recompute_modules"] = sorted(p.recomputed_modules)
        return found

    @cached_property
    def key(self) -> str:
        """Identity of the design: designs with equal keys are simulated once."""
        text = json.dumps(self.document(), sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
