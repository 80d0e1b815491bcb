"""The software of a document that names none, by the NPUs of its cluster; and whether one is made for its NPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.design import Design
from simcore.design.npu import UNNAMED, Npu, Programmed
from simcore.design.software import NO_TRANSFORMERS, usual_software
from simcore.design.workload import workload_tag
from simcore.document.problem import Problem
from simcore.workload.base import kind_of

MADE_FOR = "NPUs of the software"
TRAINS = "software that trains"
HAS_MODEL = "models of the software"


def misfits(design: Design) -> Iterator[Problem]:
    """Why nobody trains the design: its stack does not train, or is not made for its NPUs or for such models.

    It can be simulated as if it did, and were.
    """
    npu, stack = design.cluster.npu.programmed, design.software
    if design.jobs is not None or not kind_of(design.workload).trained:
        return
    kind = workload_tag(design.workload)
    usual = usual_software(npu, kind).name
    if not stack.trains:
        fix = f"use one that does, such as {usual}"
        yield Problem(("software",), "a stack that trains", stack.name, fix, rule=TRAINS)
    if not stack.is_made_for(npu):
        expected, fix = f"a stack that is made for {npu.name}", f"use one that is, such as {usual}"
        yield Problem(("software",), expected, stack.name, fix, rule=MADE_FOR)
    if stack.transformers_alone and kind in NO_TRANSFORMERS:
        expected, fix = "a stack that trains other models than transformers", f"use one that does, such as {usual}"
        yield Problem(("software",), expected, stack.name, fix, rule=HAS_MODEL)


def usual_stack(document: Mapping[str, Any]) -> str | None:
    """The name of the stack that is usual for all of a document's workloads on all of its NPUs, holes and all.

    None where there are several.
    """
    npus = [*_npus_of(document.get("cluster"))] or [UNNAMED]
    stacks = {usual_software(npu, kind).name for npu in npus for kind in _kinds_of(document)}
    return stacks.pop() if len(stacks) == 1 else None


def _kinds_of(document: Mapping[str, Any]) -> set[str]:
    """The kinds of all workloads of a document, those that are alternatives included."""
    holders = [document, *_listed(document)]
    holders += [inner for holder in holders[1:] for inner in _listed(holder)]
    sections = [alternative for holder in holders for alternative in _alternatives(holder.get("workload"))]
    found = {
        workload_tag({**section, "model": model})
        for section in sections
        if isinstance(section, dict)
        for model in _alternatives(section.get("model"))
    }
    return found or {""}


def _listed(holder: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a document, or a future of it, lists that has a workload of its own."""
    lists = [holder.get(key) for key in ("workloads", "jobs", "futures")]
    return [entry for listed in lists if isinstance(listed, list) for entry in listed if isinstance(entry, dict)]


def _alternatives(value: Any) -> list[Any]:
    return list(value["choice"]) if isinstance(value, dict) and isinstance(value.get("choice"), list) else [value]


def _npus_of(cluster: Any) -> Iterator[Programmed]:
    """The NPUs of a cluster, or of its alternatives."""
    if isinstance(cluster, list):
        for entry in cluster:
            yield from _npus_of(entry)
    elif isinstance(cluster, dict):
        for key, value in cluster.items():
            if key == "npu":
                yield from map(_read_npu, _alternatives(value))
            else:
                yield from _npus_of(value)


def _read_npu(section: Any) -> Programmed:
    """The NPU of a section, with its own platform and name, and else those of what it is a variation of."""
    given = section if isinstance(section, dict) else {"base": section}
    base = given.get("base")
    found = UNNAMED
    if isinstance(base, str) and base in catalog.section("npus"):
        found = preset(Npu, "npus", base).programmed
    return found._replace(**{key: given[key] for key in found._fields if isinstance(given.get(key), str)})
