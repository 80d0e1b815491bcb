"""Buying in phases as reports tell it: which plans are worth their money, and growing against buying at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dse.buy.phases import Growth, growths
from dse.evaluate.record import StudyRecord
from dse.report.describe import headline
from dse.report.units import MISSING, format_number, format_percent, format_with_unit

HEADINGS = ("plan", "trials", "cluster", "today's money", "paid", "tokens", "per token", "iterations")
NOTE = (
    "Money is today's worth of all that is paid over the life; what is bought later is worth more at its end. Of the "
    "plans those are shown that no other does as much as for less. Clusters of a plan are alike but for their size."
)
_CLUSTER = ("NPUs", "topology", "bandwidth", "uplinks")


def name_plan(growth: Growth) -> str:
    """`128 NPUs, 256 from year 2`."""
    first, *later = [run.phase for run in growth.phases]
    said = [f"{first.npus:,} NPUs", *(f"{phase.npus:,} from year {phase.year:g}" for phase in later)]
    return ", ".join(said)


def describe_plans(record: StudyRecord) -> list[str]:
    """The plan that does most for its money, and growing against buying at once; empty without plans."""
    if record.purchase is None or not record.purchase.plans:
        return []
    found = growths(record)
    if not found:
        return ["In phases: no kind of cluster is feasible in all sizes of a plan."]
    best = min(found, key=lambda growth: (growth.money / growth.iterations, growth.money))
    said = [f"In phases, the most for its money: {_tell(record, best)}"]
    others = [growth for growth in found if _is_at_once(growth) != _is_at_once(best) and _is_same_end(growth, best)]
    if others:
        rival = min(others, key=lambda growth: growth.money / growth.iterations)
        said.append(f"{'at once' if _is_at_once(rival) else 'growing'}: {_tell(record, rival)}")
    return [f"{'; '.join(said)}."]


def _is_at_once(growth: Growth) -> bool:
    return len(growth.phases) == 1


def _is_same_end(one: Growth, other: Growth) -> bool:
    """Whether two plans end with one and the same cluster."""
    return one.phases[-1].trial == other.phases[-1].trial


def _tell(record: StudyRecord, growth: Growth) -> str:
    trial = next(trial for trial in record.trials if trial.number == growth.phases[-1].trial)
    cluster = headline(trial.decided_document, _CLUSTER)
    numbers = " and ".join(str(run.trial) for run in growth.phases)
    noun = "trial" if len(growth.phases) == 1 else "trials"
    money = f"{format_with_unit(growth.money, '$')} of today's money"
    return f"{name_plan(growth)} ({noun} {numbers}, {cluster}), {money} for {_work(growth)}"


def _work(growth: Growth) -> str:
    if growth.tokens is None:
        return f"{format_number(growth.iterations)} iterations"
    return (
        f"{format_number(growth.tokens / 1e12)} T tokens, {format_with_unit(growth.money / growth.tokens, '$/token')}"
    )


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
        each = format_with_unit(growth.money / growth.tokens, "$/token")
    shares = ", ".join(format_percent(run.iterations / total) for run in growth.phases)
    return (
        name_plan(growth),
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
        for run in growth.phases
    ]
    whole = {"money": growth.money, "iterations": growth.iterations, "tokens": growth.tokens}
    return {"plan": name_plan(growth), **whole, "on_front": growth.on_front, "phases": runs}
