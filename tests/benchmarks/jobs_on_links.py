"""Two jobs that share uplinks: the slowdown of each by placement, engine `flow` against every message on every link.

    python tests/benchmarks/jobs_on_links.py

prints the table of docs/jobs.md. The cluster: 64 NPUs, nodes of 4 on a Clos of leaves of 8 nodes, 4 : 1. The jobs:
one collective each, and iterations of a dense model and of one with experts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from simcore.check.load import design_from
from simcore.result import JobResult
from simcore.simulate import simulate

CLUSTER = {
    "npu": "h100-80gb",
    "dimensions": [
        {"topology": "switch", "size": 4, "bandwidth": "450 GB/s", "latency": "1 us"},
        {
            "topology": "clos",
            "size": 16,
            "leaf": 8,
            "oversubscription": 4,
            "bandwidth": "25 GB/s",
            "latency": "2 us",
            "tier": "pod",
        },
    ],
}
PLACEMENTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "packed": ({"npus": 32}, {"npus": 32}),
    "spread": ({"npus": 32, "placement": "spread"}, {"npus": 32}),
    "nodes 2-5 and 10-13; the others": (
        {"nodes": [2, 3, 4, 5, 10, 11, 12, 13]},
        {"nodes": [0, 1, 6, 7, 8, 9, 14, 15]},
    ),
    "by rail": ({"npus": 32, "placement": "by_rail"}, {"npus": 32}),
}


def _collective(kind: str) -> dict[str, Any]:
    return {"workload": {"collective": kind, "size": "64 MiB"}}


def _training(model: str, sequence: int, **degrees: Any) -> dict[str, Any]:
    workload = {"model": {"base": model, "layers": 2}, "global_batch": 16, "sequence_length": sequence}
    return {"workload": {**workload, "precision": "bf16"}, "parallelism": {"tensor": 2, **degrees}}


JOBS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all_reduce, all_reduce": (_collective("all_reduce"), _collective("all_reduce")),
    "all_reduce, all_to_all": (_collective("all_reduce"), _collective("all_to_all")),
    "dense, dense": (_training("llama3-8b", 4096), _training("llama3-8b", 4096)),
    "dense, experts": (_training("llama3-8b", 4096), _training("mixtral-8x7b", 2048, expert=8)),
}


def rows(algorithm: str) -> Iterator[tuple[str, str, list[JobResult], list[JobResult]]]:
    """(Jobs, placement, as flows, on links) of every pair of jobs in every placement."""
    system = {"chunks": 8, "collective": ["direct", algorithm]}
    for name, pair in JOBS.items():
        for placement, shares in PLACEMENTS.items():
            listed = [
                {"name": f"job {i}", **job, **share} for i, (job, share) in enumerate(zip(pair, shares, strict=True))
            ]
            design = design_from({"jobs": listed, "cluster": CLUSTER, "system": system})
            begin = time.perf_counter()
            found = [list(simulate(design, engine).jobs) for engine in ("flow", "reference_links")]
            print(f"{algorithm}, {name}, {placement}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
            yield name, placement, *found


def main() -> None:
    """Print the table in Markdown."""
    print("| algorithm | jobs | placement | slowdown, `flow` | slowdown, `reference_links` | time, `flow` / links |")
    print("|---|---|---|---|---|---|")
    for algorithm in ("ring", "direct", "halving_doubling"):
        for name, placement, flows, links in rows(algorithm):
            slow = [", ".join(f"{job.slowdown:.2f}" for job in jobs) for jobs in (flows, links)]
            times = ", ".join(
                f"{a.iteration_time_s / b.iteration_time_s:.2f}" for a, b in zip(flows, links, strict=True)
            )
            print(f"| {algorithm} | {name} | {placement} | {slow[0]} | {slow[1]} | {times} |", flush=True)


if __name__ == "__main__":
    main()
