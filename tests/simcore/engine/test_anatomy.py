"""What is inside an iteration adds up to what its result says of it."""

from __future__ import annotations

from typing import Any

import pytest

from dse.explain.explained import explain
from simcore.check.load import load_design
from simcore.design.design import Design
from simcore.engine.anatomy import collectives_of, operators_of
from simcore.simulate import simulate

CLUSTER = {
    "npu": "a100-80gb",
    "dimensions": [
        {"topology": "switch", "size": 8, "bandwidth": "300 GB/s", "latency": "700 ns", "tier": "node"},
        {"topology": "ring", "size": 8, "bandwidth": "25 GB/s", "latency": "1.7 us", "tier": "pod"},
    ],
}
GPT = {"model": "megatron-22b", "global_batch": 64}
MIXTURE = {"model": "mixtral-8x7b", "global_batch": 64, "sequence_length": 4096}
RIGID = {"base": "megatron-core", "overlap": {"node": 0, "nodes": 0}}
"""Software whose collectives slow no computation."""


def design(workload: dict[str, Any], **parallelism: Any) -> Design:
    document = {"workload": workload, "cluster": CLUSTER, "software": RIGID, "system": {"chunks": 4}}
    return load_design(document | ({"parallelism": parallelism} if parallelism else {}))


DESIGNS = [
    design(GPT, tensor=8, pipeline=4, sequence_parallel=True, recompute="selective"),
    design(GPT, tensor=4, pipeline=4, interleave=2, zero=1),
    design(GPT, tensor=8, zero=3, recompute="full"),
    design(GPT, tensor=8, pipeline=4, schedule="zbv", interleave=2),
    design(MIXTURE, tensor=2, pipeline=2, expert=8),
    design({"layers": "resnet-50", "global_batch": 512}),
]


@pytest.mark.parametrize("index", range(len(DESIGNS)))
def test_operators_add_up_to_the_time_computed(index: int) -> None:
    result = simulate(DESIGNS[index])
    uses = operators_of(DESIGNS[index], result.stage or 0)
    assert sum(use.seconds for use in uses) == pytest.approx(result.compute_s, rel=1e-6)


@pytest.mark.parametrize("index", range(len(DESIGNS)))
def test_collectives_keep_each_dimension_busy_as_long_as_the_result_says(index: int) -> None:
    result = simulate(DESIGNS[index], "fast")
    uses = collectives_of(DESIGNS[index], result.stage or 0)
    for place, dimension in enumerate(result.network):
        assert sum(use.busy[place] for use in uses) == pytest.approx(dimension.busy_s)


def test_operators_are_counted_forward_and_backward_by_one_name() -> None:
    uses = {use.name: use for use in operators_of(DESIGNS[1])}
    program_flops = sum(use.flops for use in uses.values() if use.kind == "gemm")
    assert {"qkv", "mlp-in", "mlp-out"} <= set(uses)
    assert not any(name.endswith(("backward", "gradient")) for name in uses)
    assert uses["mlp-in"].flops == pytest.approx(uses["mlp-out"].flops)
    assert program_flops > 0


def test_a_single_collective_has_no_operators_and_itself() -> None:
    alone = load_design({"workload": {"collective": "all_reduce", "size": "1 GiB"}, "cluster": CLUSTER})
    assert operators_of(alone) == ()
    (use,) = collectives_of(alone)
    assert (use.kind, use.count, use.bytes) == ("all_reduce", 1, 2**30)


def test_what_is_inside_is_of_the_stage_that_the_engine_found_last() -> None:
    """An NPU of stage 1 is three times slower, so that stage 1 is last, and not stage 0 as where all are alike."""
    alike = load_design(
        {
            "workload": {
                "model": {"layers": 8, "hidden": 1024, "heads": 8, "vocabulary": 1000, "sequence_length": 256},
                "global_batch": 16,
            },
            "parallelism": {"pipeline": 2, "data": 2, "schedule": "zbv", "interleave": 2},
            "cluster": {
                "npu": "a100-80gb",
                "dimensions": [
                    {"topology": "switch", "size": 4, "bandwidth": "5 GB/s", "latency": "1 us", "tier": "node"}
                ],
            },
            "software": RIGID,
        }
    )
    slow = alike.with_("cluster.stragglers", [{"npu": 2, "slowdown": 3.0}])
    assert simulate(alike).stage == 0
    result = simulate(slow)
    assert (result.engine, result.stage) == ("flow", 1)
    seconds = [sum(use.seconds for use in operators_of(slow, stage)) for stage in (0, 1)]
    assert 3 * seconds[1] == pytest.approx(result.compute_s, rel=1e-4)
    assert seconds[0] != pytest.approx(seconds[1], rel=1e-4)
    assert [use["seconds"] for use in explain(slow, budget=0).as_json()["operators"]] == [
        use.seconds for use in operators_of(slow, 1)
    ]
