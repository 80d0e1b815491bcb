"""Weights that stream in from an expanded memory, and gradients that leave for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import differences
from designs import assert_not_beaten, dimension, npu, software, trainings
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.metrics import metrics
from simcore.result import Memory, Result
from simcore.schedule import SCHEDULES
from simcore.simulate import simulate
from simcore.uncertainty.draws import Scenarios
from simcore.uncertainty.iteration import estimate_times

MODEL = {"hidden": 512, "layers": 8, "heads": 8, "vocabulary": 1024, "sequence_length": 128}
STREAMS = {"zero": 3, "gather": "twice", "accumulate": "sharded"}
NEVER_WAITED_FOR = "1e15 GB/s"


def design(rate: str | None, network: list[Any] | None = None, batch: int = 16, **its: Any) -> Design:
    """A small model on 4 NPUs, which hold its weights unless a rate is given at which these stream in."""
    keys = {key: its.pop(key) for key in ("edge", "latency", "shared_by", "place", "updates") if key in its}
    cluster: dict[str, Any] = {
        "npu": npu(memory={"capacity": "80 GB", "bandwidth": "1 TB/s", "efficiency": 1.0}),
        "dimensions": network or [dimension(size=4, bandwidth="100 GB/s")],
    }
    if rate is not None:
        memory = {
            "capacity": "100 GB",
            "bandwidth": rate,
            "place": ["weights", "optimizer"],
            "shared_by": 4,
            "updates": True,
        }
        memory |= keys
        cluster["memory"] = {"expanded": memory}
    workload = {"model": MODEL, "global_batch": batch, "precision": "fp16", "gradient_precision": "fp16"}
    return design_from(
        {
            "workload": workload,
            "parallelism": {**STREAMS, **its},
            "cluster": cluster,
            "software": software(),
        }
    )


def held(result: Result) -> Memory:
    assert result.memory_bytes is not None
    return result.memory_bytes


def test_a_memory_that_is_never_waited_for_is_zero_3_whose_optimizer_steps_elsewhere() -> None:
    streamed, sharded = simulate(design(NEVER_WAITED_FOR)), simulate(design(None))
    # What is loaded comes to the network a moment after what was started beside it, so gathers wait for a scatter.
    assert streamed.iteration_time_s == pytest.approx(sharded.iteration_time_s - sharded.optimizer_s, rel=3e-3)
    assert streamed.optimizer_s == 0
    assert [use.bytes_per_npu for use in streamed.network] == [use.bytes_per_npu for use in sharded.network]


@pytest.mark.parametrize("microbatches", [1, 3])
@pytest.mark.parametrize("rate", [2e9, 8e9])
def test_an_iteration_takes_as_long_as_all_weights_twice_and_all_gradients_once(microbatches: int, rate: float) -> None:
    whole = held(simulate(design(None))).weights * 4  # bytes of all weights, of which each NPU has a quarter
    found = simulate(design(f"{rate} B/s", batch=4 * microbatches, bucket="1 kB"))
    loads, store = 2 * whole / rate, whole / rate
    # Forward and backward load one after the other; gradients leave by the link's other direction, so that only those
    # of the last pieces are left when all weights are there.
    least = microbatches * loads
    assert least < found.iteration_time_s < least + microbatches * (0.3 * store) + found.compute_s


def test_the_memory_holds_all_model_states_and_npus_two_layers_at_a_time() -> None:
    streamed, sharded = held(simulate(design("100 GB/s"))), held(simulate(design(None)))
    assert streamed.expanded == streamed.weights + streamed.gradients + streamed.optimizer
    assert streamed.expanded == sharded.weights + sharded.gradients + sharded.optimizer
    assert streamed.peak == sharded.peak
    assert simulate(design("100 GB/s")).memory_capacity_bytes == 80e9 + 100e9 / 4


def test_npus_update_what_a_memory_without_compute_holds_over_its_link() -> None:
    by_memory, by_npus = simulate(design("40 GB/s", batch=4)), simulate(design("40 GB/s", batch=4, updates=False))
    parameters = held(by_npus).weights / 2
    crossing = parameters * (12 + 2) / (40e9 / 4)  # states, and gradients in or weights out, both ways at once
    assert by_npus.optimizer_s == pytest.approx(crossing, rel=1e-6)
    assert by_npus.iteration_time_s == pytest.approx(by_memory.iteration_time_s + crossing, rel=1e-6)


def test_one_npu_streams_what_it_shares_with_nobody() -> None:
    plain, streamed = design(None, tensor=4), design("10 GB/s", tensor=4)
    assert simulate(plain).network[0].bytes_per_npu == simulate(streamed).network[0].bytes_per_npu
    assert simulate(streamed).iteration_time_s > simulate(plain).iteration_time_s


def test_controllers_at_the_edge_use_no_phases_of_the_mesh_but_its_busiest_link() -> None:
    def on_mesh(links: str, **keys: Any) -> Result:
        sides = [dimension("mesh", size, links, "0 s") for size in (5, 4)]
        return simulate(design("2304 MB/s", sides, batch=20, shared_by=20, **keys))

    wide, narrow = on_mesh("3000 GB/s", edge=True), on_mesh("1500 MB/s", edge=True)
    assert all(use.bytes_per_npu == 0 for use in wide.network)
    assert all(use.bytes_per_npu > 0 for use in on_mesh("3000 GB/s").network)
    assert (narrow.iteration_time_s - narrow.compute_s) / (wide.iteration_time_s - wide.compute_s) == pytest.approx(
        1152 / 750, rel=0.02
    )


def test_a_memory_without_compute_cannot_sum_the_gradients_of_microbatches() -> None:
    with pytest.raises(
        InputError, match="a memory without compute cannot add, got false; set it, or use a microbatch of 4"
    ):
        design("40 GB/s", updates=False)


@pytest.mark.parametrize("limit", ["memory", "port"])
def test_switches_that_reduce_pass_all_weights_through_each_port_once(limit: str) -> None:
    slow, fast = 4e9, "1e6 GB/s"
    rate, port = (f"{slow} B/s", fast) if limit == "memory" else (fast, f"{slow} B/s")
    network = [dimension("switch", 4, port, "0 s", in_network=True)]
    its = design(rate, network, batch=4, bucket="1 kB")
    found, whole = simulate(its), held(simulate(design(None))).weights * 4
    assert 2 * whole / slow < found.iteration_time_s < 2.35 * whole / slow + found.compute_s
    assert differences(its) == []


@st.composite
def streamed_trainings(draw: st.DrawFn) -> Design:
    """Designs of a training iteration whose weights stream in."""
    drawn = draw(trainings(zero=(3,)).filter(flushes_whole))
    document = drawn.document()
    document["parallelism"] |= STREAMS
    document["parallelism"].pop("shard_group", None)
    document["cluster"]["memory"] = {
        "expanded": {
            "capacity": "1 TB",
            "bandwidth": draw(st.sampled_from(["5 GB/s", "100 GB/s", "10 TB/s"])),
            "latency": draw(st.sampled_from(["0 s", "2 us"])),
            "shared_by": draw(st.sampled_from([1, drawn.cluster.npus])),
            "place": ["weights", "optimizer"],
            "updates": drawn.microbatches > 1 or draw(st.booleans()),
        }
    }
    return design_from(document)


def flushes_whole(drawn: Design) -> bool:
    schedule = SCHEDULES[drawn.parallelism.schedule]
    return schedule.flushes and not schedule.splits


@settings(max_examples=8, deadline=None)
@given(streamed_trainings().filter(lambda drawn: drawn.cluster.npus * drawn.microbatches <= 16))
def test_both_engines_agree(drawn: Design) -> None:
    assert differences(drawn) == []


@settings(max_examples=60, deadline=None)
@given(streamed_trainings())
def test_no_metric_beats_its_bound(drawn: Design) -> None:
    assert_not_beaten(bound(drawn), metrics(simulate(drawn, "fast")))


def test_what_streams_has_an_interval_of_its_time() -> None:
    estimated = estimate_times(design("10 GB/s"), Scenarios(32))
    assert len(estimated) == 33
    assert np.ptp(estimated) > 0


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ({"zero": 1}, "3 where weights stream in: the memory holds what ZeRO-3 shards"),
        ({"gather": "once"}, "twice where weights stream in: weights are dropped after each use"),
        ({"accumulate": "local"}, "sharded where weights stream in: gradients leave in every microbatch"),
        ({"shard_group": 2}, "nothing where weights stream in"),
        ({"place": ["optimizer"]}, "false where no weights lie in the memory"),
        ({"place": ["weights"]}, "what the memory updates lies there whole"),
        ({"place": ["weights", "optimizer", "activations"]}, "what the memory updates lies there whole"),
        ({"pipeline": 2, "schedule": "zero_bubble"}, "keeps backward passes whole"),
        ({"pipeline": 2, "schedule": "pipedream"}, "a schedule that flushes"),
    ],
)
def test_what_does_not_combine_is_refused(keys: dict[str, Any], found: str) -> None:
    with pytest.raises(InputError, match="expected") as raised:
        design("100 GB/s", **keys)
    assert found in str(raised.value)


@pytest.mark.parametrize("engine", ["packets", "reference_links"])
def test_engines_of_messages_refuse_it(engine: str) -> None:
    with pytest.raises(InputError, match="plays messages between NPUs"):
        simulate(design("100 GB/s"), engine)
