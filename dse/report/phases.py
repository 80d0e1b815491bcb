"""Buying in phases as reports tell it: which plans are worth their money, and growing against buying at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dse.buy.phases import Growth, feasible_sizes, growths
from dse.evaluate.record import Purchase, StudyRecord
from dse.report.describe import headline
from dse.report.units import MISSING, format_number, format_percent, format_with_unit
from dse.space.phases import Plan

HEADINGS = ("plan", "trials", "cluster", "today's money", "paid", "tokens", "per token", "iterations")
NOTE = (
    "Money is today's worth of all that is paid over the life; what is bought later is worth more at its end. Tokens "
    "are those of the whole life; per token both money and tokens are worth less in later years. Of the "
    "plans those are shown that no other does as much as for less. Clusters of a plan are alike but for their size."
)
_CLUSTER = ("NPUs", "topology", "bandwidth", "uplinks")


def name_plan(plan: Plan) -> str:
    """`128 NPUs, 256 from year 2`."""
    first, *later = plan
    said = [f"{first.npus:,} NPUs", *(f"{phase.npus:,} from year {phase.year:g}" for phase in later)]
    return ", ".join(said)


def describe_plans(record: StudyRecord) -> list[str]:
    """The plan that does most for its money, and growing against buying at once; empty without plans."""
    if record.purchase is None or not record.purchase.plans:
        return []
    found = growths(record)
    left_out = _describe_left_out(record, record.purchase.plans, found)
    if not found:
        return [f"In phases: no kind of cluster is feasible in all sizes of a plan{left_out and f'; {left_out}'}."]
    best = min(found, key=_cost_of_work)
    said = [f"In phases, the most for its money: {_tell(record, best)}"]
    for name, rivals in _ways(record.purchase, found).items():
        if best not in rivals and rivals:
            said.append(f"{name}: {_tell(record, min(rivals, key=_cost_of_work))}")
    return [f"{'; '.join(filter(None, [*said, left_out]))}."]


def _describe_left_out(record: StudyRecord, plans: Sequence[Plan], found: Sequence[Growth]) -> str:
    """Plans of which no kind of cluster is feasible in all sizes, and in which size none is; empty without any."""
    followed, feasible = {growth.plan for growth in found}, feasible_sizes(record)
    reasons: dict[str, list[str]] = {}
    for plan in plans:
        if plan not in followed:
            none = [f"{phase.npus:,}" for phase in plan if phase.npus not in feasible]
            why = f"with {' and '.join(none)} NPUs nothing runs every workload within the limits"
            reasons.setdefault(why if none else "no cluster of one kind is feasible in all sizes", []).append(
                name_plan(plan)
            )
    told = [f"{' and '.join(map(repr, names))} ({why})" for why, names in reasons.items()]
    return f"left out: {', '.join(told)}" if told else ""


def _cost_of_work(growth: Growth) -> tuple[float, float]:
    return growth.money / growth.work_today, growth.money


def _ways(purchase: Purchase, found: Sequence[Growth]) -> dict[str, list[Growth]]:
    """The plans by how they buy: growing, what they end with at once, or no more than what they begin with."""
    grown = [plan for plan in purchase.plans if len(plan) > 1]
    ends = {plan[-1].npus for plan in grown}
    ways: dict[str, list[Growth]] = {"growing": [], "at once": [], "never grown": []}
    for growth in found:
        at_once = "at once" if growth.phases[-1].phase.npus in ends else "never grown"
        ways["growing" if len(growth.phases) > 1 else at_once].append(growth)
    return ways


def _tell(record: StudyRecord, growth: Growth) -> str:
    trial = next(trial for trial in record.trials if trial.number == growth.phases[-1].trial)
    cluster = headline(trial.decided_document, _CLUSTER)
    numbers = " and ".join(str(run.trial) for run in growth.phases)
    noun = "trial" if len(growth.phases) == 1 else "trials"
    money = f"{format_with_unit(growth.money, '$')} of today's money"
    return f"{name_plan(growth.plan)} ({noun} {numbers}, {cluster}), {money} for {_work(growth)}"


def _work(growth: Growth) -> str:
    if growth.tokens is None:
        return f"{format_number(growth.iterations)} iterations"
    each = format_with_unit(growth.cost_per_token or 0.0, "$/token")
    return f"{format_number(growth.tokens / 1e12)} T tokens, {each}"


def plan_rows(record: StudyRecord) -> list[tuple[str, ...]]:
    """A row of texts for each plan that is worth its money, under `HEADINGS`."""
    worth = _worth(growths(record))
    last = {t.number: t for t in record.trials.numbered_among(growth.phases[-1].trial for growth in worth)}
    return [_row(growth, last[growth.phases[-1].trial].decided_document) for growth in worth]


def _worth(found: Sequence[Growth]) -> list[Growth]:
    return [growth for growth in found if growth.on_front]


def _row(growth: Growth, document: Any) -> tuple[str, ...]:
    total = sum(run.iterations for run in growth.phases)
    tokens, each = MISSING, MISSING
    if growth.tokens:
        tokens = f"{format_number(growth.tokens / 1e12)} T"
        each = format_with_unit(growth.cost_per_token or 0.0, "$/token")
    shares = ", ".join(format_percent(run.iterations / total) for run in growth.phases)
    return (
        name_plan(growth.plan),
        ", ".join(f"#{run.trial}" for run in growth.phases),
        headline(document, _CLUSTER),
        format_with_unit(growth.money, "$"),
        ", ".join(format_with_unit(run.bought, "$") for run in growth.phases),
        tokens,
        each,
        f"{format_number(total)} ({shares})" if len(growth.phases) > 1 else format_number(total),
    )


def plans_document(record: StudyRecord) -> dict[str, Any]:
    """What `pareto.json` says of buying in phases; empty without plans."""
    if record.purchase is None or not record.purchase.plans:
        return {}
    return {"phases": [_document(growth) for growth in growths(record)]}


def _document(growth: Growth) -> dict[str, Any]:
    runs = [
        {**asdict(run.phase), "until": run.until, "trial": run.trial, "bought": run.bought}
        | {"iterations": run.iterations, "tokens": run.tokens}
        | {"iterations_today": run.iterations_today, "tokens_today": run.tokens_today}
        for run in growth.phases
    ]
    whole = {"money": growth.money, "iterations": growth.iterations, "tokens": growth.tokens}
    return {"plan": name_plan(growth.plan), **whole, "on_front": growth.on_front, "phases": runs}
