"""The reference engine: events per second, and the largest cluster it finishes in a minute.

`python tests/benchmarks/bench_reference.py`: one all-reduce of 1 GiB in 64 chunks on growing two-dimensional clusters,
phase level and link level, against the fast engine on the same design.
"""

from __future__ import annotations

import time

import simcore
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.reference import estimate_events

MINUTE = 60.0


def cluster(npus: int) -> Design:
    """One all-reduce over `npus` NPUs, eight to a node."""
    return design_from(
        {
            "workload": {"collective": "all_reduce", "size": "1 GiB"},
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": npus},
        }
    )


def seconds(design: Design, engine: str) -> float:
    """CPU time of one run [s]."""
    begin = time.process_time()
    simcore.simulate(design, engine)
    return time.process_time() - begin


def main() -> None:
    """Print the tables."""
    simcore.simulate(cluster(16))
    for engine, links in (("reference", False), ("reference_links", True)):
        print(f"{engine}\n{'NPUs':>8} {'events':>12} {'CPU s':>8} {'events/s':>10} {'fast ms':>8} {'ratio':>9}")
        npus, took = 16, 0.0
        while took * 8 < MINUTE:  # a cluster four times as large takes up to twelve times as long
            design = cluster(npus)
            events = estimate_events(design, links)
            try:
                took = seconds(design, engine)
            except RuntimeError as error:
                print(f"{npus:>8} {error}")
                break
            fast = min(seconds(design, "fast") for _ in range(3))
            print(
                f"{npus:>8} {events:>12,} {took:>8.2f} {events / took:>10,.0f} {1e3 * fast:>8.2f} {took / fast:>8,.0f}x"
            )
            npus *= 4
        rate = events / took
        print(f"in a minute: about {npus * MINUTE / 4 / took:,.0f} NPUs at {rate:,.0f} events/s\n")


if __name__ == "__main__":
    main()
