"""The decision of a study in three sentences: what to build, what it gives and costs, and what would change that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dse.buy.regret import REGRET
from dse.evaluate.aggregate import is_shared
from dse.evaluate.fullness import fullness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.assumptions import describe_assumptions
from dse.report.batches import Answer, at_batches, beyond_batches
from dse.report.built import describe_build
from dse.report.choice import (
    FROM_BRIM,
    ROOM,
    SURER,
    UNPROVEN,
    best_with_room,
    brim,
    has_unfitted_zero,
    knees_at_prices,
    paid_from,
    pick_of_front,
    recommended,
    thinning,
    updates_old,
)
from dse.report.families import Family, families
from dse.report.futures import describe_robust_choice
from dse.report.intervals import describe_value, interval_of
from dse.report.jobs import name_slowest
from dse.report.left_out import describe_recomputed, describe_sizes, describe_usual
from dse.report.limits import describe_kept_limits, describe_near_limits
from dse.report.losses import lossy_precisions, name_losses, uncounted_losses
from dse.report.machines import describe_machines
from dse.report.measured_rival import describe_measured_rival
from dse.report.nearest import AS_WELL, shares_worse
from dse.report.open_work import describe_open_work
from dse.report.orders import describe_orders, is_bought
from dse.report.payoff import Payoff, is_told_beside, paying, payoff
from dse.report.power import describe_draw
from dse.report.quickest import buy_the_same, is_spent_anyway, saves_power, times_as_long
from dse.report.reasons import describe_load
from dse.report.rival import describe_doubt, describe_rival
from dse.report.robustness import PRICES
from dse.report.room import describe_memory_left, describe_room
from dse.report.runnable import describe_otherwise, fits_as_run, runs_otherwise
from dse.report.speed import describe_speed
from dse.report.straggling import describe_straggling
from dse.report.summary import Summary
from dse.report.units import (
    clean_text,
    format_brief,
    format_percent,
    format_with_unit,
    label,
    list_words,
    short_label,
)
from dse.report.values import read_result
from dse.report.workloads import regret_phrases, vanishing
from simcore.layout.solve import NEARLY_FULL
from simcore.metrics import exponent_of

_SHARE = 1e3
"""A loss that is no longer told as a share: that of what is nothing."""
_ON = 0.0005
"""A regret below this is none."""
_PARTS = {"network": "networks", "npu": "NPUs", "memory": "memory"}
_PLANNED = ("iteration_time", "time_to_train", "time_to_first_token", "time_per_output_token")
"""Times by which a plan or a promise is made: never without how sure they are."""
_LEAVES_OUT_OLD = "('constraints: [staleness <= 0]' leaves such designs out)"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a study comes to."""

    trial: int | None
    """The design to build; None where nothing is feasible."""
    sentences: tuple[str, ...]
    """What to build; what it gives and costs; how much any future regrets it; how near other machines come; where more
    money stops to pay and what would change the choice; whether it can be ordered, where that is not sure."""
    assumptions: tuple[str, ...]
    """What the answer rests on: prices, devices, networks."""


def describe_decision(record: StudyRecord, summary: Summary) -> Decision:
    """The decision of a study, in words; without sentences where nothing is feasible."""
    number = recommended(record, summary)
    if number is None:
        return Decision(None, (), ())
    trial = record.trials.numbered(number)
    assert trial is not None
    told = (
        describe_build(trial),
        describe_open_work(record),
        _describe_paying(record, summary, trial),
        describe_memory_left(record, summary),
        _describe_staleness(trial) or _describe_passed_over(record, summary, trial),
        _expect(record, summary, trial),
        _describe_thinning(trial),
        describe_measured_rival(record, trial, summary.what_if.machines),
        describe_kept_limits(record, summary, trial),
        describe_robust_choice(record, summary, trial),
        describe_machines(record, summary),
        describe_sizes(summary),
        describe_recomputed(record, summary),
        describe_usual(record, summary),
    )
    sentences = (*told, _change(record, summary, trial), describe_orders(record, trial))
    return Decision(number, tuple(s for s in sentences if s), describe_assumptions(record, summary, trial))


def _describe_paying(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    """A sentence where a dearer design than the robust pick is built, as money buys time.

    Where another one than that is built, only that the robust pick has no room in its memory, if that is so.
    """
    start, robust = paid_from(record, summary), summary.what_if.robust
    dearer = None if start is None or best_with_room(record, summary) is not None else paying(record, summary, start)
    if dearer is None:
        return ""
    of = "robust pick" if start == robust else "knee"
    if dearer != trial.number:
        cheaper = None if start == trial.number else next((one for one in summary.front if one.number == start), None)
        full = 0.0 if cheaper is None else fullness(cheaper)
        return f"The memory of trial {start}, the {of}, is {format_percent(full)} full." if full > NEARLY_FULL else ""
    regretted = [_bought(o.name, record) for o in record.objectives if o.name.endswith(REGRET)]
    return (
        f"Trial {start}, the {of}, is cheaper, but from there on each percent of money buys more than a percent of "
        f"{regretted[0] if regretted else 'time'}."
    )


def _bought(name: str, record: StudyRecord) -> str:
    """What money buys of an objective; of a regret it is what the future, or the workload, has that loses most."""
    of = "future" if record.purchase is not None and record.purchase.futures else "workload"
    regretted = f" in the {of} that loses most" if name.endswith(REGRET) else ""
    return f"{clean_text(label(name.removesuffix(REGRET)))}{regretted}"


def _describe_passed_over(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    """Which designs of the front are better only by what no objective counts, where the one to build has none of it."""
    number = pick_of_front(record, summary)
    if number is not None and number != trial.number:
        picked = record.trials.numbered(number) or trial
        share, why = (
            _why_busier(record, picked, trial) or _why_surer(summary, number, trial) or _why_passed_over(picked, trial)
        )
        if all(member.number != number for member in summary.front):
            robust = ", the robust pick," if number == summary.what_if.robust else ""
            return f"Trial {number}{robust} is not built: {why}."
        far = float(shares_worse(record, (trial,), picked)[0])
        little = min(share, ROOM) if far <= ROOM else share
        by = f"less than {format_percent(little)}" if far <= little else format_percent(far)
        better = f"better{f' by {by}' if far < _SHARE else ''}" if far > 0 else "as good"
        return f"Trial {number} of the front is {better}, but {why}."
    old = sum(updates_old(member) > 0 for member in summary.front)
    if not old:
        return ""
    return (
        f"{old:,} of the {len(summary.front):,} designs on the front have gradients of old weights: iterations are "
        f"compared, not trainings, and how many more tokens these need is not modelled {_LEAVES_OUT_OLD}."
    )


def _why_busier(record: StudyRecord, picked: TrialRecord, trial: TrialRecord) -> tuple[float, str] | None:
    """As `_why_passed_over`, where the pick does less with what it buys."""
    longer = times_as_long(picked, trial)
    if not is_spent_anyway(record) or longer <= 1 or not buy_the_same(picked, trial):
        return None
    how = f"{longer:.2g} times as long" if longer >= 1.5 else f"{format_percent(longer - 1)} longer"
    return ROOM, f"it takes {how} on the same machines{': what it saves is power' if saves_power(record) else ''}"


def _why_surer(summary: Summary, picked: int, trial: TrialRecord) -> tuple[float, str] | None:
    """As `_why_passed_over`, where the pick is less sure to keep its limits."""
    sure = {number: each.least_kept for number, each in summary.what_if.known.items()}
    if sure.get(picked, 1.0) + SURER > sure.get(trial.number, 0.0):
        return None
    shares = f"{format_percent(sure[picked])} of the scenarios, this one in {format_percent(sure[trial.number])}"
    return ROOM, f"it keeps its limits in {shares}"


def _why_passed_over(picked: TrialRecord, trial: TrialRecord) -> tuple[float, str]:
    """The share by which the pick of the front is better at most than the design to build, and what it has instead."""
    if updates_old(picked):
        return AS_WELL, "its gradients are of old weights, and how many more tokens it needs is not modelled"
    if (lossy := lossy_precisions(picked)) and not lossy_precisions(trial):
        return UNPROVEN, (
            f"in {list_words(sorted(lossy))}, whose loss no published run has made up for: the tokens that it takes "
            "are counted at the least"
        )
    if more := uncounted_losses(picked) - uncounted_losses(trial):
        return ROOM, f"what {list_words(name_losses(more))} may cost in loss is not counted"
    if thinning(picked) > thinning(trial):
        return AS_WELL, (
            f"its network is {format_brief(thinning(picked))}:1 oversubscribed, which costs more where other jobs, "
            "storage or replaced nodes share it: that is not modelled"
        )
    if runs_otherwise(picked) and not runs_otherwise(trial):
        breaks = "" if fits_as_run(picked) else ", and as it runs it, it does not fit"
        return ROOM, f"{describe_otherwise(picked.design)}{breaks}"
    more_room = fullness(picked) > NEARLY_FULL >= fullness(trial)
    if not more_room and has_unfitted_zero(picked) and not has_unfitted_zero(trial):
        return ROOM, "the times of its stack were fitted on no iteration with its ZeRO stage"
    return FROM_BRIM if fullness(picked) > brim(picked) else ROOM, (
        f"its memory is {format_percent(fullness(picked))} full: no room for what is not predicted, such as fragments"
    )


def _describe_staleness(trial: TrialRecord) -> str:
    """That iterations are no measure of a training whose weights are old, where those of the design are."""
    said = []
    for name, part in trial.parts:
        staleness = (part.metrics or {}).get("staleness")
        if staleness is not None:
            age = f"{staleness['updates']} update{'s' if staleness['updates'] > 1 else ''}"
            of = f" of {clean_text(name)}" if name else ""
            said.append(f"its gradients{of} are of weights up to {age} old")
    if not said:
        return ""
    text = list_words(said)
    return (
        f"{text[0].upper()}{text[1:]}: iterations are compared here, not trainings, and how many more tokens it needs "
        f"is not modelled {_LEAVES_OUT_OLD}."
    )


def _describe_thinning(trial: TrialRecord) -> str:
    """What is not counted of a network with thinner uplinks."""
    thin = thinning(trial)
    if thin <= 1:
        return ""
    others = "storage" if (trial.design or {}).get("jobs") else "other jobs, storage"
    return (
        f"Its network is {format_brief(thin)}:1 oversubscribed: what that costs where {others} or replaced nodes share "
        "it is not modelled."
    )


def _expect(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    told = _with_intervals(record, summary, trial)
    given = [describe_value(o, summary, trial, with_interval=o.name in told) for o in record.objectives]
    of_all = _describe_aggregate(record, trial) or _describe_slowest(record, trial)
    parts = [f"Expect {list_words(given)}{of_all}", describe_speed(record, trial)]
    parts += ["" if trial.workloads else describe_load(trial.metrics, trial.design)]
    parts += [describe_straggling(trial), _describe_price(record, trial), _describe_draw(record, trial)]
    parts += [", ".join(regret_phrases(record, summary, trial)), _describe_sureness(summary, trial)]
    return f"{'; '.join(part for part in parts if part)}."


_AGGREGATES = {"weighted": "the mean of its workloads by weight", "worst": "the worst of its workloads by weight"}


def _describe_aggregate(record: StudyRecord, trial: TrialRecord) -> str:
    """What one value of several workloads is; empty where there is one workload, or their values are shared."""
    purchase = record.purchase
    if purchase is None or purchase.futures or purchase.aggregate not in _AGGREGATES:
        return ""
    their = [clean_text(short_label(objective.name)) for objective in record.objectives if not is_shared(objective)]
    lost = vanishing(record, trial)
    of_them = f", of which {list_words(lost)} is less than 1 %" if lost else ""
    how = f"{of_them}: study.aggregate: regret weighs all alike" if lost else ""
    return f" ({list_words(their)}: {_AGGREGATES[purchase.aggregate]}{how})" if their else ""


def _describe_slowest(record: StudyRecord, trial: TrialRecord) -> str:
    """Whose iteration it is, of several jobs side by side; empty where there is one."""
    slowest = "" if trial.metrics is None else name_slowest(read_result(trial.metrics).jobs)
    if not slowest or not any("iteration_time" in objective.names for objective in record.objectives):
        return ""
    return f" (iteration time: {slowest}'s, the longest of its jobs)"


def _with_intervals(record: StudyRecord, summary: Summary, trial: TrialRecord) -> set[str]:
    """Objectives that are told with their interval.

    The first one of time, those that plans and promises are made by, the first one of money that depends on it,
    and the first one of money alone.
    """
    sure = [o for o in record.objectives if interval_of(o, summary, trial)]
    timed = [o for o in sure if any(exponent_of(name, "time") for name in o.names)]
    paid = [o for o in timed if o.unit.startswith("$")]
    planned = [o for o in timed if o.name in _PLANNED]
    return {o.name for o in (*timed[:1], *planned, *paid[:1], *[o for o in sure if o not in timed][:1])}


def _describe_price(record: StudyRecord, trial: TrialRecord) -> str:
    """What the cluster costs, unless an objective says so, or it is not for sale."""
    price = ((trial.metrics or {}).get("cost") or {}).get("total")
    told = any(name.startswith("cost.") for o in record.objectives for name in o.names)
    if not price or told or not is_bought(record, trial):
        return ""
    return f"the cluster costs {format_with_unit(price, '$')}"


def _describe_draw(record: StudyRecord, trial: TrialRecord) -> str:
    """What it draws, unless an objective says so."""
    told = trial.metrics is None or any(name.startswith("power") for o in record.objectives for name in o.names)
    return "" if told or trial.workloads else describe_draw(read_result(trial.metrics or {}))


def _describe_sureness(summary: Summary, trial: TrialRecord) -> str:
    sure = summary.what_if.known.get(trial.number)
    if sure is None:
        return ""
    if sure.regret_p90 < _ON:
        return "in nine of ten scenarios no other is better in everything"
    behind = f"{format_percent(sure.regret_p90)} behind"
    if not sure.on_front:  # chosen for what no objective counts, or always behind a design on another machine
        return f"at most {behind} the front in nine of ten scenarios"
    return f"on the front in {format_percent(sure.on_front)} of the scenarios, at most {behind} it in nine of ten"


def _change(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    found = families(record, summary)
    pay = payoff(record, summary, pick_of_front(record, summary), trial)
    dearer = None if pay is None or not is_told_beside(record, trial, pay) else pay
    clauses = []
    if dearer is not None:
        doubt = describe_doubt(dearer.bought, summary, trial, dearer.trial)
        clauses += [_describe_payoff(record, dearer, dearer.trial.number == trial.number, doubt)]
    clauses += [clause for clause in _changes(record, summary, trial, found) if clause]
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _describe_payoff(record: StudyRecord, pay: Payoff, here: bool, doubt: str) -> str:
    """Where money stops to pay; `here` where the design to build is there.

    `doubt` says why it is not known that what is bought differs from what the design to build has.
    """
    price, bought = (format_with_unit(pay.trial.values[o.name], o.unit, o.name) for o in (pay.price, pay.bought))
    unsure = f": {doubt}" if doubt else ""
    where = "this design" if here else f"{price} (trial {pay.trial.number}, {bought}{unsure})"
    what = _bought(pay.bought.name, record)
    dearest = "the dearest that its stack runs" if pay.beyond else "the dearest of the front"
    since = f"from {format_with_unit(pay.since.values[pay.price.name], pay.price.unit, pay.price.name)} on"
    if pay.after is None and here:
        return f"this design is {dearest}: 1 % of money buys {_of(pay.before)} of {what} {since}"
    if pay.after is None:
        return f"more money pays up to {where}, {dearest}: 1 % buys {_of(pay.before)} of {what} {since}"
    if pay.before is None:
        return f"more money than for {where} does not pay: 1 % buys {_of(pay.after)} of {what}"
    return (
        f"more money stops to pay at {where}: 1 % buys {_of(pay.before)} of {what} up to there, {_of(pay.after)} beyond"
    )


def _of(gain: float | None) -> str:
    assert gain is not None
    return "less than 0.01 %" if gain < 0.01 else f"{gain:.2g} %"


def _changes(record: StudyRecord, summary: Summary, trial: TrialRecord, found: tuple[Family, ...]) -> Iterator[str]:
    rival = describe_rival(record, summary, trial, found)
    yield rival.text
    yield describe_room(record, trial, rival.number)
    at_prices = _at_prices(record, summary, found) if summary.knee == trial.number else ()
    answers = (*at_prices, *at_batches(summary, trial))
    yield from (text for text, changes in answers if changes)
    kept = " and ".join(text for text, changes in answers if not changes)
    yield f"{kept} keep it" if kept else ""
    yield beyond_batches(record, summary, trial)
    yield describe_near_limits(trial)


def _at_prices(record: StudyRecord, summary: Summary, found: tuple[Family, ...]) -> Iterator[Answer]:
    """Which prices move the knee to another family."""
    home = next((family.trials for family in found if summary.knee in family.trials), ())
    knees, shift = knees_at_prices(record), format_percent(PRICES)
    causes: dict[int, dict[str, list[str]]] = {}
    for (part, factor), trial in knees.items():
        if trial.number not in home:
            ways = causes.setdefault(trial.number, {}).setdefault(part, [])
            ways.append("dearer" if factor > 1 else "cheaper")
    passed_over = pick_of_front(record, summary)
    for number, parts in causes.items():
        told = [f"{_PARTS[part]} {shift} {' or '.join(ways)}" for part, ways in parts.items()]
        if number != passed_over:  # that one is not built at today's prices either, for what no objective counts
            yield f"with {' or '.join(told)} the choice is trial {number}", True
    if knees and not causes:
        yield f"prices ±{shift}", False
