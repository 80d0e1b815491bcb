"""Spaces of several jobs: what one takes at least says nothing of all, and a search goes on without it."""

from __future__ import annotations

from typing import Any

import dse
from dse.proof.relax import LeastTimes
from simcore.check.load import load_design

MODEL = {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 32_000, "sequence_length": 1024}
TRAINING = {"model": MODEL, "global_batch": 32, "precision": "bf16"}


def test_jobs_that_share_a_cluster_have_no_queue_of_their_own() -> None:
    given: dict[str, Any] = {
        "jobs": [
            {
                "name": "big",
                "workload": TRAINING,
                "parallelism": {"tensor": {"choice": [1, 2]}, "zero": {"choice": [0, 1]}},
                "npus": {"choice": [16, 24]},
            },
            {"name": "small", "workload": TRAINING, "parallelism": {"tensor": 1}, "npus": 8},
        ],
        "cluster": {
            "npu": "h100-80gb",
            "dimensions": [
                {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us"},
                {
                    "topology": "clos", "size": 4, "leaf": 2, "oversubscription": {"choice": [1, 2]},
                    "nics": {"choice": [4, 8]},
                    "nic_bandwidth": "50 GB/s", "latency": "2 us", "tier": "pod",
                },
            ],
        },
        "objectives": {"minimize": ["iteration_time", "cost.total"]},
        "constraints": ["fits"],
    }  # fmt: skip
    space = dse.load_space(given)
    design = load_design(next(iter(space.enumerate())).document)
    assert LeastTimes(space).queue(design) is None
