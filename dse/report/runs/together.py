"""The fronts of several runs as one: against one reference point, with the designs that they share.

The reference point is 1.1 x the worst value of each objective over all members of the fronts, unless all runs were
given the same one. A design is known by its complete document, whichever run proposed it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import front_mask, hypervolume, reference_point
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.runs.effects import Effect, effects_of
from dse.report.runs.settings import Setting, differing_settings
from dse.space.objective import Objective, losses
from simcore.document.problem import InputError, Problem

_LEVELS = 4
"""Values of the second objective at which runs are compared in the first."""


@dataclass(frozen=True)
class RunSide:
    """One run: what it is called, its record, its `study.yaml`."""

    name: str
    folder: str
    record: StudyRecord
    study: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunFront:
    """The front of one run among those of all."""

    hypervolume: float
    surviving: tuple[int, ...]
    """Trials of its front that no design of another run dominates."""
    only_here: tuple[int, ...]
    """Trials of its front whose designs no other run has evaluated."""
    best: Mapping[str, TrialRecord]
    """Objective -> its best trial; empty where nothing is feasible."""


@dataclass(frozen=True, slots=True)
class CommonDesign:
    """A design that several runs evaluated and one or more have on their fronts."""

    trials: Mapping[str, int]
    """Run -> its trial."""
    on_front: tuple[str, ...]
    """Runs on whose fronts it is."""


@dataclass(frozen=True)
class Together:
    """Several runs compared."""

    runs: tuple[RunSide, ...]
    objectives: tuple[Objective, ...]
    reference: tuple[float, ...]
    """In the objectives' own directions; empty where nothing is feasible."""
    fronts: tuple[RunFront, ...]
    union: tuple[tuple[str, TrialRecord], ...]
    """The front of all runs together, by the first objective: run and trial; one of designs that are equal."""
    union_hypervolume: float
    common: tuple[CommonDesign, ...]
    shared: int
    """Designs that two or more runs evaluated, on a front or not."""
    changed: tuple[int, float]
    """How many of these have other values in another run, and the largest difference as a share."""
    levels: tuple[tuple[float, tuple[float | None, ...]], ...]
    """With two objectives: a limit on the second, and the best of the first within it, by run."""
    settings: tuple[Setting, ...]
    effects: tuple[Effect, ...]


def set_side_by_side(runs: Sequence[RunSide]) -> Together:
    """Compare runs.

    Raises `InputError` where their objectives differ, naming those of each.
    """
    objectives = _common_objectives(runs)
    fronts = [run.record.front for run in runs]
    members = [(run.name, trial) for run, front in zip(runs, fronts, strict=True) for trial in front]
    matrix = _losses(objectives, [trial for _, trial in members])
    reference = _reference(runs, objectives, matrix)
    kept = front_mask(matrix) if len(members) else np.zeros(0, bool)
    union = _distinct([pair for pair, keep in zip(members, kept, strict=True) if keep], objectives)
    keys = {run.name: {design_key(trial): trial for trial in run.record.trials if trial.design} for run in runs}
    surviving = {(name, trial.number) for (name, trial), keep in zip(members, kept, strict=True) if keep}
    volume = _volume(objectives, [trial for _, trial in union], reference)
    shared = _shared(keys)
    return Together(
        runs=tuple(runs),
        objectives=objectives,
        reference=tuple(o.sign * float(x) for o, x in zip(objectives, reference, strict=False)),
        fronts=tuple(_front(run, objectives, reference, surviving, keys) for run in runs),
        union=union,
        union_hypervolume=volume,
        common=_common(runs, keys),
        shared=len(shared),
        changed=_changed(objectives, shared),
        levels=_levels(objectives, fronts, [trial for _, trial in union]),
        settings=differing_settings({run.name: run.study for run in runs}),
        effects=effects_of(objectives, _feasible(runs), {design_key(trial) for _, trial in union}, reference, volume),
    )


def design_key(trial: TrialRecord) -> str:
    """The identity of a trial's design, of all its workloads."""
    return json.dumps([part.design for _, part in trial.parts], sort_keys=True)


def _feasible(runs: Sequence[RunSide]) -> dict[str, list[TrialRecord]]:
    """The feasible trials of all runs by their design."""
    found: dict[str, list[TrialRecord]] = {}
    for run in runs:
        for trial in run.record.feasible_trials:
            found.setdefault(design_key(trial), []).append(trial)
    return found


def _common_objectives(runs: Sequence[RunSide]) -> tuple[Objective, ...]:
    asked = [{(o.name, o.direction) for o in run.record.objectives} for run in runs]
    if any(names != asked[0] for names in asked):
        told = "; ".join(
            f"{run.name}: {', '.join(f'{o.direction} {o.name}' for o in run.record.objectives)}" for run in runs
        )
        raise InputError([Problem(("RUN",), "runs with the same objectives", told)], "command line")
    return runs[0].record.objectives


def _losses(objectives: Sequence[Objective], trials: Sequence[TrialRecord]) -> NDArray[np.float64]:
    return losses(tuple(objectives), [trial.values for trial in trials])


def _reference(
    runs: Sequence[RunSide], objectives: Sequence[Objective], matrix: NDArray[np.float64]
) -> NDArray[np.float64]:
    given = [run.record.given_reference for run in runs]
    if given[0] is not None and all(point == given[0] for point in given):
        found: NDArray[np.float64] = losses(tuple(objectives), [given[0]])[0]
        return found
    return reference_point(matrix) if len(matrix) else np.zeros(0)


def _volume(objectives: Sequence[Objective], trials: Sequence[TrialRecord], reference: NDArray[np.float64]) -> float:
    return hypervolume(_losses(objectives, trials), reference) if trials else 0.0


def _distinct(
    members: Sequence[tuple[str, TrialRecord]], objectives: Sequence[Objective]
) -> tuple[tuple[str, TrialRecord], ...]:
    """Members of the union by the first objective, each design once: that of the first run that has it."""
    seen: dict[str, tuple[str, TrialRecord]] = {}
    for name, trial in members:
        seen.setdefault(design_key(trial), (name, trial))
    return tuple(sorted(seen.values(), key=lambda pair: objectives[0].sign * pair[1].values[objectives[0].name]))


def _front(
    run: RunSide,
    objectives: Sequence[Objective],
    reference: NDArray[np.float64],
    surviving: set[tuple[str, int]],
    keys: Mapping[str, Mapping[str, TrialRecord]],
) -> RunFront:
    front = run.record.front
    others = {key for name, known in keys.items() if name != run.name for key in known}
    best = {o.name: min(front, key=lambda t, o=o: o.sign * t.values[o.name]) for o in objectives} if front else {}  # type: ignore[misc]
    return RunFront(
        hypervolume=_volume(objectives, front, reference),
        surviving=tuple(trial.number for trial in front if (run.name, trial.number) in surviving),
        only_here=tuple(trial.number for trial in front if design_key(trial) not in others),
        best=best,
    )


def _shared(keys: Mapping[str, Mapping[str, TrialRecord]]) -> list[list[TrialRecord]]:
    """The trials of each design that two or more runs evaluated."""
    found: dict[str, list[TrialRecord]] = {}
    for known in keys.values():
        for key, trial in known.items():
            found.setdefault(key, []).append(trial)
    return [trials for trials in found.values() if len(trials) > 1]


def _common(runs: Sequence[RunSide], keys: Mapping[str, Mapping[str, TrialRecord]]) -> tuple[CommonDesign, ...]:
    fronts = {run.name: {trial.number for trial in run.record.front} for run in runs}
    found = []
    for key in dict.fromkeys(design_key(trial) for run in runs for trial in run.record.front):
        trials = {name: known[key].number for name, known in keys.items() if key in known}
        if len(trials) > 1:
            found.append(CommonDesign(trials, tuple(name for name, n in trials.items() if n in fronts[name])))
    return tuple(found)


def _changed(objectives: Sequence[Objective], shared: Sequence[Sequence[TrialRecord]]) -> tuple[int, float]:
    """How many shared designs have other values, and the largest difference as a share."""
    apart = []
    for trials in shared:
        for objective in objectives:
            values = [trial.values[objective.name] for trial in trials if objective.name in trial.values]
            size = max(map(abs, values), default=0.0)
            apart.append((id(trials), (max(values) - min(values)) / size if size else 0.0))
    return len({design for design, share in apart if share > 0}), max((share for _, share in apart), default=0.0)


def _levels(
    objectives: Sequence[Objective], fronts: Sequence[Sequence[TrialRecord]], union: Sequence[TrialRecord]
) -> tuple[tuple[float, tuple[float | None, ...]], ...]:
    """At some limits of the second objective, spread evenly over the union, the best of the first within it."""
    if len(objectives) != 2 or not union:
        return ()
    first, second = objectives
    ranked = sorted(second.sign * trial.values[second.name] for trial in union)
    places = np.linspace(0, len(ranked) - 1, min(_LEVELS, len(ranked))).round().astype(int)
    limits = dict.fromkeys(ranked[place] for place in places)
    rows = []
    for limit in limits:
        within = [[t for t in front if second.sign * t.values[second.name] <= limit] for front in fronts]
        best = [min((first.sign * t.values[first.name] for t in found), default=None) for found in within]
        rows.append((second.sign * limit, tuple(None if x is None else first.sign * x for x in best)))
    return tuple(rows)
