"""A cluster that is bought for several workloads, as reports tell it: each one's software, its value, its regret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.buy.regret import Regret, regrets
from dse.evaluate.aggregate import is_shared
from dse.evaluate.record import Purchase, StudyRecord, TrialRecord
from dse.report.describe import compare, headline
from dse.report.summary import Summary
from dse.report.units import MISSING, clean_text, format_percent, format_with_unit, label, list_words, scale
from dse.report.values import finite_or_none, to_plain, trial_metrics

VANISHING = 0.01
"""A share of a mean below which what a workload takes is lost in it."""
EXPLAINED = (
    "Regret: how much worse than on the cluster that is best for it alone; at its price: than on the best one that "
    "costs no more. Both are against the clusters of this study."
)


@dataclass(frozen=True, slots=True)
class WorkloadTable:
    """One workload over the members of the front: headings and a row of texts for each."""

    title: str
    common: str
    """What its software shares on all of them."""
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def vanishing(record: StudyRecord, trial: TrialRecord) -> list[str]:
    """Workloads that are less than `VANISHING` of a mean over all, so that it does not say how they fare."""
    purchase = record.purchase
    if purchase is None or purchase.aggregate != "weighted" or purchase.futures:
        return []
    found = []
    for objective in (each for each in record.objectives if not is_shared(each) and each.sign > 0):
        shares = [
            weight * workload.values.get(objective.name, 0.0)
            for weight, workload in zip(purchase.weights, trial.workloads, strict=True)
        ]
        names = zip(purchase.names, shares, strict=True)
        found += [clean_text(name) for name, share in names if 0 <= share < VANISHING * sum(shares)]
    return list(dict.fromkeys(found))


def workload_tables(record: StudyRecord, summary: Summary, software: bool) -> list[WorkloadTable]:
    """A table for each workload; `software` adds a column for each thing in which its software differs."""
    purchase = record.purchase
    if purchase is None:
        return []
    return [_table(purchase, summary, index, software) for index in range(len(purchase.names))]


def _table(purchase: Purchase, summary: Summary, index: int, software: bool) -> WorkloadTable:
    regret, tune = summary.regrets[index], purchase.tune
    parts = [trial.parts[index][1] for trial in summary.front]
    compared = compare([_software(part, purchase) for part in parts])
    values = [finite_or_none(tune.value(trial_metrics(part), part.design or {})) for part in parts]
    unit = scale(tune.unit, values, tune.name)
    rows = []
    for trial, value, told in zip(summary.front, values, compared.rows, strict=True):
        loss = regret.losses.get(trial.number)
        lost = (MISSING, MISSING) if loss is None else (format_percent(loss.regret), format_percent(loss.at_price))
        rows.append((unit.number(value), *lost, *(told if software else ())))
    heading = f"{label(tune.name)} [{unit.unit}]" if unit.unit else label(tune.name)
    columns = compared.columns if software else ()
    return WorkloadTable(
        purchase.names[index], compared.common, (heading, "regret", "at its price", *columns), tuple(rows)
    )


def told_regrets(summary: Summary) -> tuple[Regret, ...]:
    """Whose regrets are told where there is room for few: the futures', else the workloads'."""
    return summary.futures or summary.regrets


def regret_phrases(record: StudyRecord, summary: Summary, trial: TrialRecord) -> tuple[str, ...]:
    """For each future or workload its tuned metric and its regret on a cluster: `gpt3 12.05 s (+3.1 %)`."""
    purchase = record.purchase
    if purchase is None:
        return ()
    tune, told = purchase.tune, []
    worse = "+" if tune.sign > 0 else "\N{MINUS SIGN}"
    for regret in told_regrets(summary):
        loss = regret.losses.get(trial.number)
        value = MISSING if loss is None else format_with_unit(loss.value, tune.unit, tune.name)
        lost = "" if loss is None else f" ({worse}{format_percent(loss.regret)})"
        told.append(f"{clean_text(regret.name)} {value}{lost}")
    return tuple(told)


def _software(trial: TrialRecord, purchase: Purchase) -> Mapping[str, Any] | None:
    """The sections of a design that are tuned."""
    if trial.design is None:
        return None
    kept = {section: content for section, content in trial.design.items() if section not in purchase.sections}
    placement = trial.design["cluster"].get("placement")
    return kept | ({"cluster": {"placement": placement}} if placement else {})


def describe_own_best(record: StudyRecord, summary: Summary) -> list[str]:
    """The cluster that each future or workload would choose alone, and what that costs the others: a sentence each."""
    purchase = record.purchase
    if purchase is None:
        return []
    trials = {trial.number: trial for trial in record.trials}
    choosers: dict[int | None, list[Regret]] = {}
    for regret in told_regrets(summary):
        choosers.setdefault(regret.best, []).append(regret)
    sentences = []
    for number, alike in choosers.items():
        if number is None:
            sentences += [f"{clean_text(regret.name)} alone: no cluster runs it." for regret in alike]
            continue
        trial = trials[number]
        values = [format_with_unit(regret.value, purchase.tune.unit, purchase.tune.name) for regret in alike]
        price = format_with_unit(trial_metrics(trial.parts[0][1])["cost.total"], "$")
        cluster = headline(trial.decided_document, ("NPUs", "topology", "bandwidth", "uplinks"))
        names = list_words([clean_text(regret.name) for regret in alike], "or")
        text = f"{names} alone would choose trial {number} ({cluster}): {list_words(values, 'or')}, {price} to buy"
        sentences.append(f"{text}{_describe_others(trial, [regret.name for regret in alike], summary)}.")
    return sentences


def _describe_others(trial: TrialRecord, names: Sequence[str], summary: Summary) -> str:
    said = []
    for other in told_regrets(summary):
        if other.name not in names:
            loss = other.losses.get(trial.number)
            fate = "does not meet all limits" if loss is None else f"loses {format_percent(loss.regret)}"
            said.append(f"{clean_text(other.name)} {fate}")
    return f"; there {', '.join(said)}" if said else ""


def member_workloads(record: StudyRecord, summary: Summary, trial: TrialRecord) -> list[dict[str, Any]]:
    """The workloads of a member of the front for `pareto.json`: complete designs, results, and regrets."""
    purchase = record.purchase
    if purchase is None:
        return []
    out = []
    for workload, weight, regret in zip(trial.workloads, purchase.weights, summary.regrets, strict=True):
        loss = regret.losses.get(trial.number)
        lost = None if loss is None else {"own_best": loss.regret, "at_price": loss.at_price}
        out.append(
            {
                "name": workload.name,
                "weight": weight,
                "values": workload.values,
                "regret": lost,
                "best_at_price": None if loss is None else loss.best_at_price,
                "params": workload.params,
                "design": workload.design,
                "metrics": workload.metrics,
            }
        )
    return out


def workload_cells(record: StudyRecord) -> dict[int, dict[str, Any]]:
    """The cells of every trial that speak of one workload: trial -> column -> value."""
    purchase = record.purchase
    if purchase is None:
        return {}
    cells: dict[int, dict[str, Any]] = {}
    everything = regrets(record)
    for trial in record.trials:
        row = cells[trial.number] = {}
        for workload, regret in zip(trial.workloads, everything, strict=True):
            loss = regret.losses.get(trial.number)
            found: dict[str, Any] = {"state": workload.state}
            if workload.state in ("feasible", "infeasible"):
                found |= {name: finite_or_none(value) for name, value in workload.values.items()}
            if loss is not None:
                found |= {"regret": finite_or_none(loss.regret), "regret at price": finite_or_none(loss.at_price)}
            found |= {"cut_by": workload.cut_by, **{path: to_plain(value) for path, value in workload.params.items()}}
            row |= {f"{workload.name}: {name}": value for name, value in found.items() if value is not None}
    return cells


def purchase_document(record: StudyRecord, summary: Summary) -> dict[str, Any]:
    """What `pareto.json` says of the purchase as a whole; empty where nothing was bought."""
    purchase = record.purchase
    if purchase is None:
        return {}
    own: Sequence[dict[str, Any]] = [
        {"name": regret.name, "weight": regret.weight, "trial": regret.best, "value": regret.value}
        for regret in summary.regrets
    ]
    return {
        "decided": list(purchase.sections),
        "tuned_for": purchase.tune.name,
        "aggregate": purchase.aggregate,
        "own_best": list(own),
    }
