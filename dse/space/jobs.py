"""The jobs that a cluster is bought for: `workloads` of a space, and which sections they share.

A job is a design document without the decided sections. With `decide: [cluster]` the cluster's hardware is decided;
`cluster.placement` and the algorithms of its dimensions are software all the same, and tuned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.space.hole import Choice
from dse.space.sections import SOFTWARE_SECTIONS
from dse.space.settings import StudySettings
from dse.space.template import parse_template
from simcore.document.problem import Path, Problem, suggest_nearest

SECTIONS = (*SOFTWARE_SECTIONS, "cluster", "cost", "reliability")
_ENTRY_KEYS = ("name", "weight", *SOFTWARE_SECTIONS)


@dataclass(frozen=True)
class Job:
    """One workload, and what is tuned for it."""

    name: str
    weight: float
    template: Mapping[str, Any]
    """The sections that are not decided, with their holes."""
    places: Mapping[Path, Path]
    """Where its sections, and what is changed in them, stand in the file."""

    def place(self, path: Path) -> Path:
        """The place in the file of a path of one of this job's designs."""
        return _place(self.places, path)


@dataclass(frozen=True)
class WrittenJob:
    """A workload as it is written: sections whose holes are not read yet; else as `Job`."""

    name: str
    weight: float
    sections: Mapping[str, Any]
    places: Mapping[Path, Path]


def _place(places: Mapping[Path, Path], path: Path) -> Path:
    for end in range(len(path), 0, -1):
        if path[:end] in places:
            return (*places[path[:end]], *path[end:])
    return path


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
    several = "workloads" in data or "futures" in data
    if settings.decide is not None:
        # The price list goes with what is priced; with the cluster what fails of it, and the storage bought for that.
        shared = (*settings.decide, "cost", "reliability")
        return tuple(dict.fromkeys(shared)) if settings.decide or several else ()
    return ("cluster", "cost", "reliability", "parallelism", "system", "software") if several else ()


@dataclass(frozen=True)
class Jobs:
    """The workloads of a space, as they are written, and how to read more of them."""

    data: Mapping[str, Any]
    decided: tuple[str, ...]
    """Sections that all of them share."""
    written: tuple[WrittenJob, ...] = ()

    def read(self, job: WrittenJob, problems: list[Problem]) -> Job:
        """The workload with its holes as objects."""
        found: list[Problem] = []
        template = {key: parse_template(value, (key,), found) for key, value in job.sections.items()}
        problems += [replace(problem, path=_place(job.places, problem.path)) for problem in found]
        return Job(job.name, job.weight, template, job.places)

    def write(self, entry: Mapping[str, Any], place: Path, index: int, problems: list[Problem]) -> WrittenJob:
        """The workload of an entry of a list."""
        problems += _entry_problems(entry, place, self.decided)
        name = read_name(entry, str(_name(entry) or f"workload {index + 1}"), place, problems)
        return self._write(name, read_weight(entry, place, problems), entry, place)

    def alone(self) -> WrittenJob:
        """The workload that the space has at its top."""
        return self._write(str(_name(self.data) or "workload"), 1.0, {}, ())

    def _write(self, name: str, weight: float, entry: Mapping[str, Any], place: Path) -> WrittenJob:
        """A workload with its own sections, and for the others those of the whole space."""
        sections: dict[str, Any] = {}
        places: dict[Path, Path] = {}
        for section in SECTIONS:
            own = section in entry
            if section not in self.decided and (own or section in self.data):
                places[(section,)] = (*place, section) if own else (section,)
                sections[section] = entry[section] if own else self.data[section]
        return WrittenJob(name, weight, sections, places)


def write_jobs(data: Mapping[str, Any], decided: tuple[str, ...], problems: list[Problem]) -> Jobs:
    """The workloads of a space that shares `decided`; what is wrong is added to `problems`.

    None where the space has neither `workload` nor `workloads`, and `futures` that list their own.
    """
    jobs = Jobs(data, decided)
    if "cluster" not in decided:
        fix = "e.g. decide: [cluster]"
        found = ", ".join(section for section in decided if section not in ("cost", "reliability")) or "nothing"
        problems.append(Problem(("study", "decide"), "the cluster among what is decided", found, fix))
    if "workloads" not in data:
        return jobs if "futures" in data and "workload" not in data else replace(jobs, written=(jobs.alone(),))
    listed = data["workloads"]
    if "workload" in data:
        problems.append(Problem(("workload",), "either 'workload' or 'workloads'", "both", "drop one"))
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        what = "a list of workloads, each {name, weight, workload, parallelism, system, software}"
        problems.append(Problem(("workloads",), what, repr(listed)[:60]))
        return jobs
    written = tuple(jobs.write(entry, ("workloads", index), index, problems) for index, entry in enumerate(listed))
    for index, job in enumerate(written):
        if any(other.name == job.name for other in written[:index]):
            fix = "give each workload a 'name'"
            problems.append(Problem(("workloads", index, "name"), "each name once", f"a second '{job.name}'", fix))
    return replace(jobs, written=written)


def read_weight(entry: Mapping[str, Any], place: Path, problems: list[Problem], usual: float = 1.0) -> float:
    """The weight of an entry; `usual` where it has none."""
    weight = entry.get("weight", usual)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        problems.append(Problem((*place, "weight"), "a number above 0", repr(weight)))
        return usual
    return float(weight)


def read_name(entry: Mapping[str, Any], usual: str, place: Path, problems: list[Problem]) -> str:
    """The name of an entry; `usual` where it has none."""
    name = entry.get("name", usual)
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        problems.append(Problem((*place, "name"), "a name in text", repr(name)))
        return usual
    return name


def unknown_key_problems(entry: Mapping[str, Any], known: Sequence[str], place: Path, what: str) -> Iterator[Problem]:
    """The problem of each key that `what` does not have."""
    for key in entry:
        if key not in known:
            fix = suggest_nearest(str(key), known) or f"known keys: {', '.join(known)}"
            yield Problem((*place, key), f"a key of {what}", f"'{key}'", fix)


def _entry_problems(entry: Mapping[str, Any], place: Path, decided: tuple[str, ...]) -> Iterator[Problem]:
    yield from unknown_key_problems(entry, _ENTRY_KEYS, place, "a workload")
    for key in decided:
        if key in entry and key in _ENTRY_KEYS:
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
