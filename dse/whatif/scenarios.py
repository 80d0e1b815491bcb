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

The best design of each machine that the front leaves out (`dse.whatif.machines`) counts beside the contenders, for
shares and regrets, and is not picked; so does the design to build with each other stack. The best with each stack is
compared with the front in the same scenarios.

Nothing is simulated here, and all follows from the journal: the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
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
from dse.whatif.limits import drawn_limits, safe_designs, share_kept
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
    lost = _lost(record, found, drawn)
    kept = [share_kept(limits, one) for one in found]
    members = lost[:, : min(len(front), MOST)]
    elsewhere_drawn = _draw([*elsewhere.best, *elsewhere.restacked], drawn, note)
    others = _lost(record, elsewhere_drawn, drawn)
    there = others[:, : len(elsewhere.best)]
    machines = tuple(
        replace(machine, kept=_told_each(share_kept(limits, one)))
        for machine, one in zip(_machines(elsewhere.best, there, members, machine_of), elsewhere_drawn, strict=False)
    )
    stacks = _machines(elsewhere.stacks, _lost(record, _draw(elsewhere.stacks, drawn, note), drawn), members, stack_of)
    built = _built([*front[:MOST], *elsewhere.best], np.concatenate([members, there], axis=1), members.shape[1])
    compared = _compare(record, trials, len(front), (lost, others), kept, drawn)
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
    losses: tuple[Floats, Floats],
    kept_limits: Sequence[Mapping[str, float]],
    drawn: draws.Scenarios,
) -> Scenarios:
    """The answers of `losses`, `[objectives, contenders, count]`, each to be minimised, of which the first are members.

    The second losses are those of designs elsewhere, which may be better in a scenario, too.
    """
    numbers, (lost, _) = tuple(trial.number for trial in trials), losses
    everywhere = np.concatenate(losses, axis=1)
    on_front = np.mean([front_mask(everywhere[..., scenario].T) for scenario in range(lost.shape[2])], axis=0)
    regrets = regret(everywhere)
    sure = {
        trial.number: Sureness(
            interval_of(trial),
            _told(float(on_front[row])),
            _told(float(regrets[row].mean())),
            _told(_worst_but_one(regrets[row])),
            _intervals(record.objectives, lost[:, row]),
            _told_each(kept_limits[row]),
        )
        for row, trial in enumerate(trials)
    }
    kept = {trial.number for trial in trials[:members]}
    return Scenarios(
        count=drawn.count,
        contenders=numbers,
        members={number: found for number, found in sure.items() if number in kept},
        robust=_robust(record, trials[:members], numbers, lost, sure),
        better=_better(record.objectives, numbers, lost),
        others={number: found for number, found in sure.items() if number not in kept},
        assumptions=tuple(_assumptions(drawn.used)),
        left_out=max(0, members - len(kept)),
    )


def _machines(
    trials: Sequence[TrialRecord], lost: Floats, front: Floats, named: Callable[[Mapping[str, Any] | None], str]
) -> tuple[Machine, ...]:
    """Designs elsewhere, `lost[objectives, trials, count]`, against `front[objectives, members, count]`."""
    return tuple(
        _machine(named(trial.design), trial, values, front)
        for trial, values in zip(trials, lost.swapaxes(0, 1), strict=True)
    )


def _machine(name: str, trial: TrialRecord, values: Floats, front: Floats) -> Machine:
    """A design elsewhere with its `values[objectives, count]`, against `front[objectives, members, count]`."""
    assert trial.design is not None
    behind = [dominated_mask(front[..., at].T, values[None, :, at])[0] for at in range(values.shape[1])]
    return Machine(name, trial.values, trial.design, _told(1 - float(np.mean(behind))))


def _built(trials: Sequence[TrialRecord], lost: Floats, members: int) -> dict[str, float]:
    """In how many scenarios each machine of the front belongs there (`Scenarios.built`).

    `lost[objectives, trials, count]`, of which the first `members` are those of the front.
    """
    names = [machine_of(trial.design) for trial in trials]
    if len(set(names)) < 2:
        return {}
    kept, of = np.array([front_mask(lost[..., scenario].T) for scenario in range(lost.shape[2])]), np.array(names)
    return {name: _told(float(kept[:, of == name].any(axis=1).mean())) for name in dict.fromkeys(names[:members])}


def regret(lost: Floats) -> Floats:
    """By which share each contender is worse than another one in every objective that differs, `[contenders, count]`.

    0 where each other one is worse in some objective. `lost[objectives, contenders, count]`, each to be minimised.
    """
    found = np.zeros(lost.shape[1:])
    for other in range(lost.shape[1]):
        better = lost[:, other : other + 1]
        worse = np.abs(np.where(lost > better, better, 1.0))
        behind = np.divide(lost - better, worse, out=np.full_like(lost, np.inf), where=worse > 0)
        behind = np.where(lost > better, behind, np.inf)  # a price that both pay says nothing
        dominated = (lost >= better).all(axis=0) & (lost > better).any(axis=0)
        found = np.maximum(found, np.where(dominated, behind.min(axis=0), 0.0))
    return found


def shortfall(front: Floats, lost: Floats) -> Floats:
    """By how much each contender lies behind the best compromise, `[contenders, count]`.

    `front[members, objectives]` is as predicted; `lost[objectives, contenders, count]` begins with the members.
    """
    scaled = (lost / compromise_units(front, lost[:, : len(front)])).sum(axis=0)
    behind: Floats = scaled - scaled.min(axis=0)
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
    lost: Floats,
    sure: Mapping[int, Sureness],
) -> int:
    place = {trial.number: index for index, trial in enumerate(record.front)}  # of equal designs the simplest
    if (lost != lost[:, :1]).any(axis=(1, 2)).sum() <= 1:

        def key(number: int) -> tuple[float, ...]:
            its = sure[number]
            return its.regret_p90, -its.least_kept, -its.on_front, place.get(number, len(place))

        best, on_front = min(numbers, key=key), min(place.keys() & {*numbers}, key=key)
        return best if sure[best].regret_p90 < sure[on_front].regret_p90 - _TELLING else on_front
    behind = shortfall(record.losses(tuple(front)), lost)
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


def _told_each(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: _told(share) for name, share in shares.items()}


def _told(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
