"""Futures that a cluster is bought for: `futures` of a space, each a probability and what it changes.

A future is expanded into weighted workloads: those of the space with its `change`, or its own list. Workloads that are
the same in several futures are one job, so each is tuned once on a cluster. `years` are those of the cluster's life in
which the change holds; in the others the workloads are those of the space.
"""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from dse.space.hole import KINDS_OF_HOLE
from dse.space.jobs import Job, Jobs, WrittenJob, read_name, read_weight, unknown_key_problems
from dse.space.sections import SOFTWARE_SECTIONS
from dse.space.stack import usual_stack
from simcore.design.change import assign, parse_path
from simcore.design.prices import NamedPrices, PriceList
from simcore.design.reliability import usual_reliability
from simcore.design.software import usual_software
from simcore.document.problem import Path, Problem, format_path, suggest_nearest

YEAR = 365 * 86400.0
"""Seconds of a year, as quantities have it."""
_BOUGHT = ("cost", "reliability")
"""Sections that go with the cluster, and may be other ones in a future all the same."""
_KEYS = ("name", "weight", "change", "workloads", "years")
_CHANGED = (*SOFTWARE_SECTIONS, *_BOUGHT)
"""Sections in which a future may change something."""
_PRICES: TypeAdapter[PriceList] = TypeAdapter(NamedPrices)


@dataclass(frozen=True)
class Future:
    """One future: how likely it is, and the mix of workloads that the cluster runs in it."""

    name: str
    weight: float
    """Its probability; those of all futures add up to 1."""
    shares: tuple[float, ...]
    """Share of each job of the space; they add up to 1."""
    years: tuple[float, float] | None = None
    """Years of the cluster's life in which its change holds; None: in all."""
    changed: tuple[float, ...] = ()
    """Shares of the jobs in these years."""
    before: tuple[float, ...] = ()
    """Shares of the jobs in the other years."""


@dataclass(frozen=True)
class _Mix:
    """A future as it is written: its workloads with their weights, and those of the years in which it does not hold."""

    name: str
    weight: float
    held: tuple[WrittenJob, ...]
    base: tuple[WrittenJob, ...]
    years: tuple[float, float] | None
    life: float


def parse_futures(
    data: Mapping[str, Any], jobs: Jobs, problems: list[Problem], unread: list[Problem]
) -> tuple[tuple[Job, ...], tuple[Future, ...]]:
    """The jobs of all futures, each once, and the futures.

    What is wrong is added to `problems`; what is wrong with a hole of a job, which can then not be filled, to `unread`.
    The weight of a job is what it is expected to have: its share in each future times that future's probability.
    """
    listed = data["futures"]
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        what = "a list of futures, each {name, weight, change, workloads, years}"
        problems.append(Problem(("futures",), what, "none" if listed == [] else repr(listed)[:60]))
        return (), ()
    mixes = [_parse_future(index, entry, data, jobs, problems) for index, entry in enumerate(listed)]
    for index, mix in enumerate(mixes):
        if any(other.name == mix.name for other in mixes[:index]):
            fix = "give each future a 'name'"
            problems.append(Problem(("futures", index, "name"), "each name once", f"a second '{mix.name}'", fix))
    found = _expand(mixes, jobs, unread)
    for index, (_, future) in enumerate(zip(mixes, found[1], strict=True)):
        same = next((other for other in found[1][:index] if other.shares == future.shares), None)
        if same is not None and future.shares and not problems:
            fix = "add their weights, or change something in one"
            problems.append(
                Problem(("futures", index), "futures that differ", f"'{future.name}' as '{same.name}'", fix)
            )
    return found


def _expand(mixes: list[_Mix], jobs: Jobs, problems: list[Problem]) -> tuple[tuple[Job, ...], tuple[Future, ...]]:
    distinct = _name_distinct(mixes, jobs)
    places = {identity: place for place, identity in enumerate(distinct)}
    total = sum(mix.weight for mix in mixes)
    futures = tuple(_weigh(mix, places, total) for mix in mixes)
    weights = [sum(f.weight * f.shares[place] for f in futures) for place in range(len(places))]
    read = [jobs.read(replace(job, weight=w), problems) for job, w in zip(distinct.values(), weights, strict=True)]
    return tuple(read), futures


def _name_distinct(mixes: list[_Mix], jobs: Jobs) -> dict[str, WrittenJob]:
    """The workloads of all futures, each once; those that are not as the space has them are named with a future."""
    found: dict[str, tuple[WrittenJob, str]] = {}
    for mix in mixes:
        for job in (*(mix.base if mix.years else ()), *mix.held):
            found.setdefault(_identity(job), (job, mix.name))
    names = Counter(job.name for job, _ in found.values())
    usual = {_identity(job) for job in jobs.written}
    return {
        identity: job if identity in usual or names[job.name] == 1 else replace(job, name=f"{job.name}, {future}")
        for identity, (job, future) in found.items()
    }


def _weigh(mix: _Mix, places: Mapping[str, int], total: float) -> Future:
    changed = _shares(mix.held, places)
    if mix.years is None:
        return Future(mix.name, mix.weight / total, changed)
    before = _shares(mix.base, places)
    share = (mix.years[1] - mix.years[0]) / mix.life
    mean = tuple(share * held + (1 - share) * other for held, other in zip(changed, before, strict=True))
    return Future(mix.name, mix.weight / total, mean, mix.years, changed, before)


def _shares(jobs: tuple[WrittenJob, ...], places: Mapping[str, int]) -> tuple[float, ...]:
    shares, total = [0.0] * len(places), sum(job.weight for job in jobs)
    for job in jobs:
        shares[places[_identity(job)]] += job.weight / total
    return tuple(shares)


def _identity(job: WrittenJob) -> str:
    return json.dumps(job.sections, sort_keys=True, default=str)


def _parse_future(
    index: int, entry: Mapping[str, Any], data: Mapping[str, Any], jobs: Jobs, problems: list[Problem]
) -> _Mix:
    place: Path = ("futures", index)
    problems += unknown_key_problems(entry, _KEYS, place, "a future")
    name = read_name(entry, f"future {index + 1}", place, problems)
    weight = read_weight(entry, place, problems)
    base = jobs.written
    held = _own_workloads(entry["workloads"], place, jobs, problems) if "workloads" in entry else base
    if not held and "workloads" not in entry:
        fix = "add 'workloads' to the future, or 'workload' to the space"
        problems.append(Problem(place, "workloads to run", "none", fix))
    change = _read_change(entry, place, jobs, problems)
    held = tuple(_changed(job, change, (*place, "change"), data, problems) for job in held)
    years, life = _read_years(entry, place, bool(base), data, problems)
    return _Mix(name, weight, held, base, years, life)


def _own_workloads(listed: Any, place: Path, jobs: Jobs, problems: list[Problem]) -> tuple[WrittenJob, ...]:
    """The workloads that a future lists; one without a `workload` is that of its name in the space."""
    inside = (*place, "workloads")
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        what = "a list of workloads, each {name, weight, change, workload, parallelism, system, software}"
        problems.append(Problem(inside, what, repr(listed)[:60]))
        return ()
    known = {job.name: job for job in jobs.written}
    found: list[WrittenJob] = []
    for index, entry in enumerate(listed):
        at: Path = (*inside, index)
        if "workload" in entry:
            job = jobs.write({key: value for key, value in entry.items() if key != "change"}, at, index, problems)
        elif entry.get("name") in known:
            problems += unknown_key_problems(entry, ("name", "weight", "change"), at, "a workload of the space")
            job = known[entry["name"]]
            job = replace(job, weight=read_weight(entry, at, problems, usual=job.weight))
        else:
            fix = suggest_nearest(str(entry.get("name")), known) or "add 'workload'"
            what = "a 'workload', or the name of one of the space"
            problems.append(Problem(at, what, f"'{entry.get('name')}'" if "name" in entry else "neither", fix))
            continue
        if any(other.name == job.name for other in found):
            problems.append(Problem((*at, "name"), "each name once", f"a second '{job.name}'"))
        change = _read_change(entry, at, jobs, problems)
        found.append(_changed(job, change, (*at, "change"), jobs.data, problems))
    return tuple(found)


def _read_change(entry: Mapping[str, Any], place: Path, jobs: Jobs, problems: list[Problem]) -> dict[str, Any]:
    """The changes of a future or of one of its workloads, by paths that may be changed."""
    change = entry.get("change", {})
    if not isinstance(change, dict) or ("change" in entry and not change):
        what = "a mapping of paths to values, e.g. {workload.sequence_length: 131072}"
        problems.append(Problem((*place, "change"), what, repr(change)[:60]))
        return {}
    wrong = [problem for text in change for problem in _path_problems(str(text), (*place, "change", text), jobs)]
    problems += wrong
    said = {problem.path[-1] for problem in wrong}
    return {text: value for text, value in change.items() if text not in said}


def _path_problems(text: str, place: Path, jobs: Jobs) -> Iterator[Problem]:
    path = parse_path(text)
    if path is None:
        yield Problem(place, "a path such as workload.sequence_length", f"'{text}'")
    elif path[0] in jobs.decided and path[0] not in _BOUGHT:
        fix = f"take '{path[0]}' out of study.decide" if path[0] != "cluster" else "a future changes what runs on it"
        yield Problem(place, "a path that is not decided for all workloads", f"'{text}'", fix)
    elif path[0] not in _CHANGED:
        fix = suggest_nearest(str(path[0]), _CHANGED) or f"one of {', '.join(_CHANGED)}"
        yield Problem(place, "a path of a workload, of prices or of reliability", f"'{text}'", fix)


def _changed(
    job: WrittenJob, change: Mapping[str, Any], place: Path, data: Mapping[str, Any], problems: list[Problem]
) -> WrittenJob:
    """The workload with every change made."""
    if not change:
        return job
    sections, places = copy.deepcopy(dict(job.sections)), dict(job.places)
    for text, value in change.items():
        path = parse_path(text)
        assert path is not None
        section = str(path[0])
        if section not in sections:
            usual = _DEFAULTS[section](data) if section in _DEFAULTS else {}
            sections[section] = copy.deepcopy(data.get(section, usual))
            places[(section,)] = (section,)
        hole = _hole_on(sections, path)
        wrong = None if hole is None else Problem((), "a path without a hole on its way", f"one at {format_path(hole)}")
        wrong = wrong or assign(sections, path, copy.deepcopy(value))
        if wrong is not None:
            problems.append(replace(wrong, path=(*place, text)))
        places[path] = (*place, text)
    return replace(job, sections=sections, places=places)


_DEFAULTS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "cost": lambda data: "libra",
    "software": lambda data: usual_stack(data) or usual_software().name,
    "reliability": lambda data: usual_reliability().name,
}
"""What a document means where it has no such section, by the document."""


def _hole_on(sections: Mapping[str, Any], path: Path) -> Path | None:
    """The place of the first hole above the end of a path."""
    value: Any = sections
    for depth, part in enumerate(path[:-1], 1):
        value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, dict) and any(kind in value for kind in KINDS_OF_HOLE):
            return path[:depth]
    return None


def _read_years(
    entry: Mapping[str, Any], place: Path, has_base: bool, data: Mapping[str, Any], problems: list[Problem]
) -> tuple[tuple[float, float] | None, float]:
    """The years in which a future holds, and those of the cluster's life; None: all of them."""
    if "years" not in entry:
        return None, math.inf
    life, years, at = life_of(data), entry["years"], (*place, "years")
    if life is None:
        fix = "give 'cost' a price list without holes"
        problems.append(Problem(at, "years of a lifetime that is known", repr(years), fix))
    elif not has_base:
        fix = "add 'workload' or 'workloads' to the space"
        problems.append(Problem(at, "workloads of the space for the other years", "none", fix))
    elif not _is_span(years, life):
        what = f"the first year and the last, from 0 to the lifetime of {life:g} (cost.lifetime)"
        problems.append(Problem(at, what, repr(years), f"e.g. [{life / 2:g}, {life:g}]"))
    else:
        first, last = years
        return (None if (first, last) == (0, life) else (float(first), float(last))), life
    return None, math.inf


def _is_span(years: Any, life: float) -> bool:
    if not isinstance(years, list) or len(years) != 2:
        return False
    if any(isinstance(year, bool) or not isinstance(year, int | float) for year in years):
        return False
    return bool(0 <= years[0] < years[1] <= life)


def life_of(data: Mapping[str, Any]) -> float | None:
    """The years over which the price list writes a cluster off; None where it is not known."""
    try:
        return _PRICES.validate_python(data.get("cost", "libra")).lifetime / YEAR
    except ValidationError:
        return None
