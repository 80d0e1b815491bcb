"""The aspects of a design: how each is read from a design document and said in few words.

Topology is written `Ring(4)_FC(8)_SW(32)`, innermost dimension first, as in LIBRA (Won et al. 2024); bandwidths
`300/25 GB/s`; degrees of parallelism `t8 p16 d8`. Adding one = one line in `ASPECTS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import Any

from dse.report.spelled_out import describe_model, name_of
from dse.report.units import clean_text, format_brief, shorten_digits
from dse.report.values import cell
from simcore import catalog
from simcore.collective import ALGORITHMS
from simcore.design.parameter_server import ParameterServer
from simcore.document.quantity import parse_quantity
from simcore.family import Family
from simcore.network import TOPOLOGIES

Document = Mapping[str, Any]

DEGREES = {"tensor": "t", "context": "c", "pipeline": "p", "data": "d", "expert": "e"}
USUAL_SCHEDULE = "1f1b"
"""The pipeline schedule that goes without saying."""
UPLINKS = "uplinks"
"""The aspect that says in short what dimensions have as `oversubscription`."""
_BANDWIDTHS = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s"))
_LATENCIES = ((1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))


def short_name(family: Family[Any], name: Any) -> str:
    """A topology or an algorithm in the notation of tables; a name that nothing goes by as it is."""
    known = family[name].short if isinstance(name, str) and name in family else ""
    return known or clean_text(name)


def short_names() -> dict[str, str]:
    """All topologies and algorithms that have a shorter name in tables, with it."""
    families: tuple[Family[Any], ...] = (TOPOLOGIES, ALGORITHMS)
    return {name: member.short for family in families for name, member in family.items() if member.short}


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing to say about a design.

    `read` gives a table's cell, None where the design has no such aspect; `phrase` says it in running text; a common
    value equal to `quiet` goes without saying. `paths` are the keys of the document it accounts for.
    """

    name: str
    phrase: str
    paths: tuple[str, ...]
    read: Callable[[Document], str | None]
    quiet: str | None = None
    follows: str | None = None
    """The aspect that usually decides this one: where it does in all designs, this one is no difference."""


def value_at(design: Document, path: str) -> Any:
    """What a document has at a path of keys; None where it has nothing there, or a section is of another shape."""
    value: Any = design
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _make_leaf_reader(path: str) -> Callable[[Document], str | None]:
    def read(design: Document) -> str | None:
        value = value_at(design, path)
        return None if value is None else shorten_value(value)

    return read


_SCHEDULE = _make_leaf_reader("parallelism.schedule")


def shorten_value(value: Any) -> str:
    """Any value of a document in few words: a list as `a/b`, a subtree by its name or as *inline*."""
    if isinstance(value, Mapping):
        value = name_of(value)
    if isinstance(value, (list, tuple)) and all(isinstance(entry, (str, int, float)) for entry in value):
        return clean_text("/".join(cell(entry) for entry in value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean_text(format_brief(value) if isinstance(value, float) else shorten_digits(cell(value)))


def _workload(design: Document) -> str | None:
    work = value_at(design, "workload")
    if not isinstance(work, Mapping):
        return None
    if "collective" in work:
        return clean_text(f"{work['collective']} of {work.get('size')}")
    if isinstance(work.get("widths"), (list, tuple)):
        return f"a pruned network of {len(work['widths']) - 1} layers"
    if isinstance(work.get("timed_layers"), (list, tuple)):
        return f"{len(work['timed_layers'])} layers with given times"
    if isinstance(work.get("layers"), (list, tuple)):
        return f"a table of {_count_layers(work['layers'])} layers"
    if isinstance(named := work.get("trace"), Mapping):
        return clean_text(f"trace {PurePath(str(named.get('path'))).name}")
    named = next((work[key] for key in ("model", "layers") if key in work), None)
    if isinstance(named, Mapping):
        return describe_model(named)
    return None if named is None else shorten_value(named)


def _count_layers(row: Any) -> int:
    """The layers of a row of a table, or of a list of rows; those of a block as often as it is repeated."""
    if isinstance(row, (list, tuple)):
        return sum(map(_count_layers, row))
    if not isinstance(row, Mapping) or "layers" not in row:
        return 1
    repeat = row.get("repeat", 1)
    return _count_layers(row["layers"]) * (repeat if isinstance(repeat, int) else 1)


def _jobs(design: Document) -> str | None:
    """Several jobs: each by its name, and how many NPUs it has."""
    return ", ".join(f"{name} on {_job_npus(job)}" for name, job in jobs_of(design)) or None


def jobs_of(design: Document) -> list[tuple[str, Document]]:
    """Each of several jobs with its name; none where there is one."""
    listed = design.get("jobs")
    jobs = [job for job in listed if isinstance(job, Mapping)] if isinstance(listed, (list, tuple)) else []
    return [(clean_text(job.get("name") or f"job {number}"), job) for number, job in enumerate(jobs)]


def _job_npus(job: Document) -> str:
    nodes = job.get("nodes")
    return f"{len(nodes)} nodes" if isinstance(nodes, (list, tuple)) else f"{clean_text(job.get('npus'))} NPUs"


def dimensions_of(design: Document) -> list[Document]:
    """The entries of `cluster.dimensions`; none where they are not listed."""
    listed = value_at(design, "cluster.dimensions")
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, (list, tuple)) else []


def _servers(design: Document) -> str:
    """Where gradients meet: the parameter servers, or an all-reduce."""
    served = value_at(design, "parallelism.gradients.parameter_server")
    if not isinstance(served, Mapping):
        return "all-reduce"
    manner = ("asynchronous",) if served.get("asynchronous") else ()
    where = ("colocated",) if served.get("place") == "colocated" else ()
    return " ".join((clean_text(served.get("servers")), *manner, *where, "parameter servers"))


def _npus(design: Document) -> str | None:
    npu = value_at(design, "cluster.npu")
    count = value_at(design, "cluster.npus")
    sizes = [entry.get("size") for entry in dimensions_of(design)]
    if sizes and all(isinstance(size, int) for size in sizes):
        count = math.prod(sizes)
    return (
        None if npu is None else shorten_value(npu) if count is None else f"{clean_text(count)} x {shorten_value(npu)}"
    )


def _schedule(design: Document) -> str | None:
    """The pipeline schedule; the usual one where there is no pipeline, whatever its stack names."""
    return USUAL_SCHEDULE if value_at(design, "parallelism.pipeline") == 1 else _SCHEDULE(design)


def _power_cap(design: Document) -> str | None:
    """A limit of power, where it is below what its NPUs draw at the most."""
    cap, npu = value_at(design, "cluster.power_cap"), value_at(design, "cluster.npu")
    if cap is None:
        return None
    known = isinstance(npu, str) and npu in catalog.section("npus")
    most = catalog.entry("npus", npu)["power"]["max"] if known else value_at(design, "cluster.npu.power.max")
    try:
        watts = parse_quantity(cap, "power")
        return None if most is not None and watts >= parse_quantity(most, "power") else f"{watts:.4g} W"
    except (TypeError, ValueError):
        return shorten_value(cap)


def _expanded_memory(design: Document) -> str | None:
    """What lies in the expanded memory: `activations/optimizer`."""
    expanded = value_at(design, "cluster.memory.expanded")
    if not isinstance(expanded, Mapping):
        return None
    places = expanded.get("place") or ["spill"]
    return clean_text("/".join("what does not fit" if place == "spill" else str(place) for place in places))


def _of_degree(path: str, degree: str) -> Callable[[Document], str | None]:
    """What says how a degree of parallelism communicates: nothing where there is none."""
    read = _make_leaf_reader(path)
    return lambda design: None if value_at(design, f"parallelism.{degree}") in (None, 1) else read(design)


def _microbatch(design: Document) -> str | None:
    """The microbatch; nothing where a server without a pipeline decodes all requests together."""
    served = value_at(design, "workload.output_length") is not None
    read = _of_degree("parallelism.microbatch", "pipeline") if served else _make_leaf_reader("parallelism.microbatch")
    return read(design)


def _stages(design: Document) -> str | None:
    """Layers by stage: `4`, `23 x 4 + 2`, or as they are written where they are no list."""
    listed = value_at(design, "parallelism.stages")
    if not isinstance(listed, list) or not listed:
        return None if listed is None else shorten_value(listed)
    runs = [(layers, len([*same])) for layers, same in groupby(map(shorten_value, listed))]
    return runs[0][0] if len(runs) == 1 else " + ".join(f"{n} x {layers}" if n > 1 else layers for layers, n in runs)


def _recompute(design: Document) -> str | None:
    """What is recomputed, with its modules or number of layers where they are given; of layers that differ, which."""
    ranges = value_at(design, "parallelism.layers")
    section = value_at(design, "parallelism.recompute")
    if not isinstance(ranges, list):
        if section in (None, "none"):
            return None if section is None else "none"
        modules, layers = (value_at(design, f"parallelism.recompute_{part}") for part in ("modules", "layers"))
        of = [shorten_value(modules)] if modules else []
        of += [f"{shorten_value(layers)} layers of a stage"] if layers else []
        return shorten_value(section) + (f" ({', '.join(of)})" if of else "")
    ways = [(row.get("recompute", section), row.get("layers")) for row in ranges if isinstance(row, Mapping)]
    told = [f"{how} in layers {which}" for how, which in ways if how not in (None, "none")]
    return ", ".join(told) or "none"


def _topology(design: Document) -> str | None:
    blocks = [
        f"{short_name(TOPOLOGIES, entry.get('topology'))}({clean_text(entry.get('size'))})"
        for entry in dimensions_of(design)
    ]
    fabric = value_at(design, "cluster.fabric")
    return "_".join(blocks) or (None if fabric is None else shorten_value(fabric))


def _quantities(
    key: str, kind: str, steps: tuple[tuple[float, str], ...], least: float
) -> Callable[[Document], str | None]:
    def read(design: Document) -> str | None:
        texts = [entry.get(key) for entry in dimensions_of(design)]
        if not texts or None in texts:
            return None
        try:
            values = [
                parse_quantity(text, kind) if isinstance(text, str) else float(text)
                for text in texts
                if text is not None
            ]
        except (TypeError, ValueError):
            return clean_text("/".join(map(str, texts)))
        positive = [value for value in values if value > 0]
        factor, unit = next((step for step in steps if positive and min(positive) >= least * step[0]), steps[-1])
        return f"{'/'.join(f'{value / factor:.6g}' for value in values)} {unit}"

    return read


def uplink_ratios(design: Document) -> list[tuple[Any, ...]]:
    """By how much uplinks are thinner than what is below them, level by level, of each dimension."""
    told = [entry.get("oversubscription") for entry in dimensions_of(design)]
    return [tuple(ratio) if isinstance(ratio, list | tuple) else (1.0 if ratio is None else ratio,) for ratio in told]


def say_ratios(ratios: Sequence[str]) -> str:
    """How thin uplinks are, level by level: `2:1 then 4:1`."""
    return " then ".join(f"{ratio}:1" for ratio in ratios)


def _uplinks(design: Document) -> str | None:
    """How thin uplinks are, level by level, of each dimension with thin ones: `4:1`; None where none is."""
    thin = [ratios for ratios in uplink_ratios(design) if any(ratio != 1 for ratio in ratios)]
    return "/".join(say_ratios(list(map(shorten_value, ratios))) for ratios in thin) or None


def _tiers(design: Document) -> str | None:
    tiers = [entry.get("tier") for entry in dimensions_of(design)]
    return clean_text("/".join(map(str, tiers))) if any(tiers) else None


def _degrees(design: Document) -> str | None:
    parallelism = value_at(design, "parallelism")
    if not isinstance(parallelism, Mapping):
        return None
    kept = {name: parallelism.get(name) for name in DEGREES if parallelism.get(name) is not None}
    shown = [f"{DEGREES[name]}{n}" for name, n in kept.items() if n != 1 or name not in ("context", "expert")]
    return clean_text(" ".join([*shown, *_degrees_of_layers(parallelism.get("layers"))])) or None


def _degrees_of_layers(ranges: Any) -> Iterator[str]:
    """The layers that have degrees of their own: `t4 in layers 0-2`."""
    for row in filter(lambda row: isinstance(row, Mapping), ranges if isinstance(ranges, list) else ()):
        if own := [f"{DEGREES[name]}{row[name]}" for name in ("tensor", "expert") if name in row]:
            yield f"({' '.join(own)} in layers {row.get('layers')})"


def _algorithms(design: Document) -> str | None:
    listed = value_at(design, "system.collective")
    if not listed:
        return None
    names = [short_name(ALGORITHMS, name) for name in (listed if isinstance(listed, list) else [listed])]
    return names[0] if len(set(names)) == 1 else "/".join(names)


def _scheduling(design: Document) -> str | None:
    parts = [value_at(design, f"system.{key}_dimension") for key in ("intra", "inter")]
    return clean_text("+".join(str(part) for part in parts if part is not None)) or None


_WORKLOAD = tuple(
    f"workload.{key}"
    for key in ("model", "model.name", "layers", "timed_layers", "trace", "collective", "size", "widths")
)
_NPU = ("cluster.npu", "cluster.npu.name", "cluster.npus")
_SERVERS = (
    "parallelism.gradients",
    *(f"parallelism.gradients.parameter_server.{key}" for key in ParameterServer.model_fields),
)
_RECOMPUTE = (
    *("parallelism.recompute", "parallelism.recompute_modules", "parallelism.recompute_layers"),
    "parallelism.layers",
)
_SCHEDULING = ("system.intra_dimension", "system.inter_dimension")


def _simple_aspect(name: str, phrase: str, path: str, quiet: str | None = None, follows: str | None = None) -> Aspect:
    return Aspect(name, phrase, (path,), _make_leaf_reader(path), quiet, follows)


ASPECTS: tuple[Aspect, ...] = (
    Aspect("workload", "{}", _WORKLOAD, _workload),
    Aspect("jobs", "{}", ("jobs",), _jobs),
    _simple_aspect("batch", "batch {}", "workload.global_batch"),
    _simple_aspect("sequence", "sequence {}", "workload.sequence_length"),
    _simple_aspect("precision", "{}", "workload.precision"),
    _simple_aspect("weights", "{} weights", "workload.weight_precision"),
    _simple_aspect("cache", "{} cache", "workload.cache_precision"),
    _simple_aspect("prompts", "{} prompt tokens a pass", "workload.prefill_tokens"),
    _simple_aspect("gradients", "{} gradients", "workload.gradient_precision", "fp16"),
    Aspect("NPUs", "{}", _NPU, _npus),
    Aspect("power cap", "capped at {}", ("cluster.power_cap",), _power_cap),
    Aspect("topology", "{}", ("cluster.dimensions", "cluster.fabric"), _topology),
    Aspect("bandwidth", "{}", (), _quantities("bandwidth", "bandwidth", _BANDWIDTHS, 1.0)),
    Aspect(UPLINKS, "uplinks {}", (), _uplinks),
    Aspect("latency", "{}", (), _quantities("latency", "time", _LATENCIES, 0.1), follows="topology"),
    Aspect("tiers", "tiers {}", (), _tiers, follows="topology"),
    _simple_aspect("placement", "placement {}", "cluster.placement", "tensor/context/data/pipeline"),
    Aspect("degrees", "{}", (*(f"parallelism.{name}" for name in DEGREES), "parallelism.layers"), _degrees),
    _simple_aspect("ZeRO", "ZeRO-{}", "parallelism.zero", "0"),
    _simple_aspect("accumulate", "accumulate {}", "parallelism.accumulate", "sharded"),
    _simple_aspect("gather", "gather {}", "parallelism.gather", "twice"),
    _simple_aspect("shard group", "shard group {}", "parallelism.shard_group"),
    Aspect("microbatch", "microbatch {}", ("parallelism.microbatch",), _microbatch),
    Aspect("schedule", "{}", ("parallelism.schedule",), _schedule),
    _simple_aspect("interleave", "interleave {}", "parallelism.interleave", "1"),
    Aspect("stages", "stages of {} layers", ("parallelism.stages",), _stages),
    Aspect("recompute", "recompute {}", _RECOMPUTE, _recompute, "none"),
    _simple_aspect("seq. parallel", "sequence parallel {}", "parallelism.sequence_parallel", "no"),
    Aspect(
        "context by",
        "context by {}",
        ("parallelism.context_communication",),
        _of_degree("parallelism.context_communication", "context"),
        "ring",
    ),
    Aspect(
        "dispatch", "dispatch by {}", ("parallelism.dispatch",), _of_degree("parallelism.dispatch", "expert"), "rank"
    ),
    _simple_aspect("expert overlap", "expert exchanges beside computation", "parallelism.expert_overlap", "no"),
    _simple_aspect("tensor overlap", "tensor collectives beside computation", "parallelism.tensor_overlap", "no"),
    _simple_aspect("partition", "neurons by {}", "workload.partition"),
    Aspect("servers", "{}", _SERVERS, _servers, "all-reduce"),
    _simple_aspect("bucket", "bucket {}", "parallelism.bucket", "25 MB"),
    Aspect("collective", "{}", ("system.collective",), _algorithms),
    _simple_aspect("chunks", "{} chunks", "system.chunks"),
    Aspect("scheduling", "{}", _SCHEDULING, _scheduling),
    _simple_aspect("active chunks", "active chunks {}", "system.active_chunks", "overlap"),
    Aspect("expanded memory", "{} in expanded memory", ("cluster.memory.expanded.place",), _expanded_memory),
    _simple_aspect("software", "software {}", "software", "megatron-core"),
    _simple_aspect("fused loss", "fused loss {}", "parallelism.cross_entropy_fusion", "yes", follows="software"),
    _simple_aspect("rack", "{} NPUs a rack", "cost.npus_per_rack"),
    _simple_aspect("prices", "prices {}", "cost"),
)
BY_NAME = {aspect.name: aspect for aspect in ASPECTS}
