"""Every row of the table of metrics: what it says of itself holds for drawn designs."""

from __future__ import annotations

import math

import pytest
from designs import designs, trainings
from hypothesis import given, settings

from dse.report.units import MISSING, format_with_unit, label
from simcore.bounds.design import bound
from simcore.cost.price import cluster_cost
from simcore.design.design import Design
from simcore.metrics import BEFORE, METRICS, Figures, Number, best, exponent_of, is_of, metrics, metrics_before
from simcore.power.draw import draws_of, npus_watts, peak_watts, rest_watts
from simcore.simulate import simulate

UNITS = {"$/year", "", "tokens", "s", "B", "$", "W", "J", "tokens/s", "tokens/s/$", "J/token", "$/token"}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_has_a_known_unit_a_label_of_its_own_and_is_written_with_both(name: str) -> None:
    metric = METRICS[name]
    assert metric.unit in UNITS
    assert [other for other in METRICS if label(other) == label(name)] == [name]
    text = format_with_unit(0.5, metric.unit, name)
    assert text != MISSING
    assert text.endswith(" %") if metric.share else not metric.unit or not text.endswith("0.5")


@settings(max_examples=100)
@given(designs())
def test_a_metric_is_finite_and_no_better_than_its_bound(design: Design) -> None:
    found, proven = metrics(simulate(design)), bound(design)
    assert list(found) == list(proven) == list(METRICS)
    for name, value in found.items():
        assert value is None or (math.isfinite(value) and value >= 0), name
        limit, sign = proven[name], 1 if METRICS[name].better == "less" else -1
        assert value is None or limit is None or sign * limit <= sign * value + 1e-9 * abs(value), name


@settings(max_examples=100)
@given(designs())
def test_a_metric_that_is_known_before_the_simulation_is_the_same_after_it(design: Design) -> None:
    result = simulate(design)
    found = metrics(result)
    assert metrics_before(design, result.memory_bytes) == {n: v for n, v in found.items() if is_of(n, BEFORE)}


def figures(design: Design, time: float = 1.0, price: float = 1.0, joules: float = 1.0) -> Figures:
    return Figures.of(
        design,
        seconds=time,
        power=(npus_watts(design, draws_of(design).idle) + rest_watts(design)) * joules,
        peak=peak_watts(design),
        energy=joules,
        capital=cluster_cost(design).total * price,
        network=cluster_cost(design).network * price,
        samples=16.0,
        flops=1.0,
        utilization=0.1 / time,
        first_token=time,
        output_token=time,
    )


def ratio(name: str, before: Figures, after: Figures) -> Number:
    one, other = best(name, before, {}), best(name, after, {})
    return other / one if one else None


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.bound])
@settings(max_examples=20)
@given(design=trainings())
def test_a_metric_moves_with_what_it_says_and_with_nothing_else(name: str, design: Design) -> None:
    slower = ratio(name, figures(design, joules=0.0), figures(design, time=2.0, joules=0.0))
    assert slower is None or slower == pytest.approx(2.0 ** exponent_of(name, "time"))
    dearer = ratio(name, figures(design, joules=0.0), figures(design, joules=0.0, price=2.0))
    priced = sum(exponent_of(name, mover) for mover in ("network", "capital", "total", "tco"))
    assert dearer is None or dearer == pytest.approx(2.0**priced)
