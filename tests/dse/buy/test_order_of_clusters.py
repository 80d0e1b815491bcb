"""What is tuned for a cluster depends on that cluster alone, not on those that a worker has seen before."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from tiny_spaces import space

from dse.run.driver import evaluator_of
from dse.run.settings import Settings

NODE = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us", "tier": "node"}
POD = {"topology": "switch", "size": 8, "bandwidth": "50 GB/s", "latency": "2 us", "tier": "pod"}
ALGORITHMS = {"choice": ["ring", "direct", "halving_doubling"]}


@pytest.mark.parametrize(
    "dimensions",
    [
        [{**NODE, "library": {"choice": ["nccl-hopper", {}]}, "collective": ALGORITHMS}, POD],
        [NODE, {**POD, "switch": {"choice": ["no-such-switch", "qm9700"]}}],
        [NODE, {**POD, "latency": {"choice": ["-1 us", "2 us"]}}],
    ],
    ids=["libraries", "switches", "latencies"],
)
def test_in_every_order_of_clusters_each_has_the_same_outcome(dimensions: list[dict[str, Any]]) -> None:
    given = space(
        {
            "study": {"decide": ["cluster"], "tune": "iteration_time"},
            "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 8192, "precision": "bf16"},
            "parallelism": {"tensor": {"choice": [4, 8]}, "zero": 1},
            "hypothetical": True,
            "cluster": {"npu": "h100-80gb", "dimensions": dimensions},
            "objectives": {"minimize": ["iteration_time"]},
        }
    )
    documents = [filled.document for filled in given.enumerate()]
    assert len(documents) == 2
    found = []
    for order in permutations(range(2)):
        evaluate = evaluator_of(given, Settings(trials=2, sampler="exhaustive", seed=0))
        outcomes = {number: evaluate(documents[number]) for number in order}
        found.append([(outcomes[n].state, outcomes[n].values, outcomes[n].workloads) for n in range(2)])
    assert found[0] == found[1]
    assert found[0][1][0] == "feasible"
