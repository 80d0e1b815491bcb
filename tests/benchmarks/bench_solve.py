"""How good solved shares are: time, or time x cost, over that of the best of random ones.

python tests/benchmarks/bench_solve.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dse.space.fill import FilledDocument
from dse.space.space import space_from
from dse.space.split import solve
from dse.space.split.solve import with_bandwidths
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.document.text import Document
from simcore.result import Result
from simcore.simulate import simulate

RIVALS = 150
JOBS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gpt3-175b", {"tensor": 4}),
    ("gpt3-175b", {"tensor": 8, "pipeline": {"choice": [2, 4]}}),
    ("llama2-7b", {"tensor": {"choice": [1, 2, 4]}, "zero": 1}),
)
NETWORKS = (
    (("switch", 4, "package"), ("switch", 4, "node"), ("switch", 2, "pod"), ("switch", 2, "pod")),
    (("switch", 8, "node"), ("switch", 8, "pod")),
    (("ring", 4, "package"), ("fully_connected", 4, "node"), ("switch", 4, "pod")),
)
BUDGETS = ({"split": "500 GB/s", "step": "5 GB/s"}, {"split": "100 GB/s", "step": "1 GB/s"})
GOALS = ({"minimize": ["iteration_time"]}, {"maximize": ["perf_per_cost"]})


def designs() -> Iterator[FilledDocument]:
    """Designs with their shares solved, that fit and that do not."""
    for (model, parallelism), network, budget, goal in product(JOBS, NETWORKS, BUDGETS, GOALS):
        dimensions = [{"topology": kind, "size": size, "tier": tier, "latency": "1 us"} for kind, size, tier in network]
        data = {
            "workload": {"model": model, "global_batch": 64},
            "parallelism": parallelism,
            "cluster": {"npu": "a100-80gb", "bandwidth": {**budget, "solve": True}, "dimensions": dimensions},
            "system": {"chunks": 16},
            "constraints": [],
            "objectives": goal,
        }
        yield from space_from(Document("bench.yaml", data, {}), "bench").enumerate()


def value(design: Design, goal: str) -> float:
    """What shares are solved for."""
    result = simulate(design)
    return result.iteration_time_s * (result.cost.total if goal == "time_cost" else 1.0)


def best_of_random(design: Design, least: float, goal: str) -> float:
    """The best of shares drawn anywhere, and ever nearer to the best so far, those solved included."""
    generator = np.random.default_rng(0)
    shares = np.array([dimension.bandwidth for dimension in design.cluster.dimensions])
    budget, best = shares.sum(), value(design, goal)
    for step in range(RIVALS):
        near = shares * np.exp(0.4 * 0.98**step * generator.standard_normal(len(shares)))
        drawn = near if step % 3 else generator.dirichlet(np.ones(len(shares)))
        drawn = np.maximum(drawn / drawn.sum() * budget, least)
        drawn *= budget / drawn.sum()
        reached = value(with_bandwidths(design, range(len(drawn)), drawn), goal)
        if reached < best:
            best, shares = reached, drawn
    return best


def main() -> None:
    """Print how far solved shares are from the best that random ones come to."""
    calls = 0

    def counted(design: Design) -> Result:
        nonlocal calls
        calls += 1
        return simulate(design)

    solve.simulate = counted  # what the solver calls
    missed = []
    for filled in designs():
        design, _ = parse_design(filled.document)
        assert design is not None
        (split,) = filled.solved
        missed.append(value(design, split.goal) / best_of_random(design, split.least, split.goal) - 1)
    print(f"{len(missed)} designs, {calls / len(missed):.1f} simulations each")
    print(
        f"above the best of random shares: {100 * np.mean(missed):.2f} % in the mean, {100 * max(missed):.1f} % at most"
    )


if __name__ == "__main__":
    main()
