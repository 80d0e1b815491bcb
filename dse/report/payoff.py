"""Where more money stops to pay along a front of a price and something that depends on the time.

Energy is not bought so: what it costs is known, and counts where electricity is in the price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from dse.buy.regret import REGRET
from dse.evaluate.pareto import WORTH
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.nearest import AS_WELL, READ
from dse.report.runnable import runs_otherwise
from dse.report.summary import Summary
from dse.space.objective import Objective, losses
from dse.whatif.batches import rivals
from simcore.metrics import CLUSTER, METRICS, exponent_of, is_of

SAME_PRICE = 0.005
"""Prices that differ by less of them are one price, such as one cluster with other bills of electricity: what the rest
buys is no return on money."""
_Point = tuple[float, float, TrialRecord]
"""Logarithms of a price and of what it buys, both to be minimised, and the design."""


@dataclass(frozen=True, slots=True)
class Payoff:
    """Where more money stops to pay along a front of a price and something that depends on the time."""

    price: Objective
    bought: Objective
    trial: TrialRecord
    """The dearest design up to which each percent of price buys at least `WORTH` percent."""
    before: float | None
    """Percent that each percent of price bought on average from `since` on; None where this is the cheapest design."""
    since: TrialRecord
    """The design of the hull before it, or itself where it is the cheapest."""
    after: float | None
    """Percent that a percent more buys; None where this is the dearest design."""
    beyond: bool = False
    """Whether the dearest of the front's hull is a design that its stack does not run."""


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
    dearer = (point for point in hull if point[0] > own[0] + SAME_PRICE and point[1] < own[1])
    for before, point in pairwise([here, *dearer]):
        if _costs_more(record, start, point[2], (price, bought)) or before[1] - point[1] < point[0] - before[0]:
            break
        last = point[2].number
    return last


def is_told_beside(record: StudyRecord, trial: TrialRecord, pay: Payoff) -> bool:
    """Whether the design where money stops to pay costs no more of anything else than a trial, nor is worse in both."""
    of_trial, of_other = losses((pay.price, pay.bought), [trial.values, pay.trial.values])
    worse = bool((of_other >= of_trial).all() and (of_other > of_trial).any())
    return not worse and not _costs_more(record, trial, pay.trial, (pay.price, pay.bought))


def _costs_more(record: StudyRecord, one: TrialRecord, other: TrialRecord, beside: tuple[Objective, ...]) -> bool:
    """Whether another trial is worse than one in an objective `beside` these, by more than `AS_WELL`."""
    found = record.losses((one, other))
    rest = [place for place, objective in enumerate(record.objectives) if objective not in beside]
    return bool((found[1, rest] > found[0, rest] + AS_WELL * abs(found[0, rest])).any())


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


def _priced_hull(
    record: StudyRecord, summary: Summary, instead: Mapping[int, TrialRecord] = MappingProxyType({})
) -> _Priced | None:
    """See `_Priced`; None where there is no price, or nothing that depends on the time.

    `instead` are other designs that count in the place of some of the front, by number.
    """
    prices = [o for o in record.objectives if o.sign > 0 and _is_price(o.name)]
    timed = [o for o in record.objectives if exponent_of(o.name.removesuffix(REGRET), "time") and o.unit != "J"]
    positive = prices + [o for o in timed if not o.name.endswith(REGRET)]
    if not prices or not timed or min(_least(summary, o) for o in positive) <= 0:
        return None
    price, bought = prices[0], timed[0]
    points = [_point(instead.get(trial.number, trial), price, bought) for trial in summary.front]
    whole = _hull(_join_prices(points))
    hull = whole
    if any(runs_otherwise(trial) for *_, trial in whole):  # what these dominate may be the best that stacks run
        beside = [trial for trial in rivals(record, READ) if trial.number not in instead]
        near = [_point(t, price, bought) for t in beside if min(t.values[o.name] for o in positive) > 0]
        hull = _runnable_hull([*points, *near]) or whole
    return _Priced(price, bought, hull, hull[-1] is not whole[-1])


def _is_price(name: str) -> bool:
    """Whether a metric is what a cluster costs, to buy or to own."""
    return name == "cost.tco" or (is_of(name, CLUSTER) and METRICS[name].unit == "$")


def payoff(
    record: StudyRecord, summary: Summary, passed_over: int | None = None, built: TrialRecord | None = None
) -> Payoff | None:
    """Where more money stops to pay; None where the objectives are no price and time, or the hull is one design.

    A design of the front that is `passed_over` counts as the one that is `built` in its place.

    The answer is read off the convex hull of the front, both objectives as logarithms, where what a percent buys only
    falls: between neighbours it is noise. Designs that their stacks do not run are left out, unless all are such; what
    they dominate may then be on the hull.
    """
    instead = {} if built is None or passed_over is None else {passed_over: built}
    found = _priced_hull(record, summary, instead)
    if found is None or len(found.hull) < 2:
        return None
    price, bought, hull, beyond = found
    gains = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in pairwise(hull)]
    last = sum(gain >= WORTH for gain in gains)
    before, after = gains[last - 1] if last else None, gains[last] if last < len(gains) else None
    return Payoff(price, bought, hull[last][2], before, hull[max(0, last - 1)][2], after, beyond)


def _least(summary: Summary, objective: Objective) -> float:
    return min((trial.values[objective.name] for trial in summary.front), default=0.0)


def _join_prices(points: Sequence[_Point]) -> list[_Point]:
    """The point that buys most, of those at one price."""
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
    left, hull = [*points], _hull(_join_prices(points))
    while otherwise := [point for point in hull if runs_otherwise(point[2])]:
        left = [point for point in left if point not in otherwise]
        hull = _hull(_join_prices(left))
    return hull


def _gain(one: _Point, other: _Point) -> float:
    return (one[1] - other[1]) / (other[0] - one[0]) if other[0] > one[0] else math.inf
