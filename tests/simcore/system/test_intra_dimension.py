"""The order of service within a dimension: what each policy prefers, seen in what a stage waits for."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model, training, trainings
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.result import Result
from simcore.simulate import simulate


def contested(**system: Any) -> Result:
    """Gradients in many buckets and the tensor group's blocking collectives on one slow dimension."""
    document = training(
        {"tensor": 2, "data": 4, "bucket": "1 kB"},
        [dimension(size=8, bandwidth="5 GB/s")],
        workload={"model": model(), "global_batch": 4},
        system={"chunks": 8, **system},
    )
    return simulate(design_from(document))


def test_a_priority_for_the_tensor_group_spares_it_the_wait_behind_gradients() -> None:
    first = contested(intra_dimension="priority", priority=["tensor", "data"])
    last = contested(intra_dimension="priority", priority=["data", "tensor"])
    assert first.exposed_communication_s.tensor < last.exposed_communication_s.tensor
    assert first.iteration_time_s <= last.iteration_time_s


def test_the_newest_first_serves_the_blocking_collective_before_waiting_gradients() -> None:
    newest, oldest = contested(intra_dimension="lifo"), contested(intra_dimension="fifo")
    assert newest.exposed_communication_s.tensor < oldest.exposed_communication_s.tensor


def test_data_first_is_oldest_first_where_gradients_are_always_issued_before() -> None:
    # On one dimension every chunk arrives when it is issued, so a priority for what was issued first is fifo.
    fifo = contested(intra_dimension="fifo")
    data_first = contested(intra_dimension="priority", priority=["data", "tensor"])
    assert data_first.iteration_time_s == fifo.iteration_time_s


def test_a_group_that_is_not_listed_comes_last() -> None:
    listed = contested(intra_dimension="priority", priority=["tensor", "data"])
    left_out = contested(intra_dimension="priority", priority=["tensor"])
    assert left_out.iteration_time_s == listed.iteration_time_s


def test_the_smallest_chunk_goes_first() -> None:
    small_first = contested(intra_dimension="scf")
    assert small_first.exposed_communication_s.tensor < contested(intra_dimension="fifo").exposed_communication_s.tensor


@pytest.mark.parametrize("policy", INTRA_DIMENSION)
def test_every_policy_sends_the_same_bytes_and_serves_as_long(policy: str) -> None:
    found, fifo = contested(intra_dimension=policy), contested(intra_dimension="fifo")
    assert found.network[0].bytes_per_npu == fifo.network[0].bytes_per_npu
    assert found.network[0].busy_s == fifo.network[0].busy_s


@given(trainings(plain=True), st.sampled_from(sorted(INTRA_DIMENSION)))
def test_every_policy_does_the_same_work(design: Design, policy: str) -> None:
    other = design.model_copy(update={"system": design.system.model_copy(update={"intra_dimension": policy})})
    first, second = simulate(design), simulate(other)
    if design.parallelism.pipeline == 1:  # else another stage may finish last
        assert first.compute_s == second.compute_s
        assert [use.busy_s for use in first.network] == [use.busy_s for use in second.network]
