"""Several futures as reports tell them: what a cluster is worth in each, how much it regrets, and the robust choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dse.buy.regret import REGRET, Regret, future_regrets, worst_regret
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.describe import headline
from dse.report.summary import Summary
from dse.report.units import MISSING, clean_text, format_percent, label, scale
from dse.report.values import finite_or_none
from dse.space.futures import Future

NONE = 0.0005
"""A regret below this is none."""
_CLUSTER = ("NPUs", "topology", "bandwidth", "uplinks")


@dataclass(frozen=True, slots=True)
class FutureTable:
    """Every future over the members of the front: headings, and a row of texts for each member."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def describe_robust_choice(record: StudyRecord, summary: Summary, trial: TrialRecord) -> str:
    """How much the cluster to build can be regretted, and which cluster is regretted least; empty without futures."""
    robust = least_regretted(record, summary)
    found = worst_regret(summary.futures, trial.number)
    if record.purchase is None or robust is None or found is None:
        return ""
    tuned = clean_text(label(record.purchase.tune.name))
    cheaper = any(_price(other) < _price(trial) for other in record.feasible_trials)
    at_price = _describe_at_price(summary, trial, found[0]) if cheaper else ""
    text = f"In {tuned} it is {_describe_most(*found)}{at_price}"
    if robust[0].number == trial.number:
        return f"{text}: no cluster is regretted less."
    cluster = headline(robust[0].decided_document, _CLUSTER)
    least = worst_regret(summary.futures, robust[0].number)
    assert least is not None
    built = f"trial {robust[0].number} ({cluster})"
    return f"{text}. The robust choice at any price is to build {built}: {_describe_most(*least)}."


def _describe_most(regret: float, where: str) -> str:
    if regret < NONE:
        return "the best cluster of every future"
    return f"never more than {format_percent(regret)} worse than the best cluster of any future ({clean_text(where)})"


def _describe_at_price(summary: Summary, trial: TrialRecord, regret: float) -> str:
    at_price, where = max((party.losses[trial.number].at_price, party.name) for party in summary.futures)
    if regret - at_price < NONE:
        return ""
    if at_price < NONE:
        return ", and the best for its money in each"
    return f", {format_percent(at_price)} than the best for its money ({clean_text(where)})"


def regret_phrase(summary: Summary, trial: TrialRecord) -> tuple[str, ...]:
    """The worst regret of a cluster in a few words; nothing where a future cannot run there."""
    found = worst_regret(summary.futures, trial.number)
    if found is None:
        return ()
    if found[0] >= NONE:
        return (f"regret {format_percent(found[0])} ({clean_text(found[1])})",)
    others = [value for name, value in trial.values.items() if name.endswith(REGRET)]
    return ("no regret",) if max(others, default=0.0) < NONE else ()  # of one metric it says nothing of the others


def least_regretted(record: StudyRecord, summary: Summary) -> tuple[TrialRecord, float] | None:
    """The feasible cluster with the least worst regret, of equal ones the cheapest; None without futures."""
    if not summary.futures:
        return None
    known = [(trial, worst_regret(summary.futures, trial.number)) for trial in record.feasible_trials]
    found = [(trial, worst[0]) for trial, worst in known if worst is not None]
    return min(found, key=lambda pair: (pair[1], _price(pair[0]), pair[0].number)) if found else None


def _price(trial: TrialRecord) -> float:
    return float(sum(part.metrics["cost"]["total"] for _, part in trial.parts if part.metrics is not None))


def describe_future(future: Future, names: tuple[str, ...]) -> str:
    """How likely a future is, and what runs in it: `long context (30 %): 75 % gpt3, 25 % chat`."""
    mix = [f"{format_percent(s)} {clean_text(n)}" for s, n in zip(future.shares, names, strict=True) if s]
    alone = next((clean_text(n) for s, n in zip(future.shares, names, strict=True) if s == 1.0), None)
    held = "" if future.years is None else f"; its change holds from year {future.years[0]:g} to {future.years[1]:g}"
    return f"{clean_text(future.name)} ({format_percent(future.weight)}): {alone or ', '.join(mix)}{held}"


def future_table(record: StudyRecord, summary: Summary) -> FutureTable | None:
    """What each member of the front is in each future; None without futures."""
    if record.purchase is None or not summary.futures:
        return None
    tune, numbers = record.purchase.tune, [trial.number for trial in summary.front]
    headings: list[str] = []
    columns: list[list[str]] = []
    for regret in summary.futures:
        losses = [regret.losses.get(number) for number in numbers]
        unit = scale(tune.unit, [None if loss is None else loss.value for loss in losses], tune.name)
        name = clean_text(regret.name)
        headings += [f"{name} [{unit.unit}]" if unit.unit else name, "regret", "at its price"]
        columns.append([MISSING if loss is None else unit.number(loss.value) for loss in losses])
        columns.append([MISSING if loss is None else format_percent(loss.regret) for loss in losses])
        columns.append([MISSING if loss is None else format_percent(loss.at_price) for loss in losses])
    worst = [worst_regret(summary.futures, number) for number in numbers]
    columns.append([MISSING if found is None else format_percent(found[0]) for found in worst])
    return FutureTable((*headings, "worst regret"), tuple(zip(*columns, strict=True)))


def futures_document(record: StudyRecord, summary: Summary) -> dict[str, Any]:
    """What `pareto.json` says of the futures as a whole; empty without them."""
    purchase = record.purchase
    if purchase is None or not purchase.futures:
        return {}
    told = zip(purchase.futures, summary.futures, strict=True)
    robust = least_regretted(record, summary)
    return {
        "futures": [_future_document(future, regret, purchase.names) for future, regret in told],
        "least_regretted": None if robust is None else {"trial": robust[0].number, "worst_regret": robust[1]},
    }


def _future_document(future: Future, regret: Regret, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": future.name,
        "weight": future.weight,
        "shares": {name: share for name, share in zip(names, future.shares, strict=True) if share},
        "years": None if future.years is None else list(future.years),
        "own_best": {"trial": regret.best, "value": regret.value},
    }


def member_futures(summary: Summary, trial: TrialRecord) -> dict[str, Any]:
    """The futures of one cluster for JSON; empty without them."""
    if not summary.futures:
        return {}
    worst = worst_regret(summary.futures, trial.number)
    each = [_member_future(regret, trial) for regret in summary.futures]
    return {"futures": each, "worst_regret": None if worst is None else worst[0]}


def _member_future(regret: Regret, trial: TrialRecord) -> dict[str, Any]:
    loss = regret.losses.get(trial.number)
    if loss is None:
        return {"name": regret.name, "value": None, "regret": None, "best_at_price": None}
    lost = {"own_best": loss.regret, "at_price": loss.at_price}
    return {"name": regret.name, "value": loss.value, "regret": lost, "best_at_price": loss.best_at_price}


def future_cells(record: StudyRecord) -> dict[int, dict[str, Any]]:
    """The cells of every trial that speak of futures: trial -> column -> value."""
    futures = future_regrets(record)
    cells: dict[int, dict[str, Any]] = {}
    for trial in record.trials if futures else ():
        row = cells[trial.number] = {}
        for regret in futures:
            loss = regret.losses.get(trial.number)
            if loss is not None:
                found = {"value": loss.value, "regret": loss.regret, "regret at price": loss.at_price}
                row |= {f"future {regret.name}: {key}": finite_or_none(value) for key, value in found.items()}
        worst = worst_regret(futures, trial.number)
        if worst is not None:
            row["worst regret"] = finite_or_none(worst[0])
    return cells
