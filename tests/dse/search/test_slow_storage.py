"""Storage for checkpoints is bought: in a search a slow store loses, and so does one that is faster than it helps."""

from __future__ import annotations

from typing import Any

from dse.door.optimize import optimize
from dse.proof.certificate import proven_bounds
from dse.space.space import load_space

SPACE: dict[str, Any] = {
    "workload": {"model": "llama3-70b", "global_batch": 1024, "precision": "bf16", "training_tokens": 15e12},
    "parallelism": {"tensor": 8, "pipeline": 4, "zero": 1, "recompute": "full", "sequence_parallel": True},
    "cluster": {"fabric": "dgx-h100", "npu": "h100-80gb", "npus": 4096},
    "reliability": {
        "base": "llama3",
        "checkpoint": {"bandwidth": {"choice": ["0.2 GB/s", "1 GB/s", "20 GB/s", "2 TB/s", "8 TB/s"]}},
    },
    "cost": "street-2025",
    "objectives": {"minimize": ["cost_to_train"]},
    "constraints": ["fits", "goodput >= 0.5"],
    "study": {"sampler": "exact", "trials": 10, "seed": 0},
}
CHOSEN = "reliability.checkpoint.bandwidth"


def test_neither_the_slowest_nor_the_fastest_store_trains_cheapest() -> None:
    run = optimize(SPACE, folder=None)
    best = run.best("cost_to_train")
    trials = run.trials.set_index(CHOSEN)
    assert trials.loc["0.2 GB/s", "goodput"] < trials.loc["20 GB/s", "goodput"] < trials.loc["8 TB/s", "goodput"]
    cheapest = trials["cost_to_train"].astype(float).idxmin()
    assert cheapest in ("1 GB/s", "20 GB/s")
    assert best is not None
    proven = proven_bounds(load_space(SPACE), "auto")["cost_to_train"]
    assert proven is not None
    assert 0.9 * trials["cost_to_train"].min() < proven <= trials["cost_to_train"].min() * (1 + 1e-9)
