"""Expanded and pooled memory: the hybrid bandwidth of COMET, offload beside compute, what fits and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from agreement import differences
from designs import dimension, npu, software
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.memory.expanded import capacity, fits, memory_of, reserve
from simcore.memory.plan import program_of
from simcore.metrics import METRICS, metrics
from simcore.result import Memory, Result
from simcore.simulate import simulate

MODEL = {"hidden": 512, "layers": 8, "heads": 8, "vocabulary": 1024, "sequence_length": 128}


def design(memory: Any = None, own: str = "80 GB", npus: int = 4, **its: Any) -> Design:
    cluster: dict[str, Any] = {
        "npu": npu(memory={"capacity": own, "bandwidth": "1 TB/s", "efficiency": 1.0}),
        "dimensions": [dimension(size=npus)],
    }
    if memory is not None:
        cluster["memory"] = memory
    workload = its.pop("workload", {"model": MODEL, "global_batch": 4 * npus})
    return design_from({"workload": workload, "parallelism": its, "cluster": cluster, "software": software()})


def expanded(bandwidth: str = "500 GB/s", capacity: str = "100 GB", **more: Any) -> dict[str, Any]:
    return {"expanded": {"bandwidth": bandwidth, "capacity": capacity, **more}}


def peak(its: Design) -> float:
    memory = simulate(its).memory_bytes
    assert memory is not None
    return memory.peak


def test_a_memory_that_is_not_needed_changes_the_price_alone() -> None:
    plain, with_it = simulate(design()), simulate(design(expanded()))
    assert with_it.iteration_time_s == plain.iteration_time_s
    assert with_it.cost.memory == pytest.approx(4 * 100e9 * 8e-9)
    assert with_it.cost.total == pytest.approx(plain.cost.total + with_it.cost.memory)
    assert with_it.memory_capacity_bytes == plain.memory_capacity_bytes + 100e9


@pytest.mark.parametrize("own", [1e9 / 3 * k for k in range(1, 40)])
def test_what_spills_into_a_memory_that_is_large_enough_fits_whatever_the_rounding(own: float) -> None:
    memory = Memory(weights=0.0, gradients=0.0, optimizer=0.0, activations=0.0, peak=1e12 / 7)
    its = design(expanded(capacity="1 TB"), own=f"{own!r} B")
    assert fits(its, reserve(its, memory))


@pytest.mark.parametrize("bandwidth", [100e9, 250e9, 1e12, 4e12])
def test_what_spills_moves_at_the_hybrid_bandwidth(bandwidth: float) -> None:
    whole = peak(design())
    own = whole / 4
    spilled = simulate(design(expanded(f"{bandwidth:g} B/s"), own=f"{own!r} B"))
    assert spilled.memory_bytes is not None
    assert spilled.memory_bytes.expanded == pytest.approx(0.75 * whole)
    assert spilled.fits
    # Bytes of the optimizer step: a quarter at 1 TB/s and three quarters at the other.
    step = simulate(design()).optimizer_s * 1e12
    assert spilled.optimizer_s == pytest.approx(step * (0.25 / 1e12 + 0.75 / bandwidth), rel=1e-6)


def test_the_whole_iteration_is_bounded_by_both_memories() -> None:
    own = f"{peak(design()) / 3!r} B"
    plain, other = simulate(design()).iteration_time_s, 3.7e11
    spilled = simulate(design(expanded(f"{other:g} B/s"), own=own)).iteration_time_s
    assert plain < spilled < plain * (1 / 3 + 2 / 3 * 1e12 / other)


@settings(max_examples=30)
@given(st.sampled_from([10, 100, 300, 999]), st.integers(2, 9))
def test_more_bandwidth_or_more_memory_is_never_slower(gigabytes: int, parts: int) -> None:
    own = peak(design()) / parts

    def time(rate: int, share: float) -> float:
        return simulate(design(expanded(f"{rate} GB/s"), own=f"{share!r} B")).iteration_time_s

    assert time(gigabytes, own) >= time(2 * gigabytes, own)
    if 2 * gigabytes <= 1000:
        assert time(gigabytes, own) >= time(gigabytes, 1.5 * own)


def test_a_pool_of_n_npus_gives_each_its_share() -> None:
    own = f"{peak(design()) / 2!r} B"
    alone = design(expanded("100 GB/s", "25 GB"), own=own)
    pooled = design(expanded("400 GB/s", "100 GB", shared_by=4), own=own)
    one, four = simulate(alone), simulate(pooled)
    assert (one.iteration_time_s, one.cost) == (four.iteration_time_s, four.cost)
    assert capacity(alone) == capacity(pooled)


def test_a_pool_serves_as_astra_sims_does() -> None:
    from simcore.astra.files.remote_memory import MemoryPorts, RemoteMemory

    size, npus, rate = 4_000_000, 4, 100
    waiting: list[int] = []
    now = [0]

    def wait(npu: int, delay: int, action: Any) -> None:
        waiting.append(now[0] + delay)
        pending.append((now[0] + delay, action))

    pending: list[tuple[int, Any]] = []
    ports = MemoryPorts(RemoteMemory("MEMORY_POOL", latency=0, bandwidth=rate), wait)
    for number in range(npus):
        ports.issue(number, size, lambda: None)
    while pending:
        pending.sort(key=lambda entry: entry[0])
        now[0], action = pending.pop(0)
        action()
    pooled = design(expanded(f"{rate} GB/s", shared_by=npus))
    assert pooled.cluster.memory is not None
    assert pooled.cluster.memory.expanded is not None
    assert now[0] * 1e-9 == pytest.approx(size / pooled.cluster.memory.expanded.rate)


def offloaded(bandwidth: str, *parts: str, **its: Any) -> Result:
    return simulate(design(expanded(bandwidth, place=list(parts)), **its))


def test_an_offloaded_optimizer_takes_the_larger_of_both_sides() -> None:
    plain = simulate(design())
    memory = plain.memory_bytes
    assert memory is not None
    parameters = memory.optimizer / 12
    for rate in (50e9, 2e12, 20e12):
        found = offloaded(f"{rate:g} B/s", "optimizer")
        here, there = parameters * 4 / 1e12, parameters * 12 / rate
        assert found.optimizer_s == pytest.approx(max(here, there), rel=1e-6)
        assert found.memory_bytes is not None
        assert found.memory_bytes.expanded == memory.optimizer
        assert found.compute_s == plain.compute_s


def test_offloaded_activations_are_waited_for_only_where_compute_does_not_hide_them() -> None:
    plain = simulate(design(microbatch=4))
    memory = plain.memory_bytes
    assert memory is not None
    assert offloaded("100 TB/s", "activations", microbatch=4).compute_s == plain.compute_s
    slow = offloaded("10 GB/s", "activations", microbatch=4)
    assert slow.compute_s == pytest.approx(2 * memory.activations / 10e9, rel=1e-6)  # both passes wait for the link
    # Longer than the forward pass (a third of the whole), shorter than the backward pass.
    half = 0.5 * plain.compute_s
    middle = offloaded(f"{memory.activations / half!r} B/s", "activations", microbatch=4)
    assert middle.compute_s == pytest.approx(half + 2 / 3 * plain.compute_s, rel=0.03)
    assert slow.memory_bytes is not None
    assert slow.memory_bytes.expanded == memory.activations


def test_offloaded_activations_pass_through_the_npus_own_memory_two_layers_at_a_time() -> None:
    def memory(layers: int, *place: str) -> Memory:
        workload = {"model": {**MODEL, "layers": layers}, "global_batch": 16}
        found = simulate(design(expanded(place=place or ["spill"]), workload=workload, microbatch=4)).memory_bytes
        assert found is not None
        return found

    whole, half, moved = memory(8), memory(4), memory(8, "activations")
    of_a_layer = (whole.activations - half.activations) / 4
    assert moved.peak == pytest.approx(whole.peak + 2 * of_a_layer)
    assert moved.expanded == whole.activations


def test_each_memory_must_hold_what_lies_in_it() -> None:
    whole = simulate(design()).memory_bytes
    assert whole is not None
    rest = whole.peak - whole.optimizer
    for own, far, expected in ((1.01, 1.01, True), (0.99, 9.0, False), (9.0, 0.99, False)):
        its = design(expanded(capacity=f"{whole.optimizer * far!r} B", place=["optimizer"]), own=f"{rest * own!r} B")
        assert fits(its, memory_of(its, program_of(its))) is expected
        assert simulate(its).fits is expected


def test_fragmentation_takes_its_share_of_the_npus_own_memory() -> None:
    whole = peak(design())
    assert simulate(design({"fragmentation": 0.2}, own=f"{whole / 0.79!r} B")).fits
    assert not simulate(design({"fragmentation": 0.2}, own=f"{whole / 0.81!r} B")).fits
    assert simulate(design({"fragmentation": 0.25})).memory_capacity_bytes == 60e9
    spilled = simulate(design({"fragmentation": 0.5, **expanded()}, own=f"{whole!r} B")).memory_bytes
    assert spilled is not None
    assert spilled.expanded == pytest.approx(whole / 2)


PLACES = st.sampled_from([["spill"], ["optimizer"], ["activations"], ["optimizer", "activations"]])
RATES = st.sampled_from(["1 GB/s", "70 GB/s", "1 TB/s", "9 TB/s"])


@settings(max_examples=60)
@given(
    PLACES,
    RATES,
    st.sampled_from([0.2, 0.5, 2.0]),
    st.sampled_from([(1, 1, 4), (2, 2, 1), (1, 2, 2)]),
    st.integers(0, 3),
)
def test_engines_agree_and_bounds_hold(
    place: list[str], rate: str, share: float, degrees: tuple[int, int, int], zero: int
) -> None:
    tensor, pipeline, data = degrees
    stage = 1 if zero == 2 and pipeline > 1 else zero
    parallelism = {"tensor": tensor, "pipeline": pipeline, "data": data, "zero": stage}
    own = f"{peak(design(**parallelism)) * share!r} B"
    memory = {"fragmentation": 0.1, **expanded(rate, place=place, latency="3 us", shared_by=2)}
    its = design(memory, own=own, **parallelism)
    assert differences(its) == []
    found = metrics(simulate(its))
    for name, best in bound(its).items():
        value = found[name]
        if best is not None and value is not None:
            sign = 1 if METRICS[name].better == "less" else -1
            assert sign * value >= sign * best - 1e-9 * abs(best), name


def test_keys_and_values_spill_too() -> None:
    workload = {"model": MODEL, "global_batch": 64, "prompt_length": 64, "output_length": 8}
    plain = simulate(design(workload=workload))
    assert plain.memory_bytes is not None
    own = f"{plain.memory_bytes.peak / 2!r} B"
    assert not simulate(design(workload=workload, own=own)).fits
    spilled = simulate(design(expanded(), workload=workload, own=own))
    assert spilled.fits
    assert spilled.iteration_time_s > plain.iteration_time_s


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ({"fragmentation": 1.0}, r"cluster\.memory\.fragmentation: expected less than 1, got 1\.0"),
        ({"fragmentaton": 0.1}, r"cluster\.memory\.fragmentaton: expected a known key.*did you mean 'fragmentation'"),
        (expanded(place=["optimiser"]), r"place\[0\]: expected one of spill, optimizer, activations.*'optimizer'"),
        (expanded(place=["spill", "optimizer"]), r"expanded\.place: expected \[spill\], or parts"),
        (expanded(place=[]), r"expanded\.place"),
        (expanded(shared_by=3), r"shared_by: expected a number of NPUs that divides the cluster's 4, got 3"),
        (expanded(capacity="100"), r"expanded\.capacity: expected a size with its unit"),
        ({"expanded": {"capacity": "1 GB"}}, r"expanded\.bandwidth: expected this required key"),
    ],
)
def test_what_is_wrong_with_a_memory_is_said(memory: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        design(memory)


def test_a_served_model_has_nothing_to_offload() -> None:
    workload = {"model": MODEL, "global_batch": 64, "prompt_length": 64, "output_length": 8}
    with pytest.raises(InputError, match=r"expected \[spill\] where a model is served, got optimizer"):
        design(expanded(place=["optimizer"]), workload=workload)
