"""The bound of many networks at once, and what overlap costs in it, hold for each network and for slower ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from designs import ROUNDING, changed, dimension, model, software, training, trainings
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.bounds.collective import CollectiveTime
from simcore.bounds.design import bound
from simcore.bounds.many import Iteration, NetworkFamily, is_linear
from simcore.bounds.overlap import StageUse, slowed_time
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.memory.plan import program_of
from simcore.simulate import simulate

LINEAR = trainings().filter(is_linear)


def least(design: Design, on: Design) -> float:
    """The bound of a design by the network of another, as one of many."""
    return float(Iteration.of(design, program_of(design)).seconds(NetworkFamily.of([on]), {})[0])


@settings(max_examples=150)
@given(LINEAR)
def test_a_network_among_many_has_its_own_bound(design: Design) -> None:
    """But for shifts, whose slowest dimension may be another on each network, and kernels that feed one."""
    own, proven, degrees = bound(design)["iteration_time"], least(design, design), design.parallelism
    assert own is not None
    assert proven <= simulate(design).iteration_time_s * (1 + ROUNDING)
    assert proven <= own * (1 + 1e-4)
    if degrees.context == degrees.expert == 1 and not degrees.tensor_overlap:
        assert proven >= own * (1 - 1e-4)


@settings(max_examples=50)
@given(LINEAR)
def test_the_rows_of_a_bound_are_less_in_the_mean_than_the_longest(design: Design) -> None:
    iteration, family = Iteration.of(design, program_of(design)), NetworkFamily.of([design])
    known: dict[Any, CollectiveTime] = {}
    longest, mean = iteration.seconds(family, known, overlap=False), iteration.mean_seconds(family, known)
    assert 0 < mean[0] <= longest[0] * (1 + 1e-9)
    assert mean[0] >= longest[0] / len(iteration.forms) * (1 - 1e-9)


@settings(max_examples=150)
@given(LINEAR, st.sampled_from([1.0, 1.3, 4.0]), st.integers(0, 3), st.sampled_from([1, 2, 16]))
def test_no_iteration_beats_the_bound_of_a_faster_network_with_more_chunks(
    design: Design, factor: float, at: int, chunks: int
) -> None:
    """A library's own rates follow those of the links in `changed`, so that all of the network is faster."""
    faster = changed(design, {"bandwidth": factor}, at=at % len(design.cluster.dimensions))
    more = faster.system.model_copy(update={"chunks": chunks * design.system.chunks})
    proven = least(design, faster.model_copy(update={"system": more}))
    assert proven <= simulate(design).iteration_time_s * (1 + ROUNDING)


def sharded(tier: str, inter_dimension: str) -> Design:
    """ZeRO-3 over two dimensions, whose gathers and reductions take about as long as what is computed beside them."""
    network = [dimension("switch", 4, "60 GB/s", tier="node"), dimension("switch", 4, "40 GB/s", tier=tier)]
    document = training(
        {"tensor": 1, "data": 16, "zero": 3, "bucket": "1 kB"},
        network,
        workload={"model": model(hidden=2048, layers=8, heads=16, sequence_length=1024)},
        system={"chunks": 16, "inter_dimension": inter_dimension},
        stack=software(overlap={"node": 0.2, "nodes": 0.4}),
    )
    return design_from(document)


@pytest.mark.parametrize("inter_dimension", ["baseline", "themis"])
@pytest.mark.parametrize("tier", ["node", "pod"])
def test_most_of_what_overlap_costs_is_proven(tier: str, inter_dimension: str) -> None:
    design = sharded(tier, inter_dimension)
    free = design.model_copy(update={"software": design.software.model_copy(update={"overlap": _no_cost(design)})})
    slowed, unslowed = simulate(design).iteration_time_s, simulate(free).iteration_time_s
    with_cost, without = bound(design)["iteration_time"], bound(free)["iteration_time"]
    assert with_cost is not None
    assert without is not None
    assert slowed > 1.05 * unslowed
    assert with_cost - without > 0.5 * (slowed - unslowed)


def _no_cost(design: Design) -> Any:
    return design.software.overlap.model_copy(update={"node": 0.0, "nodes": 0.0})


_TIMES = st.lists(st.floats(1.0, 1e6), min_size=2, max_size=2)


@settings(max_examples=300)
@given(st.lists(_TIMES, min_size=1, max_size=3), st.integers(0, 5), st.integers(0, 5), _TIMES, st.floats(0.0, 1.0))
def test_the_time_of_a_slowed_stage_is_no_more_than_with_any_mixture_of_ways(
    ways: list[list[float]], started: int, blocked: int, sent: list[float], mixed: float
) -> None:
    """With one dimension of service at a time beside computation: the sum of the module, for ways that are chosen."""
    lost = (0.1, 0.3)
    served = [dict(enumerate(way)) for way in ways]
    busy = {d: min(way[d] for way in served) for d in (0, 1)}
    bytes_sent = [{d: sent[d] * (number + 1) for d in (0, 1)} for number in range(len(ways))]
    time = CollectiveTime(max(busy.values()), busy, served, bytes_sent)
    found = float(slowed_time(StageUse(1e6, {0: (started, blocked)}), [time], [("all_gather", "data", 1.0)], lost))
    first, last = np.array(ways[0]), np.array(ways[-1])
    way = mixed * first + (1 - mixed) * last
    waits = blocked * max(time.least, *way)
    worst = max(waits * (1 - share) + share * (started + blocked) * way[d] for d, share in enumerate(lost))
    assert found <= (1e6 + worst) * (1 + 1e-9)
