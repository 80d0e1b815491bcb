"""The jobs that a cluster is bought for: `workloads` of a space, and which sections they share.

A job is a design document without the decided sections. With `decide: [cluster]` the cluster's hardware is decided;
`cluster.placement` and the algorithms of its dimensions are software all the same, and tuned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.space.hole import Choice
from dse.space.settings import StudySettings
from dse.space.template import parse_template
from simcore.document.problem import Path, Problem, suggest_nearest

JOB_KEYS = ("workload", "parallelism", "system", "software")
"""Sections that a workload of the list may have of its own."""
SECTIONS = (*JOB_KEYS, "cluster", "cost", "reliability")
_ENTRY_KEYS = ("name", "weight", *JOB_KEYS)


@dataclass(frozen=True)
class Job:
    """One workload, and what is tuned for it."""

    name: str
    weight: float
    template: Mapping[str, Any]
    """The sections that are not decided, with their holes."""
    places: Mapping[str, Path]
    """Where each of its sections stands in the file."""

    def place(self, path: Path) -> Path:
        """The place in the file of a path of one of this job's designs."""
        return (*self.places[str(path[0])], *path[1:]) if path and path[0] in self.places else path


def is_software(path: Path) -> bool:
    """Whether what stands at a path of a design is tuned though its section is decided."""
    return path == ("cluster", "placement") or (path[:2] == ("cluster", "dimensions") and path[-1] == "collective")


def strip_software(template: Any, path: Path = ()) -> Any:
    """A template without the holes of software in it."""
    if isinstance(template, dict):
        return {
            key: strip_software(inner, (*path, key)) for key, inner in template.items() if not is_software((*path, key))
        }
    if isinstance(template, list):
        return [strip_software(inner, (*path, index)) for index, inner in enumerate(template)]
    if isinstance(template, Choice):
        return Choice(tuple(strip_software(alternative, path) for alternative in template.alternatives))
    return template


def decided_sections(data: Mapping[str, Any], settings: StudySettings) -> tuple[str, ...]:
    """The sections that the workloads share; empty for a plain space.

    A list of workloads without `decide` shares everything but the workloads themselves.
    """
    if settings.decide is not None:
        # The price list goes with what is priced; with the cluster what fails of it, and the storage bought for that.
        return (
            tuple(dict.fromkeys((*settings.decide, "cost", "reliability")))
            if settings.decide or "workloads" in data
            else ()
        )
    return ("cluster", "cost", "reliability", "parallelism", "system", "software") if "workloads" in data else ()


def parse_jobs(data: Mapping[str, Any], decided: tuple[str, ...], problems: list[Problem]) -> tuple[Job, ...]:
    """The jobs of a space; what is wrong is added to `problems`."""
    if not decided:
        return ()
    if "cluster" not in decided:
        fix = "e.g. decide: [cluster]"
        found = ", ".join(section for section in decided if section not in ("cost", "reliability")) or "nothing"
        problems.append(Problem(("study", "decide"), "the cluster among what is decided", found, fix))
    if "workloads" not in data:
        return (_parse_job(str(_name(data) or "workload"), 1.0, data, {}, (), decided, problems),)
    listed = data["workloads"]
    if "workload" in data:
        problems.append(Problem(("workload",), "either 'workload' or 'workloads'", "both", "drop one"))
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        what = "a list of workloads, each {name, weight, workload, parallelism, system, software}"
        problems.append(Problem(("workloads",), what, repr(listed)[:60]))
        return ()
    jobs = [_parse_entry(index, entry, data, decided, problems) for index, entry in enumerate(listed)]
    for index, job in enumerate(jobs):
        if any(other.name == job.name for other in jobs[:index]):
            fix = "give each workload a 'name'"
            problems.append(Problem(("workloads", index, "name"), "each name once", f"a second '{job.name}'", fix))
    return tuple(jobs)


def _parse_entry(
    index: int, entry: Mapping[str, Any], data: Mapping[str, Any], decided: tuple[str, ...], problems: list[Problem]
) -> Job:
    place: Path = ("workloads", index)
    problems += _entry_problems(entry, place, decided)
    weight = entry.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        problems.append(Problem((*place, "weight"), "a number above 0", repr(weight)))
        weight = 1.0
    name = entry.get("name", _name(entry) or f"workload {index + 1}")
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        problems.append(Problem((*place, "name"), "a name in text", repr(name)))
        name = f"workload {index + 1}"
    return _parse_job(name, float(weight), data, entry, place, decided, problems)


def _entry_problems(entry: Mapping[str, Any], place: Path, decided: tuple[str, ...]) -> Iterator[Problem]:
    for key in entry:
        if key not in _ENTRY_KEYS:
            fix = suggest_nearest(str(key), _ENTRY_KEYS) or f"known keys: {', '.join(_ENTRY_KEYS)}"
            yield Problem((*place, key), "a key of a workload", f"'{key}'", fix)
        elif key in decided:
            fix = f"move it to the top, or take '{key}' out of study.decide"
            yield Problem((*place, key), "a section that is not decided for all workloads", f"'{key}'", fix)
    if "workload" not in entry:
        yield Problem((*place, "workload"), "this required key", "nothing", "add 'workload'")


def _name(entry: Mapping[str, Any]) -> Any:
    """The name of a workload's model, where it has one."""
    workload = entry.get("workload")
    model = workload.get("model") if isinstance(workload, dict) else None
    name = model.get("name") if isinstance(model, dict) else model
    return name if isinstance(name, str) else None


def _parse_job(
    name: str,
    weight: float,
    data: Mapping[str, Any],
    entry: Mapping[str, Any],
    place: Path,
    decided: tuple[str, ...],
    problems: list[Problem],
) -> Job:
    """A job with its own sections, and for the others those of the whole space."""
    template: dict[str, Any] = {}
    places: dict[str, Path] = {}
    for section in SECTIONS:
        own = section in entry
        if section in decided or not (own or section in data):
            continue
        places[section] = (*place, section) if own else (section,)
        template[section] = parse_template(entry[section] if own else data[section], places[section], problems)
    return Job(name, weight, template, places)
