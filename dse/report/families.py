"""The designs of a front as a few families: those of one kind between which the model cannot tell.

The *distance* of two designs counts, in each objective, by how much they differ: in units of `RESOLUTION` where it
depends on the time, of `MATERIAL` elsewhere (prices are exact, but a smaller difference decides nothing); the largest
counts. Times that the scenarios cannot tell apart (`dse.whatif.answers.Scenarios.better` between `TOLD_APART` and its
complement) do not differ. Another network adds 1, another parallelisation adds 1, another stack of software or
precision more than that, and another NPU most of all. Designs within a distance of 1 of one another are a family.

Where these are more than a screen holds (`most_families`), the nearest are joined until they are few enough (complete
linkage), so a family may then hold several kinds. Before that, with two objectives, members that are not worth their
price (`dse.evaluate.pareto.worth_mask`: a percent of one objective buys less than a fifth of one of the other) are made
one family for each end of the front and each NPU.

A study with one objective has one best design. Its families are the kinds: the best feasible design of each, with all
of the kind that are within `RESOLUTION` of it. Of kinds that are worse by more than `FAR`, `FEW` are enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.idling import idling_mask
from dse.evaluate.pareto import worth_mask
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.aspects import UPLINKS, USUAL_SCHEDULE
from dse.report.choice import balanced, recommended, updates_old
from dse.report.describe import compare, headline
from dse.report.nearest import shares_worse
from dse.report.quickest import slower_at_one_price
from dse.report.runnable import runs_otherwise
from dse.report.summary import Summary
from dse.space.objective import Objective
from dse.whatif.machines import machine_of
from simcore.metrics import exponent_of

Matrix = NDArray[np.float64]

FEWEST, MOST = 5, 8
"""Families that one screen holds of many objectives, and of one or two."""
RESOLUTION = 0.025
"""By which share two times must differ: the mean error of jobs left out of the best fit (docs/accuracy.md)."""
RANGED = 2
"""Objectives of which a row says least and most; of more it has its design's: that leaves room for what it is."""
MATERIAL = 0.25
"""By which share anything else must differ."""
FAR, FEW = 0.5, 3
"""By which share a kind is far from the best, and how many kinds are told all the same."""
TOLD_APART = 0.9
"""Share of the scenarios in which one of two designs must be the better one."""
_ASKED = 8
"""Members near the middle of a family of which it is asked whether their stack runs them."""
_TELLING = 4
"""Other aspects that are named of families which the usual ones do not tell apart."""
_LARGEST = 1000
"""Members of a front that are compared with each other; those between them join the nearest."""
_PARTS = (("NPUs", "topology", UPLINKS), ("degrees", "ZeRO"))
KIND = tuple(aspect for part in _PARTS for aspect in part)
"""The aspects of a design in which kinds differ: its network and its parallelism."""
_NAMED = (
    *("precision", "batch", "NPUs", "power cap", "uplinks", "topology", "bandwidth", "degrees", "ZeRO"),
    *("expanded memory", "software"),
)
_OTHER_MACHINE = 2.0
"""What another NPU, stack or precision adds to a distance: it is decided apart, however alike the times are."""
_OTHER_NPU = 1e3
"""What another NPU adds beside: more than objectives do, so that no row hides an NPU while there are rows enough."""
_MORE = 2
"""Families that are told beyond the usual number where designs have several machines, stacks or precisions."""
IDLE = "slower to save power alone"
"""What a family of designs is called that only save electricity."""
_LARGEST_LOG = 7.0
_LOOKED_AT = 20_000
"""The best designs of a study with one objective, among which kinds are looked for."""


@dataclass(frozen=True, slots=True)
class Family:
    """Designs that a reader may take as one."""

    trials: tuple[int, ...]
    """Their numbers, in the order of the front."""
    chosen: int
    """The one that stands for them: the recommended design or the knee if it is here, else the best balanced."""
    name: str
    """What the chosen one is, in what tells it from those of other families."""
    low: Mapping[str, float]
    """Objective -> least value, in its own direction and SI units."""
    high: Mapping[str, float]
    behind: bool = False
    """Whether it is the design to build, behind the front."""
    idle: bool = False
    """Whether its designs only save electricity, by taking longer on machines that are paid anyway."""


def families(record: StudyRecord, summary: Summary) -> tuple[Family, ...]:
    """The families of a front, by their best of the first objective; empty where nothing is feasible."""
    if not summary.front:
        return ()
    idle = _idle_groups(record, summary.front)
    apart = {trial.number for group in idle for trial in group}
    busy = tuple(trial for trial in summary.front if trial.number not in apart)
    groups = _kinds(record) if len(record.objectives) == 1 else [*_near_groups(record, summary, busy, len(idle)), *idle]
    chosen = [_choose(record, summary, group) for group in groups]
    found = [_family(record.objectives, *parts) for parts in zip(groups, chosen, _names(chosen), strict=True)]
    found = [replace(family, idle=family.chosen in apart) for family in found]
    return _in_order(record, found, {trial.number: trial for trial in chosen})


def families_with_built(record: StudyRecord, summary: Summary) -> tuple[Family, ...]:
    """The families, and the design to build as one of its own where it is behind the front."""
    found, number = families(record, summary), recommended(record, summary)
    if number is None or any(number in family.trials for family in found):
        return found
    (built,) = record.feasible_trials.numbered_among([number])
    own = _family(record.objectives, [built], built, *_names([built]))
    chosen = record.feasible_trials.numbered_among([*(family.chosen for family in found), number])
    return _in_order(record, [*found, replace(own, behind=True)], {trial.number: trial for trial in chosen})


def _in_order(record: StudyRecord, found: Iterable[Family], chosen: Mapping[int, TrialRecord]) -> tuple[Family, ...]:
    """By what is told of the first objective: the best of a family, of more than `RANGED` objectives its design's."""
    first = record.objectives[0]

    def value(family: Family) -> float:
        if len(record.objectives) > RANGED:
            return first.sign * chosen[family.chosen].values[first.name]
        return min(first.sign * end[first.name] for end in (family.low, family.high))

    return tuple(sorted(found, key=value))


def most_families(objectives: int) -> int:
    """How many families one screen holds: each objective has a column, and sentences."""
    return max(FEWEST, min(MOST, MOST - 2 * (objectives - 2)))


def is_joined(record: StudyRecord, summary: Summary, family: Family) -> bool:
    """Whether a family holds designs that differ by more than a family's, because there is room for few."""
    members = record.feasible_trials.numbered_among(family.trials[:_LARGEST])
    return bool((distances(record, summary, members, members) > 1).any())


def _family(objectives: Sequence[Objective], group: Sequence[TrialRecord], chosen: TrialRecord, name: str) -> Family:
    values = {o.name: [trial.values[o.name] for trial in group] for o in objectives}
    low, high = ({name: end(found) for name, found in values.items()} for end in (min, max))
    return Family(tuple(trial.number for trial in group), chosen.number, name, low, high)


def _choose(record: StudyRecord, summary: Summary, group: Sequence[TrialRecord]) -> TrialRecord:
    by_number = {trial.number: trial for trial in group}
    for number in (recommended(record, summary), summary.knee):
        if number in by_number:
            return by_number[number]
    middle = balanced(record, group)
    far = shares_worse(record, group, middle)
    near = [group[place] for place in far.argsort(kind="stable")[:_ASKED] if far[place] < RESOLUTION]
    return next((trial for trial in (middle, *near) if not runs_otherwise(trial)), middle)


def _names(chosen: Sequence[TrialRecord]) -> list[str]:
    documents = [trial.decided_document for trial in chosen]
    told = [[headline(document, (aspect,)) for aspect in _NAMED] + [_schedule(document)] for document in documents]
    differs = [len(set(column)) > 1 for column in zip(*told, strict=True)]
    kept = differs if len(chosen) > 1 else [True] * len(differs)
    kept[-1] |= any(map(updates_old, chosen))  # then the schedule matters, even where all have the same
    names = [", ".join(text for text, keep in zip(texts, kept, strict=True) if keep and text) for texts in told]
    for name in {name for name in names if names.count(name) > 1}:
        alike = [place for place, its in enumerate(names) if its == name]
        for place, more in zip(alike, _telling([documents[place] for place in alike]), strict=True):
            names[place] = ", ".join(filter(None, (name, *more)))
    return names


def _telling(documents: Sequence[Mapping[str, Any] | None]) -> list[tuple[str, ...]]:
    """The first phrases in which designs differ, as many as tell most of them apart, but not more than `_TELLING`."""
    phrases = compare(documents).phrases
    cut = [[each[:count] for each in phrases] for count in range(1, _TELLING + 1)]
    return max(cut, key=lambda shortened: len({*shortened}))


def _schedule(document: Mapping[str, Any] | None) -> str:
    """The pipeline schedule, unless it is the usual one."""
    told = headline(document, ("schedule",))
    return "" if told == USUAL_SCHEDULE else told


def _kind(trial: TrialRecord) -> tuple[str, ...]:
    """The network and the parallelism, in words."""
    return tuple(headline(trial.decided_document, aspects) for aspects in _PARTS)


def _machine(trial: TrialRecord) -> str:
    """The NPU, the stack of software, and the precision in which it computes."""
    document = trial.decided_document
    return f"{machine_of(document)} {headline(document, ('software', 'precision'))}"


def _kinds(record: StudyRecord) -> list[list[TrialRecord]]:
    """The best kinds of a study with one objective, at most `MOST`, each with what is within `RESOLUTION` of it.

    Where more kinds tie for the best than are told, the others join the first one on their machine, else the last.
    """
    trials = record.feasible_trials
    losses = record.losses(trials)[:, 0]
    groups: dict[tuple[str, ...], list[tuple[float, TrialRecord]]] = {}
    place = {trial.number: index for index, trial in enumerate(record.front)}  # of equal designs the simplest first
    ranks = np.full(len(trials), len(place))
    for row in np.flatnonzero(np.isin(trials.numbers, list(place))):
        ranks[row] = place[int(trials.numbers[row])]
    order = np.lexsort((ranks, losses))[:_LOOKED_AT]
    best = float(losses.min())
    for index, trial in zip(order.tolist(), trials.select(order), strict=True):
        loss = float(losses[index])
        kind = (*_kind(trial), _machine(trial))
        if kind not in groups and len(groups) >= (MOST if loss - best <= FAR * abs(best) else FEW):
            if trial.number not in place:
                continue
            kind = next((told for told in groups if told[-1] == kind[-1]), [*groups][-1])
        group = groups.setdefault(kind, [])
        if not group or loss - group[0][0] <= RESOLUTION * abs(group[0][0]):
            group.append((loss, trial))
    return [[trial for _, trial in group] for group in groups.values()]


def _idle_groups(record: StudyRecord, front: Sequence[TrialRecord]) -> list[list[TrialRecord]]:
    """Members of a front that only save electricity, by machine, however many times as long they take.

    That is, which save so beside a quicker member of the same price.
    """
    mask = idling_mask(record.objectives, record.losses(tuple(front))).tolist()
    busy, idle = ([trial for trial, idles in zip(front, mask, strict=True) if idles is kind] for kind in (False, True))
    groups: dict[str, list[TrialRecord]] = {}
    for trial, slower in zip(idle, slower_at_one_price(idle, busy).tolist(), strict=True):
        if slower:
            groups.setdefault(_machine(trial), []).append(trial)
    return list(groups.values())


def _near_groups(
    record: StudyRecord, summary: Summary, front: Sequence[TrialRecord], beside: int
) -> list[list[TrialRecord]]:
    """Members of the front in few groups; of too many kinds, what is not worth its price is a group for each end.

    With more than two objectives a front has no two ends, and fewer rows; so many rows are taken by others `beside`.
    """
    most = most_families(len(record.objectives)) + min(_MORE, len({*map(_machine, front)}) - 1)
    most = max(FEWEST, most - beside)
    groups, joined = _alike_groups(record, summary, front, most)
    if not joined or len(record.objectives) > 2:
        return groups
    worth = worth_mask(record.losses(tuple(front))).tolist()
    if all(worth):
        return groups
    kept = [trial for trial, pays in zip(front, worth, strict=True) if pays]
    beyond = _beyond(record, [trial for trial, pays in zip(front, worth, strict=True) if not pays], kept)
    groups, _ = _alike_groups(record, summary, kept, max(FEWEST, most - len(beyond)))
    return [*beyond, *groups]


def _beyond(record: StudyRecord, left: Sequence[TrialRecord], kept: Sequence[TrialRecord]) -> list[list[TrialRecord]]:
    """Members of a front beyond those that are worth their price, by the objective that they are bought for.

    And by NPU: no group hides one.
    """
    groups: dict[tuple[int, str], list[TrialRecord]] = {}
    best = record.losses(tuple(kept)).min(axis=0)
    for trial, losses in zip(left, record.losses(tuple(left)), strict=True):
        bought_for = int(np.argmax((best - losses) / np.abs(best)))
        groups.setdefault((bought_for, machine_of(trial.decided_document)), []).append(trial)
    return list(groups.values())


def _alike_groups(
    record: StudyRecord, summary: Summary, trials: Sequence[TrialRecord], most: int
) -> tuple[list[list[TrialRecord]], bool]:
    """Trials in at most so many groups of near ones, and whether these were joined because there are too many kinds."""
    if len(trials) == 1:
        return [list(trials)], False
    compared = [trials[index] for index in spread_indices(len(trials), _LARGEST)]
    labels, joined = _labels(distances(record, summary, compared, compared), most)
    if len(compared) < len(trials):
        labels = labels[distances(record, summary, trials, compared).argmin(axis=1)]
    groups: dict[int, list[TrialRecord]] = {}
    for label, trial in zip(labels.tolist(), trials, strict=True):
        groups.setdefault(label, []).append(trial)
    return list(groups.values()), joined


def _labels(far: Matrix, most: int) -> tuple[NDArray[np.signedinteger[Any]], bool]:
    """The number of each design's group, at most `most`, by the distances `[designs, designs]`; whether by force."""
    from scipy.cluster.hierarchy import cut_tree, fcluster, linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(far, checks=False), method="complete")
    labels: NDArray[np.signedinteger[Any]] = fcluster(tree, 1.0, criterion="distance")
    if labels.max() <= most:
        return labels, False
    return cut_tree(tree, n_clusters=[most])[:, 0], True  # as many, be distances equal


def distances(
    record: StudyRecord, summary: Summary, rows: Sequence[TrialRecord], columns: Sequence[TrialRecord]
) -> Matrix:
    """How far designs are from others `[rows, columns]`."""
    above, beside = (record.losses(tuple(trials)) for trials in (rows, columns))
    far = np.zeros((len(rows), len(columns)))
    for index, objective in enumerate(record.objectives):
        share = _log_ratios(above[:, index], beside[:, index])
        timed = any(exponent_of(name, "time") for name in objective.names)
        if timed:
            share[_are_alike(objective, summary, rows, columns)] = 0.0
        far = np.maximum(far, share / (RESOLUTION if timed else MATERIAL))
    kinds, others = (np.array([_kind(trial) for trial in trials], object) for trials in (rows, columns))
    for part in range(len(_PARTS)):
        far += kinds[:, part, None] != others[None, :, part]
    bought, from_others = (np.array([_machine(trial) for trial in trials], object) for trials in (rows, columns))
    far += _OTHER_MACHINE * (bought[:, None] != from_others[None, :])
    npus, of_others = (np.array([machine_of(t.decided_document) for t in trials], object) for trials in (rows, columns))
    far += _OTHER_NPU * (npus[:, None] != of_others[None, :])
    return far


def _log_ratios(rows: Matrix, columns: Matrix) -> Matrix:
    """ln(larger / smaller) of each two; `_LARGEST_LOG` where one is 0 or their signs differ."""
    size = np.maximum(np.abs(rows)[:, None], np.abs(columns)[None, :])
    apart = np.abs(rows[:, None] - columns[None, :])
    share = np.divide(apart, size, out=np.zeros_like(apart), where=size > 0)
    return -np.log(np.maximum(1.0 - share, math.exp(-_LARGEST_LOG)))


def _are_alike(
    objective: Objective, summary: Summary, rows: Sequence[TrialRecord], columns: Sequence[TrialRecord]
) -> NDArray[np.bool_]:
    """Which two designs the scenarios cannot order, `[rows, columns]`."""
    scenarios = summary.what_if.scenarios
    known = {} if scenarios is None else scenarios.better.get(objective.name, {})
    above, beside = ({trial.number: place for place, trial in enumerate(trials)} for trials in (rows, columns))
    alike = np.zeros((len(rows), len(columns)), dtype=bool)
    for (one, other), share in known.items():
        if not 1 - TOLD_APART < share < TOLD_APART:
            continue
        for first, second in ((one, other), (other, one)):
            if first in above and second in beside:
                alike[above[first], beside[second]] = True
    return alike
