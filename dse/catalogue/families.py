"""Kinds of things that are code: topologies, collective algorithms, schedules, policies, samplers, workloads, metrics.

What is said of a member stands where it is written: the first sentence of its module, or of the member itself where one
module has several.
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass
from typing import Any

from dse.catalogue.base import Entry, Kind
from dse.report.units import label
from dse.space.samplers import AUTO, SAMPLERS
from simcore.collective import ALGORITHMS
from simcore.design.workload import KINDS as WORKLOADS
from simcore.family import Family
from simcore.metrics import METRICS
from simcore.network import TOPOLOGIES
from simcore.policy.inter_dimension import INTER_DIMENSION
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.schedule import SCHEDULES

_OWN_WORDS = {
    ("schedules", "zbv"): "ZB-V: keeps as much as 1F1B, almost no bubble (arXiv 2401.10241, section 6).",
    ("schedules", "v-half"): "V-half: about half the activations of 1F1B (arXiv 2405.15362).",
    ("schedules", "v-min"): "V-min: about a third of the activations of 1F1B (arXiv 2405.15362).",
    ("schedules", "pipedream"): "PipeDream: no flush, weights updated after every microbatch (arXiv 1806.03377).",
    ("schedules", "pipedream_2bw"): "PipeDream-2BW: no flush, two versions of weights (arXiv 2006.09503).",
    ("collectives", "flat_ring"): "One ring over all dimensions; within one dimension, and for other kinds, a ring.",
}
"""Members that share their words with another one."""


@dataclass(frozen=True)
class FamilyKind(Kind):
    """A family of members that are code."""

    name: str
    what: str
    path: str
    example: str
    """How a document says a member, with `NAME` for it."""
    family: Family[Any]
    note: str = ""

    def names(self) -> list[str]:
        """See `Kind.names`."""
        return list(self.family)

    def entry(self, name: str) -> Entry:
        """See `Kind.entry`."""
        text = _words(self.family, name)
        summary = _OWN_WORDS.get((self.name, name)) or _first_sentence(text)
        written = self.example.replace("NAME", name)
        return Entry(self.name, name, summary, "", written, self.family.origin(name), text=text)


class SamplerKind(FamilyKind):
    """The samplers, and the word that leaves the choice open."""

    def names(self) -> list[str]:
        """See `Kind.names`."""
        return [AUTO, *super().names()]

    def entry(self, name: str) -> Entry:
        """See `Kind.entry`."""
        if name != AUTO:
            return super().entry(name)
        text = "The sampler that suits: exact where the space is small, else guided; multi-fidelity for slow engines."
        return Entry(self.name, name, text, "", self.example.replace("NAME", name), text=text)


class WorkloadKind(FamilyKind):
    """The kinds of workload, which a document shows by its keys."""

    def entry(self, name: str) -> Entry:
        """See `Kind.entry`."""
        form = WORKLOADS[name]
        text = _words(WORKLOADS, name)
        summary = _first_sentence(text).removesuffix(": a kind of workload.")
        keys = sorted(form.keys)
        how = f"with the key {' or '.join(keys)}" if keys else "what no other kind claims"
        fields = ", ".join(form.section.model_fields)
        values = {"keys": list(form.section.model_fields)}
        written = f"workload: {{{fields}}}"
        package = WORKLOADS.origin(name)
        return Entry(self.name, name, f"{summary.rstrip('.')}; {how}", "", written, package, values, text=text)


class MetricKind(FamilyKind):
    """The metrics, of which objectives and constraints speak."""

    def entry(self, name: str) -> Entry:
        """See `Kind.entry`."""
        metric = METRICS[name]
        unit = f" [{metric.unit}]" if metric.unit else ""
        known = "" if metric.scope == "run" else ", known before simulation"
        text = f"{label(name)}{unit}, {metric.better} is better{known}"
        written = f"objectives: {{{metric.direction}: [{name}]}}"
        values = {"unit": metric.unit, "better": metric.better, "scope": metric.scope, "moves": list(metric.moves)}
        return Entry(self.name, name, text, "", written, METRICS.origin(name), values)


def _words(family: Family[Any], name: str) -> str:
    """What is written about a member: at the head of its module, unless others of the family stand in it as well."""
    member = family[name]
    code = member if inspect.isclass(member) or inspect.isfunction(member) else type(member)
    about_module = inspect.cleandoc(sys.modules[code.__module__].__doc__ or "")
    own = inspect.cleandoc(code.__doc__ or "")
    return own if _is_shared(code) or not about_module else about_module


def _is_shared(code: Any) -> bool:
    """Whether several members of families come from the module: functions, each of which makes another one."""
    return inspect.isfunction(code)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r".*?[.](?=\s+[A-Z]|$)", paragraph)
    return found[0] if found else paragraph


FAMILIES: tuple[Kind, ...] = (
    WorkloadKind("workloads", "kinds of workload", "workload", "", WORKLOADS),
    FamilyKind(
        "topologies",
        "blocks that a network dimension can be",
        "cluster.dimensions[i].topology",
        "cluster:\n  dimensions:\n    - {topology: NAME, size: 8, bandwidth: 300 GB/s, latency: 700 ns, tier: node}",
        TOPOLOGIES,
    ),
    FamilyKind(
        "collectives",
        "collective algorithms, one a dimension",
        "system.collective",
        "system:\n  collective: [NAME, ring]    # innermost dimension first",
        ALGORITHMS,
    ),
    FamilyKind("schedules", "pipeline schedules", "parallelism.schedule", "parallelism:\n  schedule: NAME", SCHEDULES),
    FamilyKind(
        "intra_dimension",
        "which chunk a dimension serves next",
        "system.intra_dimension",
        "system:\n  intra_dimension: NAME",
        INTRA_DIMENSION,
    ),
    FamilyKind(
        "inter_dimension",
        "in which order a chunk visits the dimensions",
        "system.inter_dimension",
        "system:\n  inter_dimension: NAME",
        INTER_DIMENSION,
    ),
    SamplerKind(
        "samplers", "ways to search a space", "study.sampler", "study: {sampler: NAME}    # or --sampler NAME", SAMPLERS
    ),
    MetricKind("metrics", "what objectives and constraints speak of", "objectives, constraints", "", METRICS),
)
