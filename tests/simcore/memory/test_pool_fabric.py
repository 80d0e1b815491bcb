"""Pools of memory behind a fabric of their own: what reaches each NPU, what is in common, what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from agreement import differences
from designs import assert_not_beaten, dimension, npu, software
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.cost.materials import bill_of
from simcore.design.design import Design
from simcore.design.memory import ExpandedMemory
from simcore.document.problem import InputError
from simcore.metrics import metrics
from simcore.simulate import simulate
from simcore.system.placement import place
from simcore.system.pool import common_reach, own_reach

MODEL = {"hidden": 512, "layers": 8, "heads": 8, "vocabulary": 1024, "sequence_length": 128}


def level(size: int, bandwidth: str, topology: str = "switch", **more: Any) -> dict[str, Any]:
    return {"size": size, "bandwidth": bandwidth, "topology": topology, **more}


NODES = [level(4, "100 GB/s", latency="1 us"), level(4, "200 GB/s", latency="2 us")]


def design(memory: Any, parallelism: Any = None, **its: Any) -> Design:
    return design_from(
        {
            "workload": {"model": MODEL, "global_batch": 64},
            "parallelism": parallelism or {},
            "cluster": {
                "npu": npu(memory={"capacity": "80 GB", "bandwidth": "1 TB/s", "efficiency": 1.0}),
                "dimensions": [dimension(size=4), dimension(size=4, bandwidth="25 GB/s")],
                "memory": {"expanded": memory},
            },
            "software": software(),
            **its,
        }
    )


def pool(fabric: Any, bandwidth: str = "10 TB/s", **more: Any) -> dict[str, Any]:
    keys = {"capacity": "1 TB", "bandwidth": bandwidth, "shared_by": 16, "place": ["optimizer"], **more}
    return keys if fabric is None else {**keys, "fabric": fabric}


def expanded(fabric: Any, bandwidth: str = "10 TB/s", **more: Any) -> ExpandedMemory:
    return ExpandedMemory.model_validate(pool(fabric, bandwidth, **more))


def test_the_slowest_level_limits_what_reaches_all_npus_at_once() -> None:
    """Behind a port of the second level are four NPUs; 16 share the memory nodes."""
    assert own_reach(expanded(None)).rate == 10e12 / 16
    assert own_reach(expanded(NODES)).rate == min(10e12 / 16, 100e9, 200e9 / 4)
    assert own_reach(expanded([level(4, "10 GB/s"), NODES[1]])).rate == 10e9
    assert own_reach(expanded(NODES, "160 GB/s")).rate == 10e9


def test_latencies_of_all_levels_add_up() -> None:
    assert own_reach(expanded(NODES, latency="3 us")).latency == pytest.approx(6e-6)


@pytest.mark.parametrize(
    ("outer", "load"),
    [
        # All-to-all between n: (n^2 / 4) / n on the links of a ring, of both directions; (n - 1) / n through a switch.
        (level(8, "100 GB/s", "ring"), 8 / 4),
        # The middle of a line has half of all data to carry each way, over one of the two links that a port stands for.
        (level(8, "100 GB/s", "mesh"), 2 * 4 * 4 / 8),
        # Half of the links of a port lead along each side, which data follow for (0 + 1 + 2 + 1) / 4 links.
        (level(16, "100 GB/s", "torus", sides=[4, 4]), 2 * 4 / 4),
    ],
)
def test_memory_nodes_along_a_ring_a_line_or_a_torus_are_reached_by_an_exchange(outer: Any, load: float) -> None:
    fabric = [level(2, "1 TB/s"), outer]
    shared = 2 * outer["size"]
    reach = own_reach(expanded(fabric, "1 PB/s", shared_by=shared))
    assert reach.rate == pytest.approx(100e9 / 2 / load)


def test_what_npus_have_in_common_passes_each_port_once() -> None:
    whole = design(pool(NODES), {"data": 16})
    group = place(whole)[0]["data"]
    found = common_reach(whole, expanded(NODES, "1 TB/s"), group)
    assert found.rate == 100e9  # one content: 100 GB/s to each NPU, 200 to four of them, 1000 in all
    tensor = design(pool(NODES), {"tensor": 4, "data": 4})
    group = place(tensor)[0]["data"]
    found = common_reach(tensor, expanded(NODES, "1 TB/s"), group)
    assert found.rate == 200e9 / 4  # each NPU of a node has another part of the weights
    half = design(pool(NODES), {"tensor": 2, "data": 8})
    found = common_reach(half, expanded(NODES, "1 TB/s"), place(half)[0]["data"])
    assert found.rate == 200e9 / 2


def test_common_data_goes_round_a_ring_once() -> None:
    whole = design(pool(NODES), {"data": 16})
    fabric = [level(4, "1 TB/s"), level(4, "100 GB/s", "ring")]
    found = common_reach(whole, expanded(fabric, "1 PB/s"), place(whole)[0]["data"])
    assert found.rate == pytest.approx(100e9 / (3 / 4))


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_an_offload_through_a_fabric_is_one_at_the_bandwidth_that_it_leaves(engine: str) -> None:
    through = simulate(design(pool(NODES, place=["optimizer", "activations"])), engine)
    directly = simulate(design(pool(None, "800 GB/s", place=["optimizer", "activations"], latency="3 us")), engine)
    assert through.iteration_time_s == directly.iteration_time_s
    assert through.iteration_time_s > simulate(design(pool(None, place=["optimizer", "activations"]))).iteration_time_s


def test_engines_agree_and_no_result_beats_its_bound() -> None:
    for fabric in (NODES, [level(4, "1 GB/s"), level(4, "5 GB/s", "ring")]):
        its = design(pool(fabric, place=["optimizer", "activations"]))
        assert not differences(its)
        assert_not_beaten(bound(its), metrics(simulate(its)))


def test_links_ports_and_nics_of_a_pool_cost_what_those_of_a_network_do() -> None:
    """At LIBRA's prices: 4 + 13 in a node, 7.8 + 18 + 31.6 between pods, $ per GB/s."""
    plain, pooled = (
        simulate(design(pool(None, "800 GB/s"))),
        design(pool([NODES[0], {**NODES[1], "tier": "pod"}], "800 GB/s")),
    )
    cost = simulate(pooled).cost
    assert cost.memory - plain.cost.memory == pytest.approx(16 * 100 * 17 + (4 * 200 + 800) * 57.4)
    assert cost.total - plain.cost.total == pytest.approx(cost.memory - plain.cost.memory)
    assert bill_of(pooled).price(["memory"]) == pytest.approx(cost.memory)
    assert cost.memory > simulate(design(pool(NODES, "800 GB/s"))).cost.memory


@pytest.mark.parametrize(
    ("memory", "its", "message"),
    [
        (pool([level(4, "1 GB/s")]), {}, "multiply to the 16 NPUs"),
        (pool([level(4, "1 GB/s", "ring"), level(4, "1 GB/s")]), {}, "all levels but the outermost"),
        (pool([level(4, "1 GB/s", sides=[2, 2]), level(4, "1 GB/s")]), {}, "sides of a torus"),
        (pool([level(4, "1 GB/s"), level(4, "1 GB/s", "torus", sides=[2, 3])]), {}, "sides whose product"),
        (pool(None, in_network=True), {}, "no fabric could copy"),
        (pool(NODES, in_network=True), {}, "weights, which NPUs have in common"),
        (pool(NODES, edge=True), {}, "false where a fabric leads to the memory"),
        (pool([{**NODES[0], "tier": "chiplet"}, NODES[1]]), {}, "a price for a switch"),
        (pool(NODES), {"cost": "street-2025"}, "no pool of memory|make no pool"),
    ],
)
def test_pools_that_join_nothing_or_that_nobody_sells_are_refused(memory: Any, its: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        design(memory, **its)


STREAMED = {"zero": 3, "gather": "twice", "accumulate": "sharded"}


def streamed(fabric: Any, in_network: bool = False, bandwidth: str = "10 TB/s", **parallelism: Any) -> Design:
    more = {"in_network": True} if in_network else {}
    memory = pool(fabric, bandwidth, place=["weights", "optimizer"], updates=True, **more)
    return design(memory, {**STREAMED, **parallelism})


def test_gathering_on_the_way_takes_nothing_of_the_network_and_all_weights_through_each_port() -> None:
    """Weights go twice through the port of each NPU, forward and backward; gradients leave by its other direction."""
    slow = [level(4, "2 GB/s"), level(4, "1 TB/s")]
    found = simulate(streamed(slow, in_network=True, bucket="1 kB"))
    assert all(use.bytes_per_npu == 0 for use in found.network)
    whole = simulate(design(pool(None))).memory_bytes
    assert whole is not None
    loads = 2 * whole.weights / 2e9
    microbatches = 64 // 16
    assert microbatches * loads < found.iteration_time_s < microbatches * 1.3 * loads + found.compute_s


def test_private_shards_gathered_over_the_network_and_a_pool_that_gathers_bound_each_other() -> None:
    wide = [level(4, "1 PB/s"), level(4, "1 PB/s")]
    never, gathered = simulate(streamed(wide, True, "1 PB/s")), simulate(streamed(wide, False, "1 PB/s"))
    assert never.iteration_time_s < gathered.iteration_time_s
    assert any(use.bytes_per_npu > 0 for use in gathered.network)
    narrow = [level(4, "100 GB/s"), level(4, "10 GB/s")]  # 10 / 4 GB/s of shards of a 16th: 40 GB/s of weights
    assert simulate(streamed(narrow, True)).iteration_time_s > never.iteration_time_s


@st.composite
def pooled_trainings(draw: st.DrawFn) -> Design:
    """Designs whose weights stream in through a fabric."""
    degrees = draw(st.sampled_from([{}, {"tensor": 4}, {"tensor": 2, "pipeline": 2}, {"pipeline": 4}]))
    outer = draw(st.sampled_from(["switch", "ring", "mesh"]))
    rates = [draw(st.sampled_from(["1 GB/s", "20 GB/s", "1 TB/s"])) for _ in range(3)]
    fabric = [level(4, rates[0], latency="1 us"), level(4, rates[1], outer)]
    its = streamed(fabric, draw(st.booleans()), rates[2], **degrees)
    return its.with_({"workload.global_batch": 16, "workload.model": {**MODEL, "layers": 4}})


@given(pooled_trainings())
@settings(max_examples=4, deadline=None)
def test_engines_agree_on_pools_that_weights_stream_in_from_and_none_beats_its_bound(its: Design) -> None:
    assert not differences(its)
    assert_not_beaten(bound(its), metrics(simulate(its)))
