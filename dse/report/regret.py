"""How much a workload loses by sharing a cluster: its regret.

Let v(c) be the tuned metric of a workload with its best software on cluster c, over all clusters of the study on which
that workload is feasible (whether or not the others are), and p(c) what it pays (`cost.total`).

- *own best*: the cluster with the best v; of equal ones the cheapest, then the first.
- *regret* of c: how much worse v(c) is than the own best, relative to the own best.
- *regret at its price*: the same against the best v among clusters with p <= p(c): what the money could have bought.

Both are >= 0, and 0 where the cluster is the workload's own choice. They are against the clusters that were evaluated:
exact after an exhaustive study, a lower bound after any other.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.values import trial_metrics
from dse.space.objective import Objective


@dataclass(frozen=True, slots=True)
class Loss:
    """What one workload has on one cluster."""

    value: float
    """Of the tuned metric, in its own direction and SI units."""
    regret: float
    at_price: float
    best_at_price: int
    """Trial of the best cluster that costs no more."""


@dataclass(frozen=True, slots=True)
class WorkloadRegret:
    """One workload over all clusters."""

    name: str
    weight: float
    best: int | None
    """Trial of its own best cluster; None where no cluster runs it."""
    value: float | None
    """The tuned metric there."""
    losses: dict[int, Loss]
    """By trial."""


def regrets(record: StudyRecord) -> tuple[WorkloadRegret, ...]:
    """The regret of every workload on every cluster that runs it; empty where no cluster was bought."""
    purchase = record.purchase
    if purchase is None:
        return ()
    return tuple(
        _workload_regret(record, index, name, weight, purchase.tune)
        for index, (name, weight) in enumerate(zip(purchase.names, purchase.weights, strict=True))
    )


def _workload_regret(record: StudyRecord, index: int, name: str, weight: float, tune: Objective) -> WorkloadRegret:
    found = []
    for trial in record.trials:
        if index >= len(trial.workloads) or trial.workloads[index].state != "feasible":
            continue
        measured = trial_metrics(trial.parts[index][1])
        value, price = tune.value(measured, trial.workloads[index].design or {}), measured["cost.total"]
        if value is not None and price is not None:
            found.append((price, tune.sign * value, trial))
    if not found:
        return WorkloadRegret(name, weight, None, None, {})
    found.sort(key=lambda entry: (entry[0], entry[1], entry[2].number))
    overall, _, own = min((loss, price, trial.number) for price, loss, trial in found)
    losses: dict[int, Loss] = {}
    best: tuple[float, TrialRecord] | None = None
    for _, loss, trial in found:
        # Of clusters at one price the best comes first.
        if best is None or loss < best[0]:
            best = loss, trial
        value = tune.sign * loss
        losses[trial.number] = Loss(value, _relative_loss(loss, overall), _relative_loss(loss, best[0]), best[1].number)
    return WorkloadRegret(name, weight, own, tune.sign * overall, losses)


def _relative_loss(loss: float, best: float) -> float:
    return (loss - best) / abs(best) if best else 0.0 if loss == best else float("inf")
