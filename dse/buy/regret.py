"""How much a workload loses by sharing a cluster, and a future by not being the only one: their regret.

Let v(c) be the tuned metric of a workload with its best software on cluster c, over all clusters of the study on which
that workload is feasible (whether or not the others are), and p(c) what it pays (`cost.total`). Of a future, v and p
are the means over its workloads, with their shares in it.

- *own best*: the cluster with the best v; of equal ones the cheapest, then the first.
- *regret* of c: how much worse v(c) is than the own best, relative to the own best.
- *regret at its price*: the same against the best v among clusters with p <= p(c): what the money could have bought.

Both are >= 0, and 0 where the cluster is the own choice. They are against the clusters that were evaluated: exact
after an exhaustive study, a lower bound after any other. The *worst regret* of a cluster is that of the future (without
futures, of the workload) that loses most: the minimax regret of Savage (Journal of the American Statistical
Association 46, 1951), relative to the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dse.evaluate.aggregate import is_shared, mean
from dse.evaluate.read import trial_metrics
from dse.evaluate.record import Purchase, StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.space.objective import Objective

REGRET = ".regret"
"""What the name of an objective ends with that is the worst regret of another."""
_SIMULATED = ("feasible", "infeasible")


@dataclass(frozen=True, slots=True)
class Loss:
    """What one workload, or one future, has on one cluster."""

    value: float
    """Value of the tuned metric, in its own direction and SI units."""
    regret: float
    at_price: float
    best_at_price: int
    """Trial of the best cluster that costs no more."""


@dataclass(frozen=True, slots=True)
class Regret:
    """One workload, or one future, over all clusters."""

    name: str
    weight: float
    best: int | None
    """Trial of its own best cluster; None where no cluster runs it."""
    value: float | None
    """The tuned metric there."""
    losses: Mapping[int, Loss]
    """By trial."""


@dataclass(frozen=True, slots=True)
class _Party:
    """Who has a cluster of its own that is best: a workload, or a future with the shares of its workloads."""

    name: str
    weight: float
    shares: tuple[float, ...]


_Measured = Mapping[int, Sequence[tuple[float, float] | None]]
"""Trial -> of each workload the value and the price; None where it is not feasible."""


def regrets(record: StudyRecord) -> tuple[Regret, ...]:
    """The regret of every workload on every cluster that runs it; empty where no cluster was bought."""
    return () if record.purchase is None else _regrets_of(record, record.purchase, _workloads(record.purchase))


def future_regrets(record: StudyRecord) -> tuple[Regret, ...]:
    """The regret of every future on every cluster that runs all its workloads; empty where there are no futures."""
    return () if record.purchase is None else _regrets_of(record, record.purchase, _futures(record.purchase))


def worst_regret(parties: Sequence[Regret], trial: int) -> tuple[float, str] | None:
    """The largest regret of a trial and whose it is; None where there is nobody, or somebody cannot run there."""
    if not parties or any(trial not in party.losses for party in parties):
        return None
    worst = max(parties, key=lambda party: party.losses[trial].regret)
    return worst.losses[trial].regret, worst.name


def with_regret(record: StudyRecord) -> StudyRecord:
    """The study with worst regrets for objectives, where it asks for them; those of the cluster stay as they are."""
    purchase = record.purchase
    if purchase is None or purchase.aggregate != "regret":
        return record
    changed = {o.name: _regret_of(record, purchase, o) for o in record.objectives if not is_shared(o)}

    def convert(trial: TrialRecord) -> TrialRecord:
        kept = {name: value for name, value in trial.values.items() if name not in changed}
        found = {name + REGRET: regret(trial) for name, regret in changed.items() if trial.values}
        names = [name + REGRET if name in changed else name for name in trial.values]
        return replace(trial, values={name: (found | kept)[name] for name in names})

    objectives = (Objective(o.name + REGRET, "minimize", "") if o.name in changed else o for o in record.objectives)
    given = record.given_reference
    reference = None if given is None else {k + REGRET if k in changed else k: value for k, value in given.items()}
    trials = Trials.of(map(convert, record.trials))
    return replace(record, objectives=tuple(objectives), trials=trials, given_reference=reference)


def _regret_of(record: StudyRecord, purchase: Purchase, objective: Objective) -> Callable[[TrialRecord], float]:
    """What gives the worst regret of a trial: 0, which is proven, of one that was cut."""
    parties = _futures(purchase) or _workloads(purchase)

    def value(trial: TrialRecord, party: _Party) -> float:
        return mean(party.shares, [w.values.get(objective.name, 0.0) for w in trial.workloads])

    def runs(trial: TrialRecord, party: _Party, states: tuple[str, ...]) -> bool:
        return all(w.state in states for w, share in zip(trial.workloads, party.shares, strict=True) if share)

    best: dict[str, float] = {}
    for party in parties:
        found = [value(t, party) for t in record.trials if t.workloads and runs(t, party, ("feasible",))]
        # Without a cluster that runs it nothing is feasible; what was simulated is compared with itself.
        found = found or [value(t, party) for t in record.trials if t.workloads and runs(t, party, _SIMULATED)]
        if found:
            best[party.name] = min(objective.sign * each for each in found)

    def regret(trial: TrialRecord) -> float:
        if trial.state not in _SIMULATED:
            return 0.0
        return max(_relative_loss(objective.sign * value(trial, party), best[party.name]) for party in parties)

    return regret


def _workloads(purchase: Purchase) -> tuple[_Party, ...]:
    several = range(len(purchase.names))
    shares = [tuple(float(index == place) for index in several) for place in several]
    return tuple(map(_Party, purchase.names, purchase.weights, shares))


def _futures(purchase: Purchase) -> tuple[_Party, ...]:
    return tuple(_Party(future.name, future.weight, future.shares) for future in purchase.futures)


def _regrets_of(record: StudyRecord, purchase: Purchase, parties: Sequence[_Party]) -> tuple[Regret, ...]:
    if not parties:
        return ()
    measured = {trial.number: _measure(trial, purchase.tune) for trial in record.trials}
    return tuple(_party_regret(measured, party, purchase.tune.sign) for party in parties)


def _measure(trial: TrialRecord, tune: Objective) -> list[tuple[float, float] | None]:
    found: list[tuple[float, float] | None] = []
    for workload, (_, part) in zip(trial.workloads, trial.parts if trial.workloads else (), strict=True):
        metrics = trial_metrics(part)
        value = tune.value(metrics, workload.design or {}) if workload.state == "feasible" else None
        price = metrics["cost.total"]
        found.append(None if value is None or price is None else (value, price))
    return found


def _party_regret(measured: _Measured, party: _Party, sign: float) -> Regret:
    found: list[tuple[float, float, int]] = []
    for number, each in measured.items():
        known = [(pair or (0.0, 0.0)) for pair in each]
        if each and all(pair is not None for pair, share in zip(each, party.shares, strict=True) if share):
            value, price = (mean(party.shares, [pair[place] for pair in known]) for place in (0, 1))
            found.append((price, sign * value, number))
    if not found:
        return Regret(party.name, party.weight, None, None, {})
    found.sort()
    overall, _, own = min((loss, price, number) for price, loss, number in found)
    losses: dict[int, Loss] = {}
    best: tuple[float, int] | None = None
    for _, loss, number in found:
        # Of clusters at one price the best comes first.
        if best is None or loss < best[0]:
            best = loss, number
        losses[number] = Loss(sign * loss, _relative_loss(loss, overall), _relative_loss(loss, best[0]), best[1])
    return Regret(party.name, party.weight, own, sign * overall, losses)


def _relative_loss(loss: float, best: float) -> float:
    return (loss - best) / abs(best) if best else 0.0 if loss == best else float("inf")
