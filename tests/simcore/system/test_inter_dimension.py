"""What every inter-dimension policy must do: orders that visit each dimension once, for every chunk."""

from __future__ import annotations

import pytest
from designs import collective, dimension
from hypothesis import given
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.policy.inter_dimension import INTER_DIMENSION
from simcore.simulate import simulate

DIMENSIONS = st.lists(st.tuples(st.sampled_from([2, 3, 4, 8, 16]), st.floats(1e8, 1e12)), min_size=1, max_size=4)


@pytest.mark.parametrize("policy", INTER_DIMENSION)
@given(dimensions=DIMENSIONS, chunks=st.integers(1, 64))
def test_every_chunk_visits_each_dimension_once(policy: str, dimensions: list[tuple[int, float]], chunks: int) -> None:
    sizes, rates = zip(*dimensions, strict=True)
    orders, chosen = INTER_DIMENSION[policy].orders(sizes, rates, chunks)
    assert all(sorted(order) == list(range(len(sizes))) for order in orders)
    assert len(chosen) == chunks
    assert set(chosen) <= set(range(len(orders)))


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
@pytest.mark.parametrize("policy", INTER_DIMENSION)
def test_the_engines_agree_and_the_bound_is_no_more_than_the_time(policy: str, kind: str) -> None:
    network = [dimension(size=4, bandwidth="50 GB/s"), dimension("ring", size=3), dimension(size=2)]
    design = collective(kind, "24 MiB", network, chunks=6, inter_dimension=policy)
    fast, reference = simulate(design), simulate(design, engine="reference")
    assert fast.iteration_time_s == reference.iteration_time_s
    assert bound(design)["iteration_time"] <= fast.iteration_time_s
