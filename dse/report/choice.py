"""Which design of a front to build, where more money stops to pay, and what the choice would be at other prices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dse.buy.regret import REGRET
from dse.evaluate.pareto import ALIKE, WORTH, front_mask, knee, nearness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.aspects import uplink_ratios, value_at
from dse.report.nearest import shares_worse
from dse.report.quickest import quickest_alike
from dse.report.reasons import fullness
from dse.report.robustness import PRICES, Prices
from dse.report.runnable import runs_otherwise
from dse.report.summary import Summary
from dse.space.objective import Objective
from dse.whatif.answers import SAFE
from simcore.check.load import parse_design
from simcore.metrics import CLUSTER, METRICS, exponent_of, is_of
from simcore.provenance import has_fitted_zero
from simcore.workload.narrow import LOSSY

AS_WELL = 0.01
"""Designs whose objectives are each worse by less than this share are as good."""
NEARLY_FULL = 0.95
"""A memory that is fuller has no room for what is not predicted: fragments, uneven loads of experts."""
NO_ROOM = 1.0
"""How full a memory is at most."""
ROOM = ALIKE
"""What room in the memory, or a design that its stack runs, may cost of each objective: as much as no two rows of a
front are told apart by."""
SURER = 0.05
"""One design is surer than another one to keep its limits if it does in so many more of the scenarios."""
UNPROVEN = 0.05
"""What a precision may save of each objective whose tokens are counted at the least: 1.6 times for 1.5 take more."""
_LOOKED_AT = 60
"""Designs near the pick that are looked at for room, the best first."""
_HELD = frozenset({"memory.peak", "memory.reserved"})
"""Objectives that are worth nothing below what an NPU has: the memory is there, and paid."""
SAME_PRICE = 0.001
"""Prices that differ by less of them are one price: what the rest buys is no return on money."""


_Point = tuple[float, float, TrialRecord]
"""Logarithms of a price and of what it buys, both to be minimised, and the design."""
_PRICED = 4_000
"""Feasible designs that are priced anew, those nearest to the front."""


@dataclass(frozen=True, slots=True)
class Payoff:
    """Where more money stops to pay along a front of a price and something that depends on the time."""

    price: Objective
    bought: Objective
    trial: TrialRecord
    """The dearest design up to which each percent of price buys at least `WORTH` percent."""
    before: float | None
    """Percent that the last percent of price bought; None where this is the cheapest design."""
    after: float | None
    """Percent that a percent more buys; None where this is the dearest design."""
    beyond: bool = False
    """Whether the front has a dearer and better design yet, which its stack does not run."""


def recommended(record: StudyRecord, summary: Summary) -> int | None:
    """The trial to build: that of the front, or one as good without what no objective counts.

    Iterations of old weights are worth less than others, by how much nobody knows; a network with thinner uplinks is
    worth less where anything else shares it. So where the pick of the front has such weights, the best balanced design
    is built that has not and that is worse by less than `AS_WELL` in every objective, be it on the front or not; where
    its uplinks are thinner, likewise one with the widest of these. Where its stack does not run it as it is, its memory
    is nearly full, or nothing with its ZeRO stage was fitted, one is built that is worse by less than `ROOM`: one that
    its stack runs, of those one with room, and of these one with a stage that was. None keeps its limits less surely.

    Before all that others take its place: where money alone counts one that does more with the same machines
    (`busier`), then one that is surer (`surer`), then one in a precision whose loss is made up for (`made_up_for`).
    """
    number = pick_of_front(record, summary)
    if number is not None:
        number = made_up_for(record, summary, surer(record, summary, busier(record, summary, number)))
    picked = None if number is None else record.trials.numbered(number)  # a robust pick may be behind the front
    if picked is None or (own := _uncounted(picked)) == _Uncounted():
        return number
    allowed, most = (AS_WELL, None) if own.old or own.thinning > 1 else (ROOM, _LOOKED_AT)
    own = own if most else own._replace(otherwise=False, unfitted=False)  # of so many it is not asked
    worse = shares_worse(record, record.feasible_trials, picked)
    near = np.flatnonzero(worse <= allowed)
    nearest = np.sort(near[worse[near].argsort(kind="stable")[:most]])
    as_good = [
        (_uncounted(trial, asked=most is not None), trial)
        for trial in record.feasible_trials.select(nearest)
        if not is_less_sure(summary, trial.number, picked.number)
    ]
    least = min((found for found, _ in as_good), default=own)
    if own <= least:
        return number
    best = [trial for found, trial in as_good if found == least]
    return quickest_alike(record, balanced(record, best), ROOM, lambda other: other in best).number


def busier(record: StudyRecord, summary: Summary, number: int) -> int:
    """The quickest use of what a trial buys, worse by at most `ROOM`, where no objective says what it is worth.

    One with nothing against it that is not counted, and as sure; the trial itself where there is none.
    """
    picked = record.trials.numbered(number)
    if picked is None:
        return number

    def suits(other: TrialRecord) -> bool:
        return _uncounted(other) == _Uncounted() and not is_less_sure(summary, other.number, number)

    return quickest_alike(record, picked, ROOM, suits).number


def surer(record: StudyRecord, summary: Summary, number: int) -> int:
    """A contender that keeps its limits in `SURER` more of the scenarios, worse than a trial by less than `ROOM`.

    The surest, of those that are nearly as sure the nearest; the trial itself where there is none, or where it is safe.
    """
    known = {} if summary.what_if.scenarios is None else summary.what_if.scenarios.known
    own, picked = known.get(number), record.trials.numbered(number)
    if own is None or own.is_safe or picked is None:
        return number
    kept = {contender: min(sure.least_kept, SAFE) for contender, sure in known.items()}
    others = record.feasible_trials.numbered_among(n for n, share in kept.items() if share >= kept[number] + SURER)
    worse = shares_worse(record, others, picked) if others else np.empty(0)
    near = [(far, other.number) for far, other in zip(worse.tolist(), others, strict=True) if far < ROOM]
    most = max((kept[other] for _, other in near), default=0.0)
    return min(((far, other) for far, other in near if kept[other] > most - SURER), default=(0.0, number))[1]


def made_up_for(record: StudyRecord, summary: Summary, number: int) -> int:
    """The nearest design to one in a lossy precision that is in none, worse by less than `UNPROVEN` and as sure.

    The trial itself where there is none, or its own precision is not lossy.
    """
    picked = record.trials.numbered(number)
    if picked is None or not lossy_precisions(picked):
        return number
    worse = shares_worse(record, record.feasible_trials, picked)
    order = worse.argsort(kind="stable")
    near = order[worse[order] < UNPROVEN]
    others = (trial for trial in record.feasible_trials.select(near) if not lossy_precisions(trial))
    return next((other.number for other in others if not is_less_sure(summary, other.number, number)), number)


def lossy_precisions(trial: TrialRecord) -> set[str]:
    """The precisions in which a trial trains whose loss no published run has made up for."""
    documents = [part.design or {} for _, part in trial.parts]
    trained = [document for document in documents if not value_at(document, "workload.output_length")]
    return {*LOSSY} & {str(value_at(document, "workload.precision")) for document in trained}


def is_less_sure(summary: Summary, number: int, than: int) -> bool:
    """Whether a trial is known to keep its limits in `SURER` fewer of the scenarios than another one."""
    known = {} if summary.what_if.scenarios is None else summary.what_if.scenarios.known
    one, other = (None if known.get(each) is None else min(known[each].least_kept, SAFE) for each in (number, than))
    return one is not None and other is not None and one <= other - SURER


class _Uncounted(NamedTuple):
    """What no objective counts of a design."""

    old: bool = False
    """Gradients of old weights."""
    thinning: float = 1.0
    otherwise: bool = False
    """Something that its stack does not run as it was simulated."""
    full: bool = False
    """A memory without room."""
    unfitted: bool = False
    """A ZeRO stage that no iteration had which decided the numbers of its stack."""


def _uncounted(trial: TrialRecord, asked: bool = True) -> _Uncounted:
    """What is not counted of a trial; whether its stack runs it where that is `asked`."""
    otherwise, unfitted = asked and runs_otherwise(trial), asked and has_unfitted_zero(trial)
    return _Uncounted(updates_old(trial) > 0, thinning(trial), otherwise, fullness(trial) > NEARLY_FULL, unfitted)


def has_unfitted_zero(trial: TrialRecord) -> bool:
    """Whether the numbers of its stack were fitted to iterations, and to none with its ZeRO stage."""
    designs = [parse_design(part.design or {})[0] for _, part in trial.parts]
    return any(design is not None and design.jobs is None and not has_fitted_zero(design) for design in designs)


def thinning(trial: TrialRecord) -> float:
    """By how much the thinnest uplinks of its network are thinner than what is below them; 1: they are not."""
    return max((max(ratios) for ratios in uplink_ratios(trial.decided_document or {})), default=1.0)


def updates_old(trial: TrialRecord) -> float:
    """How many updates old the weights of its gradients may be."""
    return max(float(((part.metrics or {}).get("staleness") or {}).get("updates", 0)) for _, part in trial.parts)


def pick_of_front(record: StudyRecord, summary: Summary) -> int | None:
    """The trial of the front to build: the robust pick where it is known, else the knee, else the best balanced one.

    With one objective that is the best. Where a percent more money buys more than a percent of time from the robust
    pick on, it is the dearest design up to which that is so (`paying`). Where memory is an objective beside others, it
    is the best in these of what has room.
    """
    if not summary.front:
        return None
    if (roomy := best_with_room(record, summary)) is not None:
        return roomy
    if (start := paid_from(record, summary)) is not None:
        dearer = paying(record, summary, start)
        return start if dearer is None else dearer
    if summary.knee is not None:
        return summary.knee
    return (summary.front[0] if len(record.objectives) == 1 else balanced(record, summary.front)).number


def paid_from(record: StudyRecord, summary: Summary) -> int | None:
    """The trial from which on it is asked whether more money pays: the robust pick, of regrets the knee."""
    if summary.what_if.robust is None and any(objective.name.endswith(REGRET) for objective in record.objectives):
        return summary.knee
    return summary.what_if.robust


def best_with_room(record: StudyRecord, summary: Summary, most: float = NEARLY_FULL) -> int | None:
    """The design of the front whose memory is no fuller than `most` that is the best in all objectives but memory.

    None where no objective is memory, or all are.
    """
    rest = [place for place, objective in enumerate(record.objectives) if objective.name not in _HELD]
    if not rest or len(rest) == len(record.objectives):
        return None
    roomy = [trial for trial in summary.front if fullness(trial) <= most] or [*summary.front]
    values = record.losses(tuple(roomy))[:, rest]
    best = np.flatnonzero(front_mask(values))
    bent = knee(values[best])
    return (roomy[best[bent]] if bent is not None else balanced(record, [roomy[place] for place in best])).number


def balanced(record: StudyRecord, trials: Sequence[TrialRecord]) -> TrialRecord:
    """The least sum of objectives, each in units of its mean size over the trials; of equals the first."""
    values = record.losses(tuple(trials))
    unit = np.abs(values).mean(axis=0)
    return trials[int(np.argmin((values / np.where(unit > 0, unit, 1.0)).sum(axis=1)))]


def paying(record: StudyRecord, summary: Summary, number: int) -> int | None:
    """The dearest design up to which a percent more money than for trial `number` of the front buys a percent of time.

    None where already the first percent buys less than from the hull's point at its price, or costs another objective.
    """
    found = _priced_hull(record, summary)
    start = next((trial for trial in summary.front if trial.number == number), None)
    if found is None or start is None:
        return None
    price, bought, hull, _ = found
    own = _point(start, price, bought)
    here = next((point for point in reversed(hull) if point[0] <= own[0] + SAME_PRICE), own)
    last = None
    for before, point in pairwise([here, *(point for point in hull if point[0] > own[0] + SAME_PRICE)]):
        if costs_more(record, start, point[2], (price, bought)) or before[1] - point[1] < point[0] - before[0]:
            break
        last = point[2].number
    return last


def costs_more(record: StudyRecord, one: TrialRecord, other: TrialRecord, beside: tuple[Objective, ...]) -> bool:
    """Whether another trial is worse than one in an objective `beside` these, by more than `AS_WELL`."""
    losses = record.losses((one, other))
    rest = [place for place, objective in enumerate(record.objectives) if objective not in beside]
    return bool((losses[1, rest] > losses[0, rest] + AS_WELL * abs(losses[0, rest])).any())


def _point(trial: TrialRecord, price: Objective, bought: Objective) -> _Point:
    regrets = bought.name.endswith(REGRET)  # a share beyond what the best cluster of a future has
    value = trial.values[bought.name] + regrets
    return math.log(trial.values[price.name]), bought.sign * math.log(value), trial


class _Priced(NamedTuple):
    """A price, what depends on the time, and the hull of the front in their logarithms."""

    price: Objective
    bought: Objective
    hull: list[_Point]
    beyond: bool
    """See `Payoff.beyond`."""


def _priced_hull(record: StudyRecord, summary: Summary) -> _Priced | None:
    """See `_Priced`; None where there is no price, or nothing that depends on the time."""
    prices = [o for o in record.objectives if o.sign > 0 and _is_price(o.name)]
    timed = [o for o in record.objectives if exponent_of(o.name.removesuffix(REGRET), "time")]
    positive = prices + [o for o in timed if not o.name.endswith(REGRET)]
    if not prices or not timed or min(_least(summary, o) for o in positive) <= 0:
        return None
    price, bought = prices[0], timed[0]
    points = _join_prices([_point(trial, price, bought) for trial in summary.front])
    whole = _hull(points)
    hull = _runnable_hull(points) or whole
    return _Priced(price, bought, hull, hull[-1] is not whole[-1])


def _is_price(name: str) -> bool:
    """Whether a metric is what a cluster costs, to buy or to own."""
    return name == "cost.tco" or (is_of(name, CLUSTER) and METRICS[name].unit == "$")


def payoff(record: StudyRecord, summary: Summary) -> Payoff | None:
    """Where more money stops to pay; None where the objectives are no price and time, or the front is one design.

    The answer is read off the convex hull of the front, both objectives as logarithms, where what a percent buys only
    falls: between neighbours it is noise. Designs that their stacks do not run are left out, unless all are such.
    """
    found = _priced_hull(record, summary)
    if found is None or len(found.hull) < 2:
        return None
    price, bought, hull, beyond = found
    gains = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in pairwise(hull)]
    last = sum(gain >= WORTH for gain in gains)
    before, after = gains[last - 1] if last else None, gains[last] if last < len(gains) else None
    return Payoff(price, bought, hull[last][2], before, after, beyond)


def _least(summary: Summary, objective: Objective) -> float:
    return min((trial.values[objective.name] for trial in summary.front), default=0.0)


def _join_prices(points: Sequence[_Point]) -> list[_Point]:
    """Of points at one price that which buys most."""
    kept: list[_Point] = []
    for point in sorted(points, key=lambda p: (p[0], p[1], p[2].number)):
        if not kept or point[0] - kept[-1][0] > SAME_PRICE:
            kept.append(point)
        elif point[1] < kept[-1][1]:
            kept[-1] = point
    return kept


def _hull(points: Sequence[_Point]) -> list[_Point]:
    """The lower left hull of points, from the first coordinate's least to the second's."""
    hull: list[_Point] = []
    for point in sorted(points, key=lambda p: (p[0], p[1], p[2].number)):
        if hull and point[1] >= hull[-1][1]:
            continue
        while len(hull) > 1 and _gain(hull[-2], hull[-1]) <= _gain(hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _runnable_hull(points: Sequence[_Point]) -> list[_Point]:
    """The hull of points without designs that their stacks do not run, so that no money is told to pay for these."""
    left, hull = [*points], _hull(points)
    while otherwise := [point for point in hull if runs_otherwise(point[2])]:
        left = [point for point in left if point not in otherwise]
        hull = _hull(left)
    return hull


def _gain(one: _Point, other: _Point) -> float:
    return (one[1] - other[1]) / (other[0] - one[0]) if other[0] > one[0] else math.inf


def knees_at_prices(record: StudyRecord) -> dict[tuple[str, float], TrialRecord]:
    """The knee where the prices of one part of the cluster are lower or higher by `PRICES`: (part, factor) -> trial.

    Empty where an objective is an expression or no objective depends on prices.
    """
    feasible = record.feasible_trials.select(record.feasible_trials.simulated)
    if len(feasible) > _PRICED:  # far from the front no price brings a knee
        far = nearness(record.losses(feasible), record.losses(record.front))
        feasible = feasible.select(np.sort(np.argsort(far, kind="stable")[:_PRICED]))
    if not len(feasible) or any(o.expression is not None for o in record.objectives):
        return {}
    prices, base = Prices.of(feasible), record.losses(feasible)
    found = {}
    for place, part in enumerate(("network", "npu", "memory")):
        for factor in (1 - PRICES, 1 + PRICES) if prices.parts[:, place].any() else ():
            factors = tuple(factor if index == place else 1.0 for index in range(3))
            columns = [
                o.sign * prices.metric_at(o.name, o.sign * base[:, index], factors)
                for index, o in enumerate(record.objectives)
            ]
            moved = np.stack(columns, axis=1)
            if np.array_equal(moved, base):
                continue  # no objective depends on these prices
            kept = np.flatnonzero(front_mask(moved))
            index = knee(moved[kept])
            if index is not None:
                found[part, factor] = feasible[int(kept[index])]
    return found
