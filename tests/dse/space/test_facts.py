"""What a space leaves open though nobody can choose it is said."""

from __future__ import annotations

from typing import Any

import pytest

from dse.space.space import load_space

BASE: dict[str, Any] = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf16", "training_tokens": 1e12},
    "parallelism": {"tensor": 1, "zero": {"choice": [1, 3]}},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16},
    "objectives": {"minimize": ["time_to_train"]},
}


@pytest.mark.parametrize(
    ("reliability", "said"),
    [
        ("llama3", False),
        ({"choice": ["llama3", "none"]}, True),
        ({"base": "llama3", "mtbf": {"npu": {"choice": ["3650 d", "7300 d"]}}}, True),
        ({"base": "llama3", "spares": {"choice": [0.0, 0.05]}}, False),
        ({"base": "llama3", "checkpoint": {"interval": {"choice": ["10 min", "1 h"]}}}, False),
        ({"base": "llama3", "restart": {"initialisation": {"choice": ["10 s", "50 s"]}}}, False),
    ],
)
def test_failures_that_are_open_are_said(reliability: Any, said: bool) -> None:
    notices = load_space({**BASE, "reliability": reliability}).notices
    assert any(notice.startswith("reliability leaves open how often things fail") for notice in notices) == said


@pytest.mark.parametrize(
    ("bought", "cost", "told"),
    [
        ({"spares": {"choice": [0.0, 0.05]}}, "libra", "how many nodes stand by"),
        ({"checkpoint": {"bandwidth_per_npu": {"choice": ["50 MB/s", "1 GB/s"]}}}, "libra", "how fast the storage is"),
        ({"spares": {"choice": [0.0, 0.05]}}, "street-2025", ""),
        ({"spares": 0.05, "checkpoint": {"interval": {"choice": ["10 min", "1 h"]}}}, "libra", ""),
    ],
)
def test_what_is_bought_against_failures_for_nothing_is_said(bought: Any, cost: str, told: str) -> None:
    notices = load_space({**BASE, "cost": cost, "reliability": {"base": "llama3", **bought}}).notices
    said = [notice for notice in notices if "costs nothing at a list of prices without parts" in notice]
    assert [notice.startswith(f"reliability leaves open {told}, which") for notice in said] == [True] * bool(told)


def test_how_soon_a_failure_is_found_and_mended_is_no_choice() -> None:
    open_times = {"restart": {"detection": {"choice": ["1 s", "10 min"]}}, "repair": {"choice": ["1 h", "1 d"]}}
    (notice,) = load_space({**BASE, "reliability": {"base": "llama3", **open_times}}).notices
    assert notice.startswith("reliability leaves open how long a repair takes and how soon a failure is found, and")


@pytest.mark.parametrize(("batch", "said"), [(2048, False), (4_194_304, True), ({"choice": [64, 4_194_304]}, True)])
def test_a_batch_in_tokens_where_sequences_are_asked_for_is_said(batch: Any, said: bool) -> None:
    workload = {**BASE["workload"], "global_batch": batch}
    notices = load_space({**BASE, "workload": workload}).notices
    assert any("4,194,304 of them are 34.4 billion tokens" in notice for notice in notices) == said


NPU: dict[str, Any] = {
    "name": "ours",
    "peak": {"bf16": "600 TFLOP/s", "fp32": "30 TFLOP/s"},
    "memory": {"capacity": "96 GB", "bandwidth": "2 TB/s"},
    "power": {"max": "600 W", "idle": "90 W"},
    "price": "12000 $",
}
OPEN = {"capacity": {"choice": ["96 GB", "144 GB"]}, "bandwidth": "2 TB/s"}


@pytest.mark.parametrize(
    ("npu", "open_ones"),
    [
        (NPU, ""),
        ({**NPU, "memory": OPEN}, "memory.capacity"),
        (
            {**NPU, "memory": OPEN, "peak": {"bf16": {"choice": ["500 TFLOP/s", "600 TFLOP/s"]}}},
            "peak.bf16 and memory.capacity",
        ),
        ({**NPU, "memory": OPEN, "price": {"expr": "9000 + 50 * cluster.npu.memory.capacity / 1e9"}}, ""),
        ({"choice": [NPU, {**NPU, "name": "large", "memory": {**OPEN, "capacity": "144 GB"}}]}, ""),
        ({"choice": ["h100-80gb", {**NPU, "memory": OPEN}]}, "memory.capacity"),
        ({"choice": ["h100-80gb", "h200"]}, ""),
    ],
)
def test_what_an_npu_is_at_one_price_is_said(npu: Any, open_ones: str) -> None:
    told = [n for n in load_space({**BASE, "cluster": {**BASE["cluster"], "npu": npu}}).notices if "at one price" in n]
    assert [notice.partition(" at one price")[0] for notice in told] == [
        f"cluster.npu leaves open {part}" for part in [open_ones] if part
    ]


@pytest.mark.parametrize(
    ("software", "said"),
    [("megatron-core", True), ({"base": "megatron-core", "execution": "graph"}, False), (None, False)],
)
def test_a_server_whose_kernels_are_launched_one_by_one_is_told_of_graphs(software: Any, said: bool) -> None:
    served = {"model": "llama3-8b", "global_batch": 64, "precision": "bf16", "prompt_length": 512, "output_length": 64}
    given = {**BASE, "workload": served, "parallelism": {}, **({} if software is None else {"software": software})}
    notices = load_space({**given, "objectives": {"minimize": ["time_per_output_token"]}}).notices
    assert any("write software: vllm" in notice for notice in notices) == said
