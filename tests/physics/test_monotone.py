"""A faster machine is never slower where the order of service is fixed, and the proven bound never rises at all."""

from __future__ import annotations

import math

import pytest
from designs import changed, collective, collectives, designs, dimension, serves_in_order, trainings
from hypothesis import given, settings, target
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.design.design import Design
from simcore.simulate import simulate

FASTER = (
    {"bandwidth": 2.0},
    {"bandwidth": 1.3},
    {"latency": 0.5},
    {"latency": 0.0},
    {"peak": 1.7},
    {"memory": 1.7},
    {"overhead": 0.0},
    {"bandwidth": 1.5, "latency": 0.3, "peak": 2.0, "memory": 3.0, "overhead": 0.5},
)


def time(design: Design) -> float:
    return simulate(design).iteration_time_s


def least(design: Design) -> float:
    seconds = bound(design)["iteration_time"]
    assert seconds is not None
    return seconds


@settings(max_examples=200)
@given(designs(plain=True).filter(serves_in_order), st.sampled_from(FASTER))
def test_a_faster_machine_is_never_slower_for_baseline_and_fifo_served_in_order(
    design: Design, change: dict[str, float]
) -> None:
    assert time(changed(design, change)) <= time(design)


@settings(max_examples=200)
@given(designs(plain=True).filter(serves_in_order), st.sampled_from([1.1, 3.0]), st.integers(0, 3))
def test_more_bandwidth_on_one_dimension_is_never_slower_for_baseline_and_fifo_served_in_order(
    design: Design, factor: float, at: int
) -> None:
    faster = changed(design, {"bandwidth": factor}, at=at % len(design.cluster.dimensions))
    assert time(faster) <= time(design)


@settings(max_examples=200)
@given(designs(), st.sampled_from(FASTER))
def test_the_bound_of_a_faster_machine_is_never_higher_whatever_the_policy(
    design: Design, change: dict[str, float]
) -> None:
    assert least(changed(design, change)) <= least(design)


@settings(max_examples=200)
@given(designs(), st.sampled_from([1.1, 3.0]), st.integers(0, 3))
def test_the_bound_with_more_bandwidth_on_one_dimension_is_never_higher_whatever_the_policy(
    design: Design, factor: float, at: int
) -> None:
    faster = changed(design, {"bandwidth": factor}, at=at % len(design.cluster.dimensions))
    assert least(faster) <= least(design)


def test_the_bound_of_themis_is_not_higher_where_more_bandwidth_changes_its_orders() -> None:
    def design(innermost: str) -> Design:
        rates = (innermost, "9 GB/s", "8 GB/s")
        network = [dimension("ring", 2, rate, "0 s", tier="chiplet") for rate in rates]
        return collective("all_reduce", "64 KiB", network, chunks=8, inter_dimension="themis")

    assert least(design("5.5 GB/s")) <= least(design("5 GB/s"))


def worst_anomaly(examples: int = 300) -> tuple[float, Design | None]:
    """Largest relative loss of time by a faster machine among drawn designs that promise nothing, and its design."""
    worst: list[tuple[float, Design | None]] = [(0.0, None)]
    hard = st.one_of(collectives(), trainings()).filter(
        lambda d: not serves_in_order(d) and len(d.cluster.dimensions) > 1
    )

    @settings(max_examples=examples)
    @given(hard, st.sampled_from(FASTER), st.one_of(st.none(), st.integers(0, 3)))
    def search(design: Design, change: dict[str, float], at: int | None) -> None:
        only = None if at is None else at % len(design.cluster.dimensions)
        loss = time(changed(design, change, at=only)) / time(design) - 1
        target(loss)
        if loss > worst[0][0]:
            worst[0] = (loss, design)

    search()
    return worst[0]


def test_scheduling_anomalies_of_the_other_policies_are_finite(capsys: pytest.CaptureFixture[str]) -> None:
    loss, design = worst_anomaly()
    what = "none" if design is None else f"{design.system.inter_dimension}, {design.system.intra_dimension}"
    with capsys.disabled():
        print(f"\nworst scheduling anomaly: a faster machine {100 * loss:.2f} % slower ({what})")  # noqa: T201
    assert math.isfinite(loss)
