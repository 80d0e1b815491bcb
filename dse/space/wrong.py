"""What is wrong with the designs of a space, told before the search and not in the middle of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.space.constraint import Constraint, memory_problems
from dse.space.fill import FilledDocument
from dse.space.objective import Objective
from dse.space.screen import design_problems
from dse.space.split.solve import unsolvable_problems
from dse.space.stack import HAS_MODEL, MADE_FOR, TRAINS
from dse.space.variations import variations
from simcore.check.check import OTHER_NPUS
from simcore.check.compute import OPERATOR_TIMES
from simcore.check.load import parse_design
from simcore.document.problem import UNKNOWN_KEY, Path, Problem, Refusal
from simcore.metrics import METRICS
from simcore.workload.rules import UNUSED
from simcore.workload.trace.check import RECORDED_TIMES
from simcore.workload.trace.plan import RANKS

_FATAL_RULES = (MADE_FOR, TRAINS, HAS_MODEL, OTHER_NPUS, UNUSED, OPERATOR_TIMES, RANKS, RECORDED_TIMES)
"""Rules that no other value of a hole mends, where every alternative breaks them."""
_GIVE = {"output_length": "prompt_length and output_length", "training_tokens": "training_tokens, e.g. 300e9"}
"""Keys of a workload that metrics need, and how to give them."""


def problems_of_designs(
    template: Any, constraints: Sequence[Constraint], objectives: Sequence[Objective]
) -> list[Problem]:
    """Problems of form in any alternative, of meaning that no alternative escapes, of constraints without a value."""
    problems: dict[Problem, None] = {}
    meaning: list[set[str]] = []
    kept: dict[str, Problem] = {}
    for filled in variations(template, problems):
        design, broken = parse_design(filled.document)
        for problem in broken:
            problems[_locate_in_file(problem, filled)] = None
        if design is None:
            continue
        for problem in _unanswerable_problems(constraints, objectives, design.document()):
            problems[problem] = None
        found = {str(problem): problem for problem in design_problems(design)}
        for text, problem in found.items():
            if problem.path == ("system", "collective"):
                problems[replace(problem, path=filled.source(problem.path))] = None
            kept[text] = replace(problem, path=filled.source(problem.path))
        meaning.append({problem.rule for problem in found.values()})
        if filled.solved and not found:
            for problem in unsolvable_problems(design):
                problems[replace(problem, path=filled.source(problem.path))] = None
    common = set.intersection(*meaning) if meaning else set()
    fatal = common.intersection(_FATAL_RULES)
    for rule in sorted(fatal):
        problems[next(problem for problem in kept.values() if problem.rule == rule)] = None
    return _told_once(problems)


def problems_elsewhere(template: Any, known: Sequence[Problem]) -> list[Problem]:
    """Problems of form beside those of holes that cannot be read, which are nothing in the template."""
    problems: dict[Problem, None] = {}
    split_unread = any(problem.path[:2] == ("cluster", "bandwidth") for problem in known)
    for filled in variations(template):
        for problem in (_locate_in_file(broken, filled) for broken in parse_design(filled.document)[1]):
            own = problem.expected == UNKNOWN_KEY and len(problem.path) == 1  # a section, whatever it holds
            follows = any(_is_inside(problem.path, its.path) or _is_inside(its.path, problem.path) for its in known)
            if (own or not follows) and not (split_unread and problem.path[-1] == "bandwidth"):
                problems[problem] = None
    return _told_once(problems)


def _told_once(problems: Mapping[Problem, None]) -> list[Problem]:
    """One mistake shows with every value that is drawn around it."""
    return list({(problem.path, problem.expected): problem for problem in reversed([*problems])}.values())[::-1]


def _mend_lacking(key: str, workloads: Sequence[Mapping[str, Any]]) -> str:
    """What helps where workloads lack a key that a metric needs."""
    if key == "training_tokens" and any(workload.get("output_length") for workload in workloads):
        return "drop it: a model that is served is not trained"
    return f"give the workload {_GIVE.get(key, key)}, or drop it"


def _is_inside(path: Path, whole: Path) -> bool:
    return path[: len(whole)] == whole


def _locate_in_file(problem: Problem, filled: FilledDocument) -> Problem:
    """The problem of a filled document at its place in the file; an unknown key is at fault, whatever it holds."""
    if problem.expected == UNKNOWN_KEY:
        return replace(problem, path=(*filled.source(problem.path[:-1]), problem.path[-1]))
    _, whole, size = problem.expected.partition("whole groups of ")
    if whole and "cluster.npus" in filled.params and "cluster.npus" not in filled.choices:
        place = (*filled.source(("cluster",)), "npus")
        return replace(problem, path=place, found=f"{problem.found} of its range", fix=f"give the range 'step: {size}'")
    return replace(problem, path=filled.source(problem.path))


def _absent_problems(place: Path, names: Iterable[str], lacking: Mapping[str, str]) -> list[Problem]:
    """A problem for each metric that a workload lacks; `lacking` says what helps."""
    expected = "a metric that every workload of the space has"
    return [Problem(place, expected, f"'{name}'", lacking[name]) for name in names if name in lacking]


def _unanswerable_problems(
    constraints: Sequence[Constraint], objectives: Sequence[Objective], document: Mapping[str, Any]
) -> Iterator[Problem]:
    """Constraints and objectives that have no value for a design, whatever its metrics."""
    workloads = [each["workload"] for each in document.get("jobs", [document])]
    lacking = {
        name: _mend_lacking(metric.needs, workloads)
        for name, metric in METRICS.items()
        if metric.needs and any(workload.get(metric.needs) is None for workload in workloads)
    }
    metrics = {name: None if name in lacking else 1.0 + 0.137 * index for index, name in enumerate(METRICS, 1)}
    for objective in objectives:
        place = ("objectives", objective.direction)
        absent = _absent_problems(place, objective.names, lacking)
        yield from absent
        if not absent:
            try:
                objective.value(metrics, document)
            except Refusal as refusal:
                yield replace(refusal.at(place), found=f"{refusal.found} for '{objective.name}'")
    yield from memory_problems(constraints, document)
    for index, constraint in enumerate(constraints):
        where = ("constraints", index)
        absent = _absent_problems(where, constraint.metrics, lacking)
        yield from absent
        if absent:
            continue
        try:
            constraint.measure_violation(metrics, document)
        except Refusal as refusal:
            yield replace(refusal.at(where), found=f"{refusal.found} in '{constraint.name}'")
