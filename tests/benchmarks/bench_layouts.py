"""How good solved stages and recomputation are, and what solving takes.

python tests/benchmarks/bench_layouts.py [DESIGNS]

Against the even split on drawn designs, and against every other way on small ones, by the fast engine.
"""

from __future__ import annotations

import sys
import time
from math import inf
from pathlib import Path
from random import Random

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "simcore" / "layout"))

from drawn_layouts import all_stages, between_memories, drawn, shortest, with_parallelism

from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.layout.settle import settle
from simcore.simulate import simulate

SOLVE = {"solve": True}


def against_even(count: int, interleave: int) -> None:
    """Solved stages over the even split, where that fits."""
    ratios, spent = [], []
    for document in drawn(count, 1000 + interleave, interleave=interleave):
        opened = with_parallelism(document, stages=SOLVE)
        start = time.process_time()
        settled = settle(opened)
        spent.append(1e3 * (time.process_time() - start))
        even, solved = simulate(with_parallelism(document)), simulate(settled)
        if even.fits:
            assert solved.fits
            ratios.append(solved.iteration_time_s / even.iteration_time_s)
    worse = sum(ratio > 1 + 1e-9 for ratio in ratios)
    print(
        f"stages, interleave {interleave}: {len(ratios)} designs that fit, solved / even {np.mean(ratios):.3f} in the "
        f"mean, {min(ratios):.3f} to {max(ratios):.4f}, worse {worse}; solving takes {np.median(spent):.2f} ms"
    )


def against_uniform(count: int, interleave: int) -> None:
    """Solved recomputation, with even stages and with solved ones, over recomputing all layers."""
    ratios, both = [], []
    for number, document in enumerate(drawn(count, 2000 + interleave, interleave=interleave)):
        full = between_memories(document, Random(number).random())
        if full is None:
            continue
        whole = simulate(with_parallelism(full, recompute="full"))
        for found, keys in ((ratios, {}), (both, {"stages": SOLVE})):
            solved = simulate(with_parallelism(full, recompute="solve", **keys))
            assert solved.fits or not whole.fits
            found.append(solved.iteration_time_s / whole.iteration_time_s)
    print(
        f"recomputation, interleave {interleave}: {len(ratios)} designs, solved / full {np.mean(ratios):.3f}, at most "
        f"{max(ratios):.4f}; with solved stages {np.mean(both):.3f}, at most {max(both):.4f}"
    )


def against_all(count: int, schedules: tuple[str, ...] = ()) -> None:
    """Solved stages of small pipelines over the best of all ways; `schedules`, in turn, in place of those drawn."""
    gaps = []
    for number, document in enumerate(drawn(count, 3000, most_layers=9)):
        if schedules:
            document["parallelism"]["schedule"] = schedules[number % len(schedules)]
            parsed, _ = parse_design(document)
            if parsed is None or check(parsed):
                continue
        layers, pipeline = document["workload"]["model"]["layers"], document["parallelism"]["pipeline"]
        each = [simulate(with_parallelism(document, stages=sizes)) for sizes in all_stages(layers, pipeline)]
        best = min((result.iteration_time_s for result in each if result.fits), default=None)
        if best is not None:
            gaps.append(simulate(with_parallelism(document, stages=SOLVE)).iteration_time_s / best - 1)
    _print_gaps(f"stages {' '.join(schedules)}", gaps)


def against_all_recomputation(count: int) -> None:
    """Solved stages and recomputation of dense models over the best of all ways."""
    gaps = []
    for number, document in enumerate(drawn(count, 4000, most_layers=5)):
        document["workload"]["model"].pop("mixture_of_experts", None)
        full = between_memories(document, Random(number).random())
        if full is None:
            continue
        stages = all_stages(full["workload"]["model"]["layers"], full["parallelism"]["pipeline"])
        if (best := shortest(full, stages)) < inf:
            solved = simulate(with_parallelism(full, stages=SOLVE, recompute="solve"))
            assert solved.fits
            gaps.append(solved.iteration_time_s / best - 1)
    _print_gaps("stages and recomputation", gaps)


def _print_gaps(what: str, gaps: list[float]) -> None:
    equal = sum(gap < 1e-9 for gap in gaps)
    print(
        f"{what} against all ways: {len(gaps)} small designs, {equal} equal to the best, {np.mean(gaps):.2%} behind it "
        f"in the mean, {max(gaps):.2%} at most"
    )


if __name__ == "__main__":
    designs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for chunks in (1, 2):
        against_even(designs, chunks)
        against_uniform(designs // 2, chunks)
    against_all(designs // 5)
    against_all(designs // 5, ("pipedream", "pipedream_2bw"))
    against_all_recomputation(designs // 10)
