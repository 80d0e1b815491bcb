"""Very long and very short: time is an integer of picoseconds, which holds 106 days; beyond, a clear error."""

from __future__ import annotations

import math

import pytest
from designs import collective, dimension, model, npu, training

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.simulate import simulate

DAY = 86400.0


@pytest.mark.parametrize("global_batch", [40, 80, 120, 200, 4000])
def test_an_iteration_of_many_days_is_right_or_refused_in_a_sentence(global_batch: int) -> None:
    # A day of forward and two of backward for each sequence of one layer of pure products.
    slow = npu(peak={"fp16": "1 FLOP/s"}, memory={"capacity": "80 GB", "bandwidth": "1 TB/s", "efficiency": 1.0})
    h, s = 16, 8
    sizes = model(hidden=h, heads=1, layers=1, sequence_length=s, vocabulary=128)
    flops = 24 * s * h**2 + 4 * s**2 * h + 2 * s * h * 128
    slow["peak"] = {"fp16": f"{flops / DAY} FLOP/s"}
    document = training(
        {}, [dimension(size=1)], workload={"model": sizes, "global_batch": global_batch}, accelerator=slow
    )
    try:
        found = simulate(design_from(document)).iteration_time_s
    except (InputError, ValueError):
        return
    assert found == pytest.approx(3 * DAY * global_batch, rel=1e-6)


@pytest.mark.parametrize(("size", "rate"), [("5 EB", "1 MB/s"), ("1 EB", "1 B/s")])
def test_a_collective_of_many_days_is_right_or_refused_in_a_sentence(size: str, rate: str) -> None:
    try:
        design = collective("reduce_scatter", size, [dimension(size=2, bandwidth=rate)], chunks=1)
        found = simulate(design).iteration_time_s
        least = bound(design)["iteration_time"]
    except (InputError, ValueError):
        return
    assert least is not None
    assert 0 < least <= found


def test_the_smallest_collective_takes_a_picosecond_and_more() -> None:
    result = simulate(
        collective("all_reduce", "1 B", [dimension(size=2, bandwidth="1000 EB/s", latency="0 s")], chunks=1)
    )
    assert 1e-12 <= result.iteration_time_s <= 4e-12
    assert math.isfinite(result.network_utilization)


def of_many_chunks(rate: str) -> Design:
    system = {"chunks": 128, "intra_dimension": "fifo"}
    dimensions = [dimension(size=2, bandwidth=rate)]
    return design_from(training({"data": 2}, dimensions, workload={"global_batch": 2}, system=system))


def test_gradients_of_many_chunks_take_many_days() -> None:
    result = simulate(of_many_chunks("100 B/s"))
    assert 0 < result.exposed_communication_s.data < result.iteration_time_s


@pytest.mark.parametrize("rate", ["1 B/s", "0.01 B/s"])
def test_gradients_of_too_many_days_are_refused_in_a_sentence(rate: str) -> None:
    """At 1 B/s each chunk's time fits 64 bits, and all of them together do not."""
    with pytest.raises(InputError, match="days"):
        simulate(of_many_chunks(rate))
