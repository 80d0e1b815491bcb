"""Designs simulated per second and core: `python tests/benchmarks/bench_simulator.py [SPACE] [DESIGNS]`.

Draws valid designs that fit from a space, simulates each once after a warm-up, and prints CPU time per design; then the
growth of that time with the number of NPUs (data parallelism and batch grow together).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator

import numpy as np

import simcore
from dse.space.draw import RandomDraw
from dse.space.screen import exact_metrics
from dse.space.space import Space, load_space
from simcore.check.load import parse_design
from simcore.design.design import Design


def drawn(space: Space, seed: int) -> Iterator[Design]:
    """Valid designs of a space that fit, at random."""
    generator = np.random.default_rng(seed)
    while True:
        design, _ = parse_design(space.fill(RandomDraw(generator)).document)
        if design is not None and not simcore.check(design) and exact_metrics(design)["fits"]:
            yield design


def cpu_seconds(design: Design) -> float:
    """CPU time of one simulation [s]."""
    begin = time.process_time()
    simcore.simulate(design)
    return time.process_time() - begin


def grown(design: Design, factor: int) -> Design:
    """The design with `factor` times the NPUs, by data parallelism on the outermost dimension, and the batch."""
    document = design.document()
    document["parallelism"]["data"] *= factor
    document["workload"]["global_batch"] *= factor
    document["cluster"]["dimensions"][-1]["size"] *= factor
    return Design.model_validate(document)


def main() -> None:
    """Print the tables."""
    path = sys.argv[1] if len(sys.argv) > 1 else "spaces/transformer1t.yaml"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    designs = drawn(load_space(path), seed=0)
    for _, design in zip(range(5), designs, strict=False):
        simcore.simulate(design)
    chosen = [design for _, design in zip(range(count), designs, strict=False)]
    times = sorted(cpu_seconds(design) for design in chosen)
    print(f"{path}: {count} designs, CPU time of one simulation")
    print(f"{'median':>10} {'mean':>10} {'90 %':>10} {'worst':>10} {'designs/s':>10}")
    figures = [statistics.median(times), statistics.mean(times), times[int(0.9 * count)], times[-1]]
    print(" ".join(f"{1e3 * figure:>7.2f} ms" for figure in figures), f"{1 / statistics.median(times):>10.0f}")
    print("\nNPUs against CPU time (data-parallel growth)")
    first = chosen[0]
    base = None
    for factor in (1, 32, 1024):
        design = grown(first, factor)
        best = min(cpu_seconds(design) for _ in range(7))
        base = base or best
        print(f"{design.cluster.npus:>10,} {1e3 * best:>8.2f} ms {best / base:>6.2f} x")


if __name__ == "__main__":
    main()
