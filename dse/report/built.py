"""The first sentence of a decision: what to build, and how to use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from dse.evaluate.record import TrialRecord
from dse.report.aspects import (
    BY_NAME,
    DEGREES,
    USUAL_SCHEDULE,
    Document,
    dimensions_of,
    jobs_of,
    shorten_value,
    value_at,
)
from dse.report.describe import CARE, headline, in_words
from dse.report.extras import say_nics, say_oversubscription
from dse.report.scheduling import open_policies
from dse.report.units import clean_text, format_percent

_JOB = ("workload", "batch", "sequence", "precision", "weights", "cache")
_HOW = (
    *("ZeRO", "shard group", "microbatch", "schedule", "interleave", "stages", "recompute", "context by", "servers"),
    *("expert overlap", "tensor overlap", "partition", "placement", "expanded memory", "software"),
)

_HOW_OF_JOB = ("ZeRO", "shard group", "microbatch", "schedule", "interleave", "stages", "recompute", "context by")
"""How each key of one of several jobs or workloads is said."""

_IF_OPEN = {
    "accumulate": "parallelism.accumulate",
    "gather": "parallelism.gather",
    "dispatch": "parallelism.dispatch",
    "prompts": "workload.prefill_tokens",
    "software": "software",
}
"""What is said where the space left it open, be it the usual or not."""
_OF_ZERO = {"accumulate": (2, 3), "gather": (3,)}
"""What means something in these stages of ZeRO alone."""


_PLACE = "cluster.memory.expanded.place"
"""Not among these: what lies there is said with how the job is cut."""


def describe_build(trial: TrialRecord) -> str:
    """What to build, for which work, and how that is cut."""
    document = trial.decided_document or {}
    network = headline(document, ("topology", "bandwidth"))
    npus = headline(document, ("NPUs", "power cap")) + _describe_npu(trial)
    what = npus + (f" on {network} an NPU" if network else "")
    of_fabric = (*_describe_fabric(document), *_describe_rates(trial), *_describe_racks(document))
    if fabric := ", ".join(dict.fromkeys(of_fabric)):
        what = f"{what} ({fabric})"
    if trial.workloads:
        return f"Build trial {trial.number}: {what}; {'; '.join(_describe_workloads(trial))}."
    if jobs := BY_NAME["jobs"].read(document):
        rest = _describe_rest(document)
        return f"Build trial {trial.number} for {jobs}: {what}, with {'; '.join(_describe_jobs(document))}{rest}."
    said = _settings(document, _HOW)
    zero = (document.get("parallelism") or {}).get("zero")
    open_ones = [name for name, path in _IF_OPEN.items() if path in trial.params and name not in said]
    said += [name for name in open_ones if zero in _OF_ZERO.get(name, (zero,))]
    how = ", ".join(part for part in (_degrees(document), headline(document, said), *_describe_use(trial)) if part)
    for_what = headline(document, _JOB) or "the workload"
    return f"Build trial {trial.number} for {for_what}: {what}{f', with {how}' if how else ''}{_describe_care(trial)}."


def _describe_workloads(trial: TrialRecord) -> Iterator[str]:
    """How each of the workloads that a cluster is bought for uses it."""
    for name, part in trial.parts:
        document = part.design or {}
        how = [_degrees(document), headline(document, _settings(document, _HOW_OF_JOB))]
        yield f"{clean_text(name)} with {', '.join(filter(None, how))}"


def _settings(document: Document, names: Sequence[str]) -> list[str]:
    """Settings among the aspects that are not the usual ones."""
    return [name for name in names if BY_NAME[name].read(document) not in (BY_NAME[name].quiet, USUAL_SCHEDULE)]


def _describe_npu(trial: TrialRecord) -> str:
    """What of an NPU that is spelled out, and of the memory beside it, the space left open."""
    document = trial.design or {}
    told = [
        f"{words} {shorten_value(value if (found := value_at(document, path)) is None else found)}"
        for path, value in trial.params.items()
        if (words := in_words(path)) != path and not path.startswith((_PLACE, CARE))
    ]
    return f" ({', '.join(told)})" if told else ""


def _describe_use(trial: TrialRecord) -> Iterator[str]:
    """How the network is used, as far as the space left it open."""
    document = trial.decided_document or {}
    if "parallelism.sequence_parallel" in trial.params and value_at(document, "parallelism.tensor") not in (None, 1):
        used = value_at(document, "parallelism.sequence_parallel")
        yield "sequence parallel" if used else "no sequence parallelism"
    if any(path.endswith("collective") and not path.startswith("workload") for path in trial.params):
        listed = value_at(document, "system.collective")
        names = list(map(_short, listed if isinstance(listed, list | tuple) else [listed]))
        yield f"collectives {'/'.join(names if len(set(names)) > 1 else names[:1])}"
    if "system.chunks" in trial.params:
        yield f"{_short(trial.params['system.chunks'])} chunks"
    if policies := [*open_policies(trial)]:
        yield f"scheduling {'/'.join(policies)}"


def _describe_care(trial: TrialRecord) -> str:
    """How the job is saved and begun again, as far as the space left it open, and what that comes to."""
    told = [f"{in_words(path)} {shorten_value(value)}" for path, value in trial.params.items() if path.startswith(CARE)]
    goodput = (trial.metrics or {}).get("goodput")
    reached = "" if goodput is None or not told else f" (goodput {format_percent(goodput)})"
    return f"; {', '.join(told)}{reached}" if told else ""


_FABRIC: dict[str, Callable[[Any], str]] = {
    "sides": lambda sides: f"a torus of {sides.replace('/', ' x ')}",
    "twisted": lambda _: "twisted",
    "leaf": lambda size: f"leaves of {size}",
    "oversubscription": lambda ratios: say_oversubscription(ratios.split("/")),
    "routing": lambda name: f"{name} routing",
    "connections": lambda count: f"{count} connections",
    "nics": lambda count: f"{say_nics(count)} a node",
    "switch": lambda name: f"{name} switches",
    "in_network": lambda _: "reduction in switches",
}
"""What else of a dimension is bought or set, with how it is said."""
_USUAL = (None, False, 1, 1.0)


def _describe_fabric(document: Document) -> Iterator[str]:
    """What each dimension has beside its sizes and rates, but for what goes without saying."""
    for dimension in dimensions_of(document):
        for key, say in _FABRIC.items():
            value = dimension.get(key)
            if key == "nics" or value is True or value not in _USUAL:  # True is 1
                yield from () if value is None else (say(_short(value)),)


def _describe_rates(trial: TrialRecord) -> Iterator[str]:
    """Latency and efficiency of the dimensions, as far as the space left them open."""
    document = trial.decided_document or {}
    open_keys = {path.rpartition(".")[2] for path in trial.params if path.startswith("cluster.dimensions")}
    if "latency" in open_keys and (latency := BY_NAME["latency"].read(document)) is not None:
        yield f"latency {latency}"
    if "efficiency" in open_keys:
        yield f"efficiency {'/'.join(_short(each.get('efficiency', 1.0)) for each in dimensions_of(document))}"


def _describe_racks(document: Document) -> Iterator[str]:
    """How many NPUs stand in a rack, where that is given."""
    if (rack := BY_NAME["rack"].read(document)) is not None:
        yield f"at most {rack} NPUs a rack"


def _short(value: Any) -> str:
    """A value in few letters; those of several levels one after another."""
    if isinstance(value, list | tuple):
        return "/".join(map(_short, value))
    return f"{value:g}" if isinstance(value, float) else clean_text(value)


def _describe_jobs(document: Document) -> Iterator[str]:
    """How each of several jobs is cut and placed."""
    for name, job in jobs_of(document):
        placement = job.get("placement")
        how = headline(job, _settings(job, _HOW_OF_JOB)), f"placed {placement}" if isinstance(placement, str) else ""
        yield ", ".join([f"{name} in {_degrees(job) or 'no parallelism'}", *map(clean_text, filter(None, how))])


def _describe_rest(document: Document) -> str:
    """The NPUs that are bought and that no job has."""
    had = [count for _, job in jobs_of(document) if isinstance(count := job.get("npus"), int)]
    sizes = [size for dimension in dimensions_of(document) if isinstance(size := dimension.get("size"), int)]
    if len(had) < len(jobs_of(document)) or len(sizes) < len(dimensions_of(document)) or not sizes:
        return ""
    free = prod(sizes) - sum(had)
    return f"; {free} NPUs have no job" if free > 0 else ""


def _degrees(document: Document) -> str:
    parallelism = document.get("parallelism")
    if not isinstance(parallelism, Mapping):
        return ""
    known = {name: parallelism.get(name, 1) for name in DEGREES}
    nodes = _nodes_of_tensor(document, known["tensor"])
    over = {"tensor": f" (over {nodes} nodes)" if nodes > 1 else ""}
    said = [f"{name} {clean_text(degree)}{over.get(name, '')}" for name, degree in known.items() if degree != 1]
    return " x ".join(said) or "no parallelism"


def _nodes_of_tensor(document: Document, degree: Any) -> int:
    """Over how many nodes a tensor group goes, where it is innermost and nodes are joined to others; else 1."""
    dimensions, placement = dimensions_of(document), value_at(document, "cluster.placement") or ("tensor",)
    sizes = [each.get("size") for each in dimensions if each.get("tier") != "pod"]
    inside = [size for size in sizes if isinstance(size, int)]
    if not isinstance(degree, int) or placement[0] != "tensor" or not 0 < len(inside) == len(sizes) < len(dimensions):
        return 1
    return -(-degree // prod(inside))
