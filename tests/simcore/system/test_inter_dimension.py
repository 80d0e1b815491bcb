"""What every inter-dimension policy must do: orders that visit each dimension once, for every chunk."""

from __future__ import annotations

from collections import Counter

import pytest
from designs import collective, dimension
from hypothesis import given
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.policy.inter_dimension import INTER_DIMENSION
from simcore.policy.inter_dimension.in_turn import take_turns
from simcore.simulate import simulate
from simcore.system.chunks import Chunker
from simcore.system.placement import place

DIMENSIONS = st.lists(st.tuples(st.sampled_from([2, 3, 4, 8, 16]), st.floats(1e8, 1e12)), min_size=1, max_size=4)


@pytest.mark.parametrize("policy", INTER_DIMENSION)
@given(dimensions=DIMENSIONS, chunks=st.integers(1, 64))
def test_every_chunk_visits_each_dimension_once(policy: str, dimensions: list[tuple[int, float]], chunks: int) -> None:
    sizes, rates = zip(*dimensions, strict=True)
    orders, chosen = INTER_DIMENSION[policy].orders(sizes, rates, chunks)
    assert all(sorted(order) == list(range(len(sizes))) for order in orders)
    assert len(chosen) == chunks
    assert set(chosen) <= set(range(len(orders)))


@given(at_once=st.lists(st.booleans(), min_size=1, max_size=5).filter(any), chunks=st.integers(1, 64))
def test_chunks_begin_on_each_of_the_dimensions_that_are_used_at_once(at_once: list[bool], chunks: int) -> None:
    turning = [d for d, its in enumerate(at_once) if its]
    orders, chosen = take_turns(at_once, chunks)
    assert all(sorted(order) == list(range(len(at_once))) for order in orders)
    assert all(order[d] == d for order in orders for d, its in enumerate(at_once) if not its)
    begun = Counter(orders[way][turning[0]] for way in chosen)
    assert set(begun) <= set(turning)
    assert max(begun.values()) - min(begun.get(d, 0) for d in turning) <= 1


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather"])
def test_a_torus_that_is_used_at_once_has_the_bandwidth_of_all_its_axes(kind: str) -> None:
    axes = [dimension("ring", size=4, bandwidth="50 GB/s", latency="0 s", at_once=True) for _ in range(3)]
    design = collective(kind, "6 GiB", axes, chunks=60)
    time = simulate(design).iteration_time_s
    sent = {"all_reduce": 2 / 64, "reduce_scatter": 1 / 64, "all_gather": 1}[kind] * 63 * 6 * 2**30
    assert sent / 150e9 <= time < 1.03 * sent / 150e9  # a chunk's way through the axes comes on top
    assert simulate(design, engine="reference").iteration_time_s == time
    assert bound(design)["iteration_time"] <= time


def test_links_between_slices_are_used_after_the_torus() -> None:
    axes = [dimension("ring", size=2, at_once=True), dimension("ring", size=2, at_once=True), dimension(size=2)]
    design = collective("reduce_scatter", "1 MiB", axes, chunks=4)
    (group,) = place(design)[0].values()
    paths = Chunker(design).split_collective("reduce_scatter", group, 2**20).paths
    assert [[phase.dimension for phase in path] for path in paths] == [[0, 1, 2], [1, 0, 2]]


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
@pytest.mark.parametrize("policy", INTER_DIMENSION)
def test_the_engines_agree_and_the_bound_is_no_more_than_the_time(policy: str, kind: str) -> None:
    network = [dimension(size=4, bandwidth="50 GB/s"), dimension("ring", size=3), dimension(size=2)]
    design = collective(kind, "24 MiB", network, chunks=6, inter_dimension=policy)
    fast, reference = simulate(design), simulate(design, engine="reference")
    assert fast.iteration_time_s == reference.iteration_time_s
    assert bound(design)["iteration_time"] <= fast.iteration_time_s
