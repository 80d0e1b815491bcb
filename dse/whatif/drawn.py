"""Objectives of recorded trials in scenarios: their simulated values, moved by what moves them.

The time of a trial is its simulated time times what the estimate of its design says (`simcore.uncertainty`), its price
that of its parts, and what it costs to own follows from these and from the price list's other prices. What failures
take of a training follows from how often pieces fail, and how soon that is found. A metric moves
with them as `simcore.metrics` says (`moves`); an objective that is an expression is calculated again from its metrics,
scenario by scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.note import Note, be_silent
from dse.evaluate.read import trial_metrics
from dse.evaluate.record import TrialRecord
from dse.space.objective import Objective
from simcore.design.design import Design
from simcore.document.problem import Refusal
from simcore.metrics import METRICS, Mover, exponent_of
from simcore.uncertainty.draws import Draws
from simcore.uncertainty.failing import draw_failures
from simcore.uncertainty.priced import draw_costs
from simcore.uncertainty.together import draw_time_alone, draw_times
from simcore.workload.base import kind_of

Floats = NDArray[np.float64]
DRAWN: tuple[Mover, ...] = (
    "power", "electricity", "network", "npu", "memory", "capital", "total", "yearly", "tco", "failures",
)  # fmt: skip
"""Movers beside the time and energy of an iteration: power, money, and failures."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One trial in scenarios."""

    trial: TrialRecord
    factors: dict[Mover, Floats]
    """What moves a metric -> over its value as simulated, `[count]`."""

    @property
    def count(self) -> int:
        """Number of scenarios."""
        return len(self.factors["time"])

    def metric(self, name: str, value: float) -> Floats:
        """A metric of which the simulation said `value`."""
        found: Floats = np.full(self.count, value)
        for mover, factor in self.factors.items():
            found = found * factor ** exponent_of(name, mover)
        return found

    def objective(self, objective: Objective) -> Floats:
        """An objective; not a number where an expression has no value."""
        if objective.expression is None:
            return self.metric(objective.name, self.trial.values[objective.name])
        found = np.full(self.count, np.nan)
        for scenario, at in enumerate(self.each([name for name in objective.names if name in METRICS])):
            with suppress(Refusal):
                found[scenario] = objective.value(at, self.trial.design or {})
        return found

    def each(self, names: Sequence[str]) -> Iterator[dict[str, float]]:
        """Metrics of the trial in one scenario after another; not a number where the simulation had none."""
        known = trial_metrics(self.trial)
        moved = {
            name: np.full(self.count, np.nan) if (value := known[name]) is None else self.metric(name, value)
            for name in names
        }
        for scenario in range(self.count):
            yield {name: float(values[scenario]) for name, values in moved.items()}


def draw_trials(
    trials: Sequence[TrialRecord], designs: Sequence[Design], draws: Draws, note: Note = be_silent
) -> list[Drawn]:
    """Simulated trials of these designs, in all draws; `note` is told how far they are."""
    count = len(designs)
    times = draw_times(
        designs,
        draws,
        on_design=lambda number: note(f"scenarios of {number} of {count} designs", number / count),
        alike=[_told_apart(*each) for each in zip(trials, designs, strict=True)],
    )
    return [_draw(*each, draws) for each in zip(trials, designs, times, strict=True)]


def _told_apart(trial: TrialRecord, design: Design) -> tuple[object, ...]:
    """What the model can tell a job's layout by: where all of it is equal, a key that differs has no effect on it.

    How many replicas of a model serve, each its own requests, has none: nothing passes between them.
    """
    assert trial.metrics is not None
    p, replicas = design.parallelism, design.data
    sizes = p.tensor, p.pipeline, p.context, p.expert, design.microbatch, design.workload.global_batch / replicas
    parts = design.cluster.npu.name, design.software.name, design.workload.precision
    trained = (replicas, design.cluster.npus) if kind_of(design.workload).trained else ()
    return trial.metrics["iteration_time_s"], *sizes, *parts, *trained


def _draw(trial: TrialRecord, design: Design, time: Floats, draws: Draws) -> Drawn:
    assert trial.metrics is not None
    costs = draw_costs(design, trial.metrics["power_w"], draws)
    failures = draw_failures(design, trial.metrics["iteration_time_s"], draws)
    return Drawn(trial, {"time": time, **costs, "failures": failures})


def draw_alone(trial: TrialRecord, design: Design, draws: Draws) -> Drawn:
    """A simulated trial by itself: its time as its interval has it."""
    return _draw(trial, design, draw_time_alone(design, draws), draws)


def time_stretch(trial: TrialRecord) -> tuple[float, float] | None:
    """The ends of a trial's interval, as multiples of its predicted time; None where its result has none."""
    metrics: Mapping[str, object] = {} if trial.metrics is None or trial.workloads else trial.metrics
    interval, predicted = metrics.get("iteration_time_interval_s"), metrics.get("iteration_time_s")
    if not isinstance(interval, list | tuple) or not isinstance(predicted, int | float) or predicted <= 0:
        return None
    low, high = (float(end) / predicted for end in interval)
    return low, high


def is_drawn(objective: Objective) -> bool:
    """Whether the interval of an objective is that of its draws.

    It is where prices, power or failures are in it, and where it is an expression.
    """
    priced = any(exponent_of(name, mover) for name in objective.names for mover in DRAWN)
    return priced or objective.expression is not None


def ends_of(values: Floats) -> tuple[float, float] | None:
    """Between which nine of ten draws lie; None where they do not differ, or have no value."""
    if not np.isfinite(values).all() or values.min() == values.max():
        return None
    low, high = np.quantile(values, [0.05, 0.95])
    return float(low), float(high)
