"""A space: a design document with holes, objectives, constraints, and how to search it.

`Space.fill(draw)` gives one design document; `Space.enumerate()` every one of a finite space. A space is checked when
it is loaded: every alternative of every choice once, so that a wrong unit in the third alternative is found before
the search and not in the middle of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from dse.space.asked import names_in
from dse.space.batches import settle_jobs
from dse.space.by_parts import split_problems
from dse.space.constraint import Constraint, add_fits, parse_constraints
from dse.space.draw import Draw, FixedDraw, Odometer
from dse.space.facts import fact_notices
from dse.space.fill import FilledDocument, fill_template, has_solved_split, template_count
from dse.space.free import free_holes
from dse.space.futures import Future, life_of, parse_futures
from dse.space.hole import Choice, Split
from dse.space.jobs import SECTIONS, Job, decided_sections, is_software, strip_software, write_jobs
from dse.space.misspelt import add_misspelt_holes
from dse.space.objective import Objective, direction_notices, parse_objectives, speed_notices
from dse.space.order import KEY, ORDERABLE, Hypothetical, said_problems, stance_of
from dse.space.phases import Plan, parse_plans
from dse.space.precisions import peak_notices
from dse.space.settings import StudySettings, parse_settings
from dse.space.split.bandwidth import SplitGoal
from dse.space.template import parse_template
from dse.space.usual_prices import price_notices
from dse.space.wrong import problems_elsewhere, problems_of_designs
from simcore.catalog.entries import add_unknown_entries
from simcore.design.include import include_files
from simcore.document.field import is_one_line
from simcore.document.problem import InputError, Problem, Refusal
from simcore.document.text import Document, plain_document, read_document
from simcore.metrics import exponent_of

_NO_DESIGN = ("objectives", "constraints", "study")
"""Keys that say nothing of designs."""


@dataclass(frozen=True)
class Space:
    """What may vary, what is wanted, what must hold."""

    name: str
    template: Mapping[str, Any]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    settings: StudySettings
    source: Mapping[str, Any]
    """The document as it was written, for `study.yaml`."""
    jobs: tuple[Job, ...] = ()
    """The workloads that the template, then only what is decided for all of them, is tuned for (`dse.buy`)."""
    futures: tuple[Future, ...] = ()
    """The futures that the jobs come from, where several are listed."""
    plans: tuple[Plan, ...] = ()
    """In which phases its clusters may be bought; see `dse.space.phases`."""
    hypothetical: Hypothetical = ""
    """Why its clusters may be ones that nobody sells; empty where those are cut."""
    notices: tuple[str, ...] = ()
    """What whoever reads an answer of this space has to know, a sentence or two each."""
    file: str = ""
    """The file that it was read from, as it was named; empty of a mapping."""

    @property
    def shares(self) -> tuple[tuple[float, ...], ...]:
        """The share of each job in each future; empty without futures."""
        return tuple(future.shares for future in self.futures)

    @property
    def plain(self) -> list[Space]:
        """The spaces of whole designs: of each job, or the space itself where there are none."""
        return [self.space_of_job(job) for job in self.jobs] or [self]

    def fill(self, draw: Draw, solve: bool = True) -> FilledDocument:
        """A design document whose live holes are filled from `draw`; with jobs, holes of software stay.

        Splits that are to be solved have equal shares where `solve` is false: solving one takes simulations.

        Raises `InputError` where shares cannot be solved.
        """
        filled = fill_template(self.template, draw, is_software if self.jobs else None)
        if solve and filled.solved:
            from dse.space.split.solve import solve_splits  # it simulates: only spaces that ask for it pay for that

            solve_splits(filled, self.constraints)
        return filled

    def key(self, filled: FilledDocument) -> str:
        """Identity of what was filled: of its canonical design, or of what is decided in it."""
        from dse.space.screen import ScreenedDesign
        from simcore.check.load import parse_sound

        document = filled.document
        if self.jobs:
            document = fill_template({**document, **self.jobs[0].template}, FixedDraw()).document
        design = parse_sound(document)
        if not self.jobs:
            return ScreenedDesign(design, ()).key
        whole = design.document()
        text = json.dumps({section: whole[section] for section in self.template}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def space_of_job(self, job: Job) -> Space:
        """The plain space of one job's designs."""
        template = {**self.template, **job.template}
        return replace(self, name=f"{self.name} ({job.name})", template=template, jobs=(), futures=(), plans=())

    def enumerate(self, odometer: Odometer | None = None) -> Iterator[FilledDocument]:
        """Every combination of a finite space, in order; from that of an `odometer` on.

        Raises `InfiniteError` where a live hole is continuous.
        """
        odometer = odometer or Odometer()
        while True:
            yield self.fill(odometer)
            if not odometer.step():
                return

    def count(self) -> float:
        """Number of combinations, repeats of one design included; infinite where a hole is continuous."""
        return template_count(strip_software(self.template) if self.jobs else self.template)


def load_space(source: str | FilePath | Mapping[str, Any]) -> Space:
    """Read and check a space: that of a YAML file, or the same keys in a mapping, which then names no files of rows.

    Raises `InputError` with every problem in it.
    """
    if isinstance(source, Mapping):
        return space_from(plain_document(source), "space")
    return space_from(read_document(source), FilePath(source).stem)


LONGEST_NAME = 200
"""Bytes of the name of a space: file systems take 255, and the folder of an earlier run ends in a number."""


def check_name(name: str) -> str:
    """The name of a space; raises `Refusal` where it could not be that of one folder below `runs`, and nothing else."""
    is_part = FilePath(name).name == name not in ("", "..") and "\\" not in name
    if is_part and is_one_line(name) and len(name.encode()) <= LONGEST_NAME:
        return name
    expected = f"the name of a folder: a line of at most {LONGEST_NAME} bytes, without slashes"
    raise Refusal(expected, repr(name), "rename the file")


def space_from(document: Document, name: str) -> Space:
    """A checked space from a document; see `load_space`."""
    data, problems = include_files(document.data, document.source or None)
    try:
        check_name(name)
    except Refusal as refusal:
        problems.append(refusal.at(("name",)))
    objectives = parse_objectives(data.get("objectives"), problems)
    constraints = parse_constraints(data.get("constraints", []), problems)
    settings = parse_settings(data.get("study", {}), [objective.name for objective in objectives], problems)
    decided = decided_sections(data, settings)
    of_futures: list[Problem] = []
    jobs, futures = _parse_jobs(data, decided, problems, of_futures)
    problems += said_problems(data)
    problems += free_holes(data)
    elsewhere = (*_NO_DESIGN, KEY, "phases", *(("workloads", "futures", *SECTIONS) if decided else ()))
    written = {key: value for key, value in data.items() if key not in elsewhere or key in decided}
    template = parse_template(written, (), problems)
    plans = _parse_plans(data, template, bool(decided), problems)
    _set_goals(template, objectives, bool(jobs) or "jobs" in template, problems)
    problems += split_problems(template)
    if not _has_holes(problems):
        readable = () if any(problem.path[0] == "constraints" for problem in problems) else constraints
        for job in jobs:
            found = problems_of_designs({**template, **job.template}, readable, objectives)
            problems += [replace(problem, path=job.place(problem.path)) for problem in found]
        if not jobs:
            problems += problems_of_designs(template, readable, objectives)
    elif not jobs:
        problems += problems_elsewhere(template, problems)
    problems += of_futures
    if problems:
        problems = add_unknown_entries(add_misspelt_holes(problems, _design_sections(data)), data)
        once = list({(p.path, p.expected): p for p in reversed(problems)}.values())[::-1] if jobs else problems
        placed = [replace(p, line=p.line or document.line(p.path)) for p in once]
        raise InputError(placed, document.source)
    constraints = add_fits(tuple(replace(c, line=document.line(c.place)) for c in constraints), data)
    stance = stance_of(template, data.get(KEY))
    if stance.problems:
        raise InputError([replace(p, line=document.line(p.path)) for p in stance.problems], document.source)
    if not any(ORDERABLE in constraint.metrics for constraint in constraints):
        constraints = (*stance.constraints, *constraints)
    jobs, of_batches = settle_jobs(template, jobs, objectives)
    facts = fact_notices(template if not jobs else {**template, **jobs[0].template})
    asked = names_in(objectives, constraints)
    # What nobody sells has no price of its own in a list of parts.
    prices = () if stance.hypothetical else price_notices(template, asked)
    paced = (*speed_notices(objectives, names_in((), constraints)), *peak_notices(_templates(template, jobs), asked))
    notices = (*direction_notices(objectives), *paced, *stance.notices, *prices, *of_batches, *facts)
    whole, bought = {**template, **stance.keys}, (jobs, futures, plans)
    said = stance.hypothetical, notices, document.source
    return Space(name, whole, objectives, constraints, settings, data, *bought, *said)


def _templates(template: Mapping[str, Any], jobs: Sequence[Job]) -> Iterator[Mapping[str, Any]]:
    """What has a workload: the template, the jobs side by side in it, or the jobs that a cluster is bought for."""
    yield template
    yield from (job for job in template.get("jobs") or () if isinstance(job, Mapping))
    yield from (job.template for job in jobs)


def _parse_jobs(
    data: Mapping[str, Any], decided: tuple[str, ...], problems: list[Problem], of_futures: list[Problem]
) -> tuple[tuple[Job, ...], tuple[Future, ...]]:
    """What the cluster is bought for; nothing for a plain space. Futures whose jobs can be read are wrong apart."""
    if not decided:
        return (), ()
    jobs = write_jobs(data, decided, problems)
    if "futures" in data:
        return parse_futures(data, jobs, of_futures, problems)
    return tuple(jobs.read(job, problems) for job in jobs.written), ()


def _parse_plans(
    data: Mapping[str, Any], template: Mapping[str, Any], decided: bool, problems: list[Problem]
) -> tuple[Plan, ...]:
    if "phases" in data and not decided:
        fix = "add study: {decide: [cluster]}"
        problems.append(Problem(("phases",), "a space that decides on a cluster", "one that does not", fix))
        return ()
    return parse_plans(data, template.get("cluster"), life_of(data), problems)


def _design_sections(data: Mapping[str, Any]) -> dict[str, Any]:
    """What of a space's document describes designs."""
    return {key: value for key, value in data.items() if key not in _NO_DESIGN}


def _set_goals(
    template: dict[str, Any], objectives: Sequence[Objective], shared: bool, problems: list[Problem]
) -> None:
    """Where shares are solved, solve them for what is wanted: time, time x cost, or one of the two as is drawn."""
    if not has_solved_split(template.get("cluster")):
        return
    if shared:
        found, fix = "solve: true", "leave 'solve' out: the shares are then drawn, and the same for all workloads"
        problems.append(Problem(("cluster", "bandwidth", "solve"), "one workload to solve a split for", found, fix))
    names = {name for objective in objectives for name in objective.names}
    priced = {name for name in names if _is_priced(name)}
    timed = names - priced or not priced
    goals: tuple[SplitGoal, ...] = (*(("time",) if timed else ()), *(("time_cost",) if priced else ()))
    template["cluster"] = _add_goals(template["cluster"], goals)


def _is_priced(name: str) -> bool:
    """Whether a metric goes with the network's price, and is no price of time (of a token, say)."""
    bought = exponent_of(name, "capital") or (exponent_of(name, "tco") and not exponent_of(name, "time"))
    return bool(bought or exponent_of(name, "network") or exponent_of(name, "total"))


def _add_goals(cluster: Any, goals: tuple[SplitGoal, ...]) -> Any:
    if isinstance(cluster, Choice):
        return Choice(tuple(_add_goals(alternative, goals) for alternative in cluster.alternatives))
    split = cluster.get("bandwidth") if isinstance(cluster, dict) else None
    return (
        {**cluster, "bandwidth": replace(split, solve=goals)} if isinstance(split, Split) and split.solve else cluster
    )


def _has_holes(problems: list[Problem]) -> bool:
    """Whether some hole could not be read, so that the template cannot be filled."""
    return any(problem.path and problem.path[0] not in _NO_DESIGN for problem in problems)
