"""Which design of a front to build, where more money stops to pay, and what the choice would be at other prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dse.buy.regret import REGRET
from dse.evaluate.fullness import fullness
from dse.evaluate.idling import busy_knee
from dse.evaluate.pareto import ALIKE, front_mask, knee, nearness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.aspects import uplink_ratios
from dse.report.losses import lossy_precisions, uncounted_losses
from dse.report.nearest import AS_WELL, shares_worse
from dse.report.payoff import paying
from dse.report.quickest import quickest_alike
from dse.report.robustness import PRICES, Prices
from dse.report.runnable import fits_as_run, runs_otherwise
from dse.report.summary import Summary, summarize
from dse.whatif.answers import SAFE, WhatIf
from dse.whatif.machines import machine_of, stack_of
from simcore.check.load import parse_design
from simcore.layout.solve import NEARLY_FULL
from simcore.provenance import has_fitted_zero

NO_ROOM = 1.0
"""How full a memory is at most."""
BRIM, FROM_BRIM = 0.99, 0.1
"""A memory that is fuller ends a run at the first thing that is not predicted: room in it may cost so much of each
objective (*assumed*)."""
ROOM = ALIKE
"""What room in the memory may cost of each objective: as much as no two rows of a front are told apart by."""
RUNS = 0.1
"""What a design that its stack runs may cost of each objective, beside one that needs code first (*assumed*)."""
SURER = 0.05
"""One design is surer than another one to keep its limits if it does in so many more of the scenarios."""
LIKELY = 0.5
"""A design that keeps its limits in a smaller share of the scenarios is more likely to miss them than not."""
SOUND, FOR_SOUND = 2 / 3, 0.5
"""One that keeps them in such a share, two times in three, may be worse in each objective by so much (*assumed*)."""
UNPROVEN = 0.05
"""What a precision may save of each objective whose tokens are counted at the least: 1.6 times for 1.5 take more."""
_LOOKED_AT = 60
"""Designs near the pick that are looked at for room, the best first."""
_HELD = frozenset({"memory.peak", "memory.reserved"})
"""Objectives that are worth nothing below what an NPU has: the memory is there, and paid."""
_PRICED = 4_000
"""Feasible designs that are priced anew, or asked whether they fit as run, the nearest first."""


def recommended(record: StudyRecord, summary: Summary) -> int | None:
    """The trial to build: that of the front, or one as good without what no objective counts.

    Iterations of old weights are worth less than others, by how much nobody knows; a network with thinner uplinks is
    worth less where anything else shares it. So where the pick of the front has such weights, the best balanced design
    is built that has not and that is worse by less than `AS_WELL` in every objective, be it on the front or not; where
    its uplinks are thinner, likewise one with the widest of these. Where its stack does not run it as it is, one that
    it runs may be worse by `RUNS`. Where its memory is nearly full, or nothing with its ZeRO stage was fitted, one with
    room, and of these one with a stage that was, may be worse by `ROOM`; that is asked once more of what took the place
    of a pick for another reason. None keeps its limits less surely. Where its memory is full to the brim (of a mixture
    of experts, whose routing may be uneven, nearly full), one with room may be worse by `FROM_BRIM`.

    Before all that others take its place: one that is likely to keep its limits (`likely`); where money alone counts
    one that does more with the same machines (`busier`), then one that is surer (`surer`), then one that pays less in
    loss which is not counted (`made_up_for`). What does not fit as its stack runs it is not built, whatever the nearest
    that fits costs (`fitting`).
    """
    number = pick_of_front(record, summary)
    if number is None:
        return None
    number = busier(record, summary, likely(record, summary, number))
    number = made_up_for(record, summary, surer(record, summary, number))
    number = _as_good(record, summary, fitting(record, number))
    built = record.trials.numbered(number)
    if built is not None and _uncounted(built).is_of_memory_or_zero:
        number = _as_good(record, summary, number)
    return from_brim(record, summary, fitting(record, number))


def fitting(record: StudyRecord, number: int) -> int:
    """The nearest feasible design that fits as its stack runs it, where a trial does not; the trial where none does."""
    picked = record.trials.numbered(number)
    if picked is None or fits_as_run(picked):
        return number
    order = shares_worse(record, record.feasible_trials, picked).argsort(kind="stable")[:_PRICED]
    near = (record.feasible_trials[int(place)] for place in order)
    return next((trial.number for trial in near if fits_as_run(trial)), number)


def _as_good(record: StudyRecord, summary: Summary, number: int) -> int:
    """See `recommended`: one with less against it that is not counted, of all but the brim."""
    picked = record.trials.numbered(number)  # a robust pick may be behind the front
    if picked is None or (own := _uncounted(picked)) == _Uncounted():
        return number
    usual = (RUNS, 4 * _LOOKED_AT) if own.otherwise else (ROOM, _LOOKED_AT)
    allowed, most = (AS_WELL, None) if own.old or own.thinning > 1 else usual
    own = own if most else own._replace(otherwise=False, unfitted=False)  # of so many it is not asked
    worse, losses = shares_worse(record, record.feasible_trials, picked), uncounted_losses(picked)
    near = np.flatnonzero(worse <= allowed)
    nearest = np.sort(near[worse[near].argsort(kind="stable")[:most]])
    as_good = [
        (_uncounted(trial, asked=most is not None), far, trial)
        for far, trial in zip(worse[nearest].tolist(), record.feasible_trials.select(nearest), strict=True)
        if not is_less_sure(summary, trial.number, picked.number)
        and (most is None or uncounted_losses(trial) <= losses)
    ]
    if own.otherwise:  # the nearest that runs, and as far beyond it as any other design may be for what is left
        nearest_run = min((far for found, far, _ in as_good if not found.otherwise), default=0.0)
        as_good = [each for each in as_good if each[1] <= nearest_run + ROOM]
    least = min((found for found, *_ in as_good), default=own)
    if own <= least:
        return number
    best = _with_same_machines([trial for found, _, trial in as_good if found == least], picked)
    return quickest_alike(record, balanced(record, best), ROOM, lambda other: other in best).number


def _with_same_machines(trials: list[TrialRecord], picked: TrialRecord) -> list[TrialRecord]:
    """Those with the machines of a trial, and with its stacks, where there are any: settings before purchases."""
    for built_of in (_machines_and_stacks, _machines):
        trials = [trial for trial in trials if built_of(trial) == built_of(picked)] or trials
    return trials


def _machines_and_stacks(trial: TrialRecord) -> tuple[Any, ...]:
    return tuple((machine_of(part.design), stack_of(part.design)) for _, part in trial.parts)


def _machines(trial: TrialRecord) -> tuple[Any, ...]:
    return tuple(machine_of(part.design) for _, part in trial.parts)


def from_brim(record: StudyRecord, summary: Summary, number: int) -> int:
    """The nearest design with room to one whose memory is full to the brim, with no more against it, and as sure.

    One with the same machines and stack comes before others. The trial itself where there is none that is worse by at
    most `FROM_BRIM`, or where it is not so full.
    """
    picked = record.trials.numbered(number)
    if picked is None or fullness(picked) <= brim(picked):
        return number
    own, losses = _uncounted(picked), uncounted_losses(picked)
    worse = shares_worse(record, record.feasible_trials, picked)
    order = worse.argsort(kind="stable")
    near = order[worse[order] <= FROM_BRIM][:_LOOKED_AT]

    def has_room(other: TrialRecord) -> bool:
        found = _uncounted(other)
        no_more = all(its <= picks for its, picks in zip(found, own, strict=True)) and uncounted_losses(other) <= losses
        return not found.full and no_more and not is_less_sure(summary, other.number, number)

    roomy = [other for other in record.feasible_trials.select(near) if has_room(other)]
    return _with_same_machines(roomy, picked)[0].number if roomy else number


def brim(trial: TrialRecord) -> float:
    """How full a memory is at which a run ends at the first thing that is not predicted."""
    designs = [design for _, part in trial.parts if (design := parse_design(part.design or {})[0]) is not None]
    workloads = [job.workload for design in designs for job in design.jobs or (design,)]
    uneven = any(workload.measured_as == "moe" for workload in workloads)
    return NEARLY_FULL if uneven else BRIM


def design_to_build(record: StudyRecord) -> Callable[[WhatIf], TrialRecord | None]:
    """Which trial is to be built, as a function of the answers that are known of a study."""

    def choose(answers: WhatIf) -> TrialRecord | None:
        number = recommended(record, summarize(record, answers))
        return None if number is None else record.trials.numbered(number)

    return choose


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


def likely(record: StudyRecord, summary: Summary, number: int) -> int:
    """The contender nearest to a trial that keeps its limits in `LIKELY` of the scenarios, where the trial does not.

    Then the nearest that keeps them in `SOUND`, where that is worse by at most `FOR_SOUND` in each objective. The trial
    itself where there is none.
    """
    known = summary.what_if.known
    for least, allowed in ((LIKELY, np.inf), (SOUND, FOR_SOUND)):
        own, picked = known.get(number), record.trials.numbered(number)
        if own is None or own.least_kept >= least or picked is None:
            continue
        keeping = (contender for contender, sure in known.items() if sure.least_kept >= least)
        others = record.feasible_trials.numbered_among(keeping)
        worse = shares_worse(record, others, picked) if others else np.empty(0)
        if len(worse) and worse.min() <= allowed:
            number = others[int(worse.argmin())].number
    return number


def surer(record: StudyRecord, summary: Summary, number: int) -> int:
    """A contender that keeps its limits in `SURER` more of the scenarios, worse than a trial by less than `ROOM`.

    The surest, of those that are nearly as sure the nearest; the trial itself where there is none, or where it is safe.
    """
    known = summary.what_if.known
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

    Then likewise to one that pays in loss what is not counted (`uncounted_losses`), the nearest that pays less of it,
    worse by less than `ROOM`. The trial itself where there is none, or it pays nothing.
    """
    for pays, allowed, most in ((lossy_precisions, UNPROVEN, _PRICED), (uncounted_losses, ROOM, 4 * _LOOKED_AT)):
        picked = record.trials.numbered(number)
        if picked is None or not (own := pays(picked)):
            continue
        worse = shares_worse(record, record.feasible_trials, picked)
        order = worse.argsort(kind="stable")
        near = record.feasible_trials.select(order[worse[order] < allowed][:most])
        others = (other.number for other in near if pays(other) < own)
        number = next((other for other in others if not is_less_sure(summary, other, number)), number)
    return number


def is_less_sure(summary: Summary, number: int, than: int) -> bool:
    """Whether a trial is known to keep its limits in `SURER` fewer of the scenarios than another one."""
    known = summary.what_if.known
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

    @property
    def is_of_memory_or_zero(self) -> bool:
        """Whether there is nothing but a full memory or such a stage, if anything."""
        return not self.old and self.thinning <= 1 and not self.otherwise


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
            index = busy_knee(record.objectives, moved[kept])
            if index is not None:
                found[part, factor] = feasible[int(kept[index])]
    return found
