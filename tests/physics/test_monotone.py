"""A faster machine is never slower where the order of service is fixed, and the proven bound never rises at all."""

from __future__ import annotations

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


WORST_ANOMALY = 1.52
"""Time on a faster machine over the time before, at worst, in thousands of drawn designs (docs/accuracy-details.md)."""

UNORDERED = st.one_of(collectives(), trainings()).filter(
    lambda design: not serves_in_order(design) and len(design.cluster.dimensions) > 1
)


@settings(max_examples=300)
@given(UNORDERED, st.sampled_from(FASTER), st.one_of(st.none(), st.integers(0, 3)))
def test_a_faster_machine_is_slower_by_no_more_than_the_worst_known_anomaly_under_the_other_policies(
    design: Design, change: dict[str, float], at: int | None
) -> None:
    only = None if at is None else at % len(design.cluster.dimensions)
    longer = time(changed(design, change, at=only)) / time(design)
    target(longer)
    assert longer <= WORST_ANOMALY
