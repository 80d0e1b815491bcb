"""How sure a front is: its members and what is nearest to it, all in the same scenarios.

A *scenario* is one draw of everything that the model does not know for sure (`simcore.uncertainty`); the *contenders*
are the front and the dominated designs nearest to it. In each scenario all of them are compared:

- a design is *on the front* where nothing else that counts dominates it: no contender, no design on another machine;
- its *regret* is by which share it is worse than another contender that is nowhere better: the largest over the others
  of the smallest over the objectives that differ of worse / better - 1, and 0 where each other is worse in some;
- one design is *better* than another in an objective where its value is.

The *robust pick* of one objective, or where only one differs among the contenders, is the contender with the least
regret in the worst but one of ten scenarios. Of several objectives it is the member of the front whose *shortfall* is
least there: by how much it lies behind the contender that is the best compromise in that scenario, the least sum of
objectives, each in units of `dse.evaluate.pareto.compromise_units`: lengths in that scenario of the part of the front
that is worth its price, for the front as predicted may be short where designs are unsure. Of equals it is the one that
is surer to keep the limits (`dse.whatif.limits`), then the one that is more often on the front, then the first.

A design that misses a limit in a scenario (`dse.whatif.limits`) is on no front there and nobody's rival, unless all
miss one.

The best design of each machine that the front leaves out (`dse.whatif.machines`) counts beside the contenders, for
shares and regrets, and is not picked; so does the design to build with each other stack. The best with each stack is
compared with the front in the same scenarios.

Nothing is simulated here, and all follows from the journal: the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.note import Note, be_silent
from dse.evaluate.pareto import compromise_units, dominated_mask, front_mask
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.constraint import Constraint
from dse.space.objective import Objective
from dse.whatif.answers import Assumption, Machine, Scenarios, Sureness
from dse.whatif.drawn import Drawn, draw_trials, ends_of, is_drawn
from dse.whatif.limits import drawn_limits, safe_designs, scenarios_kept
from dse.whatif.machines import NOWHERE, Elsewhere, machine_of, stack_of
from simcore.check.load import parse_sound
from simcore.design.design import Design
from simcore.uncertainty import draws
from simcore.uncertainty.parameters import NINE_OF_TEN, Parameter, Unknown

Floats = NDArray[np.float64]

COUNT = 256
"""Scenarios: shares are known to 3 percentage points, one standard deviation, or better."""
CONTENDERS = 60
"""Designs that are compared: the front first, whatever its size up to `MOST`."""
MOST = 120
_NAMED, _LONGEST = 6, 40
"""Things that an assumption names at most, and characters of a name: shapes and layouts are counted."""
_TELLING = 0.02
"""Regrets that differ by less do not tell so few scenarios which design is to be built, on the front or behind it."""
_DIGITS = 6
"""Digits of what is told: the last ones of an exponential differ between machines."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Some designs in scenarios."""

    lost: Floats
    """Their objectives, each to be minimised `[objectives, designs, count]`."""
    counting: NDArray[np.bool_]
    """Whether they keep their limits `[designs, count]`; see `_counting`."""

    @property
    def rivals(self) -> Floats:
        """The same where others are compared with them: infinite where they do not count."""
        return np.where(self.counting, self.lost, np.inf)

    @property
    def on_front(self) -> NDArray[np.bool_]:
        """Whether nothing that counts dominates them, and they count themselves `[designs, count]`."""
        found = np.array([front_mask(each.T) for each in self.rivals.transpose(2, 0, 1)]).T
        return found.reshape(self.counting.shape) & self.counting

    def only(self, places: NDArray[np.int_]) -> Compared:
        """Some of them."""
        return Compared(self.lost[:, places], self.counting[places])


def ask_scenarios(
    record: StudyRecord,
    front: Sequence[TrialRecord],
    near: Sequence[TrialRecord],
    elsewhere: Elsewhere = NOWHERE,
    constraints: Sequence[Constraint] = (),
    note: Note = be_silent,
    beside: Sequence[TrialRecord] = (),
) -> Scenarios:
    """The answers over members of the front and dominated trials near it, each simulated and with a design.

    `front` is in the order in which its members are taken where they are too many; `beside` are further trials.
    `elsewhere` is what there is on other machines. `note` is told how far the answers are.
    """
    limits = drawn_limits(constraints)
    trials = [*front[:MOST], *near[: max(0, CONTENDERS - len(front))], *beside]
    drawn = draws.Scenarios(COUNT)
    found = _draw(trials, drawn, note)
    if limits:
        surer = _surer(record, front[:MOST], trials, _lost(record, found, drawn), limits)
        trials, found = [*trials, *surer], [*found, *_draw(surer, drawn, note)]
    lost, kept = _lost(record, found, drawn), _kept(limits, found)
    elsewhere_drawn = _draw([*elsewhere.best, *elsewhere.restacked], drawn, note)
    others, others_kept = _lost(record, elsewhere_drawn, drawn), _kept(limits, elsewhere_drawn)
    counting = _counting([*kept, *others_kept], drawn.count)
    everywhere = Compared(np.concatenate([lost, others], axis=1), counting)
    # Where members may miss a limit, the contenders that keep it stand in for them, on each machine.
    front_size = min(len(front), MOST)
    here, there = np.arange(len(found) if limits else front_size), len(found) + np.arange(len(elsewhere.best))
    belongs = _belongs([*trials[: len(here)], *elsewhere.best], everywhere.only(np.concatenate([here, there])))
    best = _machines(elsewhere.best, everywhere.only(there), everywhere.only(here), machine_of)
    machines = tuple(
        replace(one, kept=_shares(its), on_front=belongs[one.name] if limits else one.on_front)
        for one, its in zip(best, others_kept, strict=False)
    )
    restacked = _draw(elsewhere.stacks, drawn, note)
    of_stacks = Compared(_lost(record, restacked, drawn), _counting(_kept(limits, restacked), drawn.count))
    stacks = _machines(elsewhere.stacks, of_stacks, everywhere.only(here), stack_of)
    of_front = dict.fromkeys(machine_of(trial.design) for trial in trials[:front_size])
    built = {name: belongs[name] for name in of_front} if len(belongs) > 1 else {}
    compared = _compare(record, trials, len(front), everywhere, [_shares(one) for one in kept], drawn)
    return replace(
        compared, machines=machines, built=built, barred=elsewhere.barred, unasked=elsewhere.unasked, stacks=stacks
    )


def _surer(
    record: StudyRecord,
    front: Sequence[TrialRecord],
    trials: Sequence[TrialRecord],
    lost: Floats,
    limits: Sequence[Constraint],
) -> list[TrialRecord]:
    """Designs near the best compromise that keep a distance from the limits, and are none of `trials` yet."""
    behind = shortfall(record.losses(tuple(front)), lost)[: len(front)]
    compromise = front[int(np.argmin([_worst_but_one(each) for each in behind]))]
    known = {trial.number for trial in trials}
    return [trial for trial in safe_designs(record, compromise, limits) if trial.number not in known]


def _kept(limits: Sequence[Constraint], found: Sequence[Drawn]) -> list[dict[str, NDArray[np.bool_]]]:
    return [scenarios_kept(limits, one) for one in found]


def _shares(kept: Mapping[str, NDArray[np.bool_]]) -> dict[str, float]:
    """In which share of the scenarios each limit is kept."""
    return {name: _told(float(scenarios.mean())) for name, scenarios in kept.items()}


def _counting(kept: Sequence[Mapping[str, NDArray[np.bool_]]], count: int) -> NDArray[np.bool_]:
    """Which designs count in which scenarios, `[designs, count]`: those that keep all limits there, else all."""
    found = np.array([np.all([*one.values(), np.ones(count, bool)], axis=0) for one in kept]).reshape(len(kept), count)
    found[:, ~found.any(axis=0)] = True
    return found


def _draw(trials: Sequence[TrialRecord], drawn: draws.Scenarios, note: Note) -> list[Drawn]:
    return draw_trials(trials, [_design(trial) for trial in trials], drawn, note)


def _lost(record: StudyRecord, found: Sequence[Drawn], drawn: draws.Scenarios) -> Floats:
    """The objectives of trials in all scenarios, each to be minimised, `[objectives, trials, count]`."""
    values = [one.objective(o) * o.sign for o in record.objectives for one in found]
    return np.array(values).reshape(len(record.objectives), len(found), drawn.count)


def _design(trial: TrialRecord) -> Design:
    assert trial.design is not None
    return parse_sound(trial.design)


def _compare(
    record: StudyRecord,
    trials: Sequence[TrialRecord],
    members: int,
    everywhere: Compared,
    shares: Sequence[dict[str, float]],
    drawn: draws.Scenarios,
) -> Scenarios:
    """The answers over `trials`, of which the first are members of the front.

    They are the first of `everywhere`; the rest are designs elsewhere, which may be better in a scenario, too.
    """
    numbers = tuple(trial.number for trial in trials)
    contenders = everywhere.only(np.arange(len(trials)))
    lost, on_front = contenders.lost, everywhere.on_front.mean(axis=1)
    regrets = regret(everywhere.lost, everywhere.rivals)
    sure = {
        trial.number: Sureness(
            interval_of(trial),
            _told(float(on_front[row])),
            _told(float(regrets[row].mean())),
            _told(_worst_but_one(regrets[row])),
            _intervals(record.objectives, lost[:, row]),
            shares[row],
        )
        for row, trial in enumerate(trials)
    }
    kept = {trial.number for trial in trials[:members]}
    return Scenarios(
        count=drawn.count,
        contenders=numbers,
        members={number: found for number, found in sure.items() if number in kept},
        robust=_robust(record, trials[:members], numbers, contenders, sure),
        better=_better(record.objectives, numbers, lost),
        others={number: found for number, found in sure.items() if number not in kept},
        assumptions=tuple(_assumptions(drawn.used)),
        left_out=max(0, members - len(kept)),
    )


def _machines(
    trials: Sequence[TrialRecord],
    there: Compared,
    front: Compared,
    named: Callable[[Mapping[str, Any] | None], str],
) -> tuple[Machine, ...]:
    """Designs elsewhere against those of the front: in how many scenarios none of these that counts dominates one."""
    rivals, found = front.rivals, []
    for row, trial in enumerate(trials):
        assert trial.design is not None
        own = there.rivals[:, row]
        behind = [dominated_mask(rivals[..., at].T, own[None, :, at])[0] for at in range(own.shape[1])]
        share = float(np.mean(there.counting[row] & ~np.array(behind)))
        found.append(Machine(named(trial.design), trial.values, trial.design, _told(share)))
    return tuple(found)


def _belongs(trials: Sequence[TrialRecord], compared: Compared) -> dict[str, float]:
    """In which share of the scenarios each machine belongs on the front, by any of its designs."""
    of, on_front = np.array([machine_of(trial.design) for trial in trials]), compared.on_front
    return {str(name): _told(float(on_front[of == name].any(axis=0).mean())) for name in dict.fromkeys(of.tolist())}


def regret(lost: Floats, rivals: Floats | None = None) -> Floats:
    """By which share each contender is worse than another one in every objective that differs, `[contenders, count]`.

    0 where each other one is worse in some objective. `lost[objectives, contenders, count]`, each to be minimised;
    `rivals` is the same as others see them (`Compared.rivals`).
    """
    found = np.zeros(lost.shape[1:])
    for other in range(lost.shape[1]):
        better = (lost if rivals is None else rivals)[:, other : other + 1]
        worse = np.abs(np.where(lost > better, better, 1.0))
        behind = np.divide(lost - better, worse, out=np.full_like(lost, np.inf), where=worse > 0)
        behind = np.where(lost > better, behind, np.inf)  # a price that both pay says nothing
        dominated = (lost >= better).all(axis=0) & (lost > better).any(axis=0)
        found = np.maximum(found, np.where(dominated, behind.min(axis=0), 0.0))
    return found


def shortfall(front: Floats, lost: Floats, counting: NDArray[np.bool_] | None = None) -> Floats:
    """By how much each contender lies behind the best compromise of those that count, `[contenders, count]`.

    `front[members, objectives]` is as predicted; `lost[objectives, contenders, count]` begins with the members.
    """
    scaled = (lost / compromise_units(front, lost[:, : len(front)])).sum(axis=0)
    behind: Floats = scaled - (scaled if counting is None else np.where(counting, scaled, np.inf)).min(axis=0)
    return behind


def interval_of(trial: TrialRecord) -> tuple[float, float] | None:
    """The interval of a trial's iteration time [s], as its result has it."""
    ends = (trial.metrics or {}).get("iteration_time_interval_s")
    return None if ends is None else (float(ends[0]), float(ends[1]))


def _intervals(objectives: Sequence[Objective], lost: Floats) -> dict[str, tuple[float, float]]:
    """Where the objectives of one design lie in nine of ten scenarios, of `lost[objectives, count]`."""
    found = {o.name: ends_of(o.sign * lost[place]) for place, o in enumerate(objectives) if is_drawn(o)}
    return {name: (_told(ends[0]), _told(ends[1])) for name, ends in found.items() if ends is not None}


def _robust(
    record: StudyRecord,
    front: Sequence[TrialRecord],
    numbers: Sequence[int],
    contenders: Compared,
    sure: Mapping[int, Sureness],
) -> int:
    lost = contenders.lost
    place = {trial.number: index for index, trial in enumerate(record.front)}  # of equal designs the simplest
    if (lost != lost[:, :1]).any(axis=(1, 2)).sum() <= 1:

        def key(number: int) -> tuple[float, ...]:
            its = sure[number]
            return its.regret_p90, -its.least_kept, -its.on_front, place.get(number, len(place))

        best, on_front = min(numbers, key=key), min(place.keys() & {*numbers}, key=key)
        return best if sure[best].regret_p90 < sure[on_front].regret_p90 - _TELLING else on_front
    behind = shortfall(record.losses(tuple(front)), lost, contenders.counting)
    short = {trial.number: _told(_worst_but_one(behind[row])) for row, trial in enumerate(front)}
    return min(short, key=lambda n: (short[n], -sure[n].least_kept, -sure[n].on_front, place[n]))


def _worst_but_one(values: Floats) -> float:
    """What nine of ten scenarios stay at or below."""
    return float(np.quantile(values, 0.9, method="inverted_cdf"))


def _better(
    objectives: Sequence[Objective], numbers: Sequence[int], lost: Floats
) -> dict[str, dict[tuple[int, int], float]]:
    return {
        objective.name: {
            (numbers[a], numbers[b]): float((lost[place, a] < lost[place, b]).mean())
            for a, b in permutations(range(len(numbers)), 2)
        }
        for place, objective in enumerate(objectives)
    }


def _assumptions(used: Iterable[Unknown]) -> list[Assumption]:
    """What was taken to be wrong, the widest first."""
    of: dict[Parameter, list[str]] = {}
    for unknown in used:
        of.setdefault(unknown.parameter, []).append(unknown.of)
    return [
        Assumption(
            parameter.name,
            len(things),
            tuple(things) if len(things) <= _NAMED and len(max(things, key=len)) <= _LONGEST else (),
            _told(exp(-NINE_OF_TEN * parameter.spread)),
            _told(exp(NINE_OF_TEN * parameter.up)),
            parameter.basis,
            parameter.source,
        )
        for parameter, things in sorted(of.items(), key=lambda item: (-item[0].spread - item[0].up, item[0].name))
    ]


def _told(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
