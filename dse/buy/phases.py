"""What it costs to let a cluster grow, and what it then does, against buying it at once.

Nothing is simulated for it: a plan's phases are clusters of the study that are alike but for their size (the nodes, the
topology, bandwidths; the outermost dimension grows) and for how they are used: of degrees and policies that are decided
with the cluster, each phase has those that do the most work in its years. All money is today's worth, by the price
list's cost of money r:

- a phase in year y buys what its cluster costs more than the one before, at its `price`: worth (1 + r)^-y of it today;
- at the end of the life L it is worth R + (1 - R) y / L of what was paid for it, which straight-line loss leaves of
  what was used for L - y years of L, R being the list's `residual`;
- from one phase to the next the cluster takes its `cost.yearly`, at the end of each year.

So buying at once costs the `cost.tco` of its cluster. The work of a phase is its years over the mean iteration time of
the mix, that of a future with `years` over the years that fall to each mix; expected over the futures. Work is worth
less in later years as money is, so that a plan's cost of a token is that of `cost_per_token` where all mixes make
tokens at one rate: without that, waiting would pay at any price. The clusters that are joined are taken to go on as
one: what their leaf switches cost is counted once, cables are not laid again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dse.evaluate.aggregate import mean
from dse.evaluate.pareto import front_mask
from dse.evaluate.read import trial_metrics
from dse.evaluate.record import Purchase, StudyRecord, TrialRecord
from dse.space.phases import Phase, Plan
from simcore.check.load import design_from
from simcore.cost.ownership import YEAR, Terms
from simcore.design.design import Design


@dataclass(frozen=True, slots=True)
class PhaseRun:
    """One phase of a plan on one kind of cluster."""

    phase: Phase
    until: float
    """The year in which the next one begins, or the life ends."""
    trial: int
    bought: float
    """What is paid for it, in the money of its year [$]."""
    iterations: float
    """Expected iterations of the mix of workloads."""
    tokens: float | None
    """None where a workload counts none."""
    iterations_today: float
    """`iterations`, those of later years worth less."""
    tokens_today: float | None
    """`tokens`, those of later years worth less."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A plan on one kind of cluster."""

    phases: tuple[PhaseRun, ...]
    money: float
    """Today's worth of all that is paid [$]."""
    on_front: bool = False
    """Whether no other plan does as much for less."""

    @property
    def plan(self) -> Plan:
        """What is bought when."""
        return tuple(run.phase for run in self.phases)

    @property
    def iterations(self) -> float:
        """Iterations of the mix of workloads over the life."""
        return sum(run.iterations for run in self.phases)

    @property
    def tokens(self) -> float | None:
        """Over the life; None where a workload counts none."""
        return _sum_known([run.tokens for run in self.phases])

    @property
    def work_today(self) -> float:
        """`iterations`, those of later years worth less."""
        return sum(run.iterations_today for run in self.phases)

    @property
    def cost_per_token(self) -> float | None:
        """Money over tokens, later ones of both worth less [$]; None where a workload counts none."""
        tokens = _sum_known([run.tokens_today for run in self.phases])
        return self.money / tokens if tokens else None


def _sum_known(each: Sequence[float | None]) -> float | None:
    known = [value for value in each if value is not None]
    return sum(known) if len(known) == len(each) else None


def growths(record: StudyRecord) -> tuple[Growth, ...]:
    """Every plan on every kind of cluster of which all sizes are feasible, the cheapest first; empty without plans."""
    purchase = record.purchase
    if purchase is None or not purchase.plans:
        return ()
    kinds: dict[str, dict[int, list[_Sized]]] = {}
    for trial in record.feasible_trials:
        sized = _Sized.of(trial)
        kinds.setdefault(_kind(sized.design), {}).setdefault(sized.design.cluster.npus, []).append(sized)
    found = [
        _grow(plan, kind, purchase)
        for kind, plan in product(kinds.values(), purchase.plans)
        if all(phase.npus in kind for phase in plan)
    ]
    found.sort(key=lambda growth: (growth.money, -growth.work_today))
    if not found:
        return ()
    matrix = np.array([(growth.money, -growth.work_today) for growth in found])
    return tuple(
        Growth(growth.phases, growth.money, bool(kept)) for growth, kept in zip(found, front_mask(matrix), strict=True)
    )


def feasible_sizes(record: StudyRecord) -> set[int]:
    """The NPUs of the clusters that are feasible."""
    return {design_from(trial.design or {}).cluster.npus for trial in record.feasible_trials}


@dataclass(frozen=True, slots=True)
class _Sized:
    """One feasible cluster, with what its workloads take there."""

    trial: TrialRecord
    design: Design
    metrics: tuple[Mapping[str, float | None], ...]

    @classmethod
    def of(cls, trial: TrialRecord) -> _Sized:
        """What the record of a trial says of it."""
        return cls(trial, design_from(trial.design or {}), tuple(trial_metrics(part) for _, part in trial.parts))

    def known(self, name: str) -> list[float]:
        """A metric that every workload has."""
        return [value or 0.0 for value in (metrics[name] for metrics in self.metrics)]

    def money(self, name: str, weights: Sequence[float]) -> float:
        """The mean of a metric of money over the workloads."""
        return mean(weights, self.known(name))

    def rate(self, shares: Sequence[float]) -> float:
        """Iterations of a mix a second."""
        return 1.0 / mean(shares, self.known("iteration_time"))

    def tokens(self, shares: Sequence[float]) -> float | None:
        """Tokens of one iteration of a mix, on average."""
        made = [metrics["throughput"] for metrics in self.metrics]
        if any(rate is None for rate, share in zip(made, shares, strict=True) if share):
            return None
        times = self.known("iteration_time")
        return mean(shares, [(rate or 0.0) * time for rate, time in zip(made, times, strict=True)])


def _kind(design: Design) -> str:
    """What the clusters of one plan have in common: all that is paid for but the size of the outermost dimension."""
    document: dict[str, Any] = design.document()
    cluster = {key: value for key, value in document["cluster"].items() if key not in ("placement", "npus")}
    *inner, outer = cluster["dimensions"]
    cluster["dimensions"] = [*inner, {key: value for key, value in outer.items() if key != "size"}]
    return json.dumps([cluster, document["cost"], document["reliability"]], sort_keys=True)


def _grow(plan: Plan, kind: Mapping[int, Sequence[_Sized]], purchase: Purchase) -> Growth:
    """A plan on clusters of a kind; in each phase it is used as does the most work in these years."""
    first = kind[plan[0].npus][0]
    terms = Terms.of(first.design.cost, first.design.cluster.npus)
    life = terms.lifetime / YEAR
    ends = [*(phase.year for phase in plan[1:]), life]
    runs, money, before = [], 0.0, 0.0
    for phase, until in zip(plan, ends, strict=True):
        sized = max(kind[phase.npus], key=lambda one: _work(one, phase.year, until, purchase, _span)[0])
        price = sized.money("cost.capital", purchase.weights)
        paid = (price - before) * phase.price
        left = terms.residual + (1 - terms.residual) * phase.year / life
        money += paid * (_today(terms, phase.year) - left * _today(terms, life))
        money += sized.money("cost.yearly", purchase.weights) * _span_today(terms, phase.year, until) / YEAR
        work, today = (
            _used(terms, *_work(sized, phase.year, until, purchase, span))
            for span in (_span, partial(_span_today, terms))
        )
        runs.append(PhaseRun(phase, until, sized.trial.number, paid, *work, *today))
        before = price
    return Growth(tuple(runs), money)


def _used(terms: Terms, iterations: float, tokens: float | None) -> tuple[float, float | None]:
    """The work of the share of the time in which jobs run."""
    return iterations * terms.utilization, None if tokens is None else tokens * terms.utilization


def _today(terms: Terms, year: float) -> float:
    return float((1 + terms.discount) ** -year)


def _span(start: float, end: float) -> float:
    """Seconds from one year to another."""
    return (end - start) * YEAR


def _span_today(terms: Terms, start: float, end: float) -> float:
    """The same, those of later years worth less."""
    return terms.annuity(end * YEAR) - terms.annuity(start * YEAR)


def _work(
    sized: _Sized, start: float, end: float, purchase: Purchase, span: Callable[[float, float], float]
) -> tuple[float, float | None]:
    """Expected iterations and tokens of a cluster from one year to another, whose seconds `span` counts."""
    iterations, tokens = 0.0, 0.0
    known = True
    for weight, shares, its_start, its_end in _mixes(purchase, start, end):
        done, each = weight * span(its_start, its_end) * sized.rate(shares), sized.tokens(shares)
        iterations += done
        tokens += done * (each or 0.0)
        known = known and each is not None
    return iterations, tokens if known else None


def _mixes(purchase: Purchase, start: float, end: float) -> Iterator[tuple[float, Sequence[float], float, float]]:
    """Each future from one year to another: how likely it is, the shares of the workloads, from when to when."""
    if not purchase.futures:
        yield 1.0, purchase.weights, start, end
    for future in purchase.futures:
        if future.years is None:
            yield future.weight, future.shares, start, end
            continue
        begins, ends = (min(max(year, start), end) for year in future.years)
        spans = (future.before, start, begins), (future.changed, begins, ends), (future.before, ends, end)
        for shares, its_start, its_end in spans:
            if its_end > its_start:
                yield future.weight, shares, its_start, its_end
