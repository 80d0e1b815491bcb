"""How fast the flow engine is, how it grows with NPUs, and whether it is the fast engine where nothing is shared.

Usage: python tests/benchmarks/bench_flow.py [--designs 50] [--grow 64] [--agreement 20000] [--seed 0]

Draws designs of `spaces/transformer1t.yaml` whose outermost dimension is a switch, and makes that a Clos of eight
leaves with 4:1 uplinks. Prints CPU milliseconds of each (lowering and playing; shared links; the fast engine on the
same design), what the loop counted, and medians; then the same with `--grow` times the NPUs, data and batch, and by
how much a design grew. With
`--agreement` it draws so many small designs of every kind and compares the forced loop with the fast engine.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from dse import load_space
from dse.space.draw import RandomDraw
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.engine.flow.links import links_of
from simcore.engine.flow.run import Job, find_classes, time_job
from simcore.memory.plan import program_of
from simcore.system.placement import place

ENGINE_TESTS = Path(__file__).parents[1] / "simcore" / "engine"
sys.path[:0] = [str(ENGINE_TESTS), str(ENGINE_TESTS / "flow")]

SPACE = Path(__file__).parents[2] / "spaces" / "transformer1t.yaml"


def valid(document: dict[str, Any]) -> Design | None:
    """The design of a document, if it is one."""
    design, _ = parse_design(document)
    return None if design is None or check(design) else design


def draw(first_seed: int) -> Iterator[dict[str, Any]]:
    """Documents of valid designs with 4:1 uplinks."""
    space, generator = load_space(SPACE), np.random.default_rng(first_seed)
    while True:
        design = valid(space.fill(RandomDraw(generator)).document)
        if design is None:
            continue
        document = design.document()
        last = document["cluster"]["dimensions"][-1]
        if last["topology"] == "switch":
            last |= {"topology": "clos", "leaf": max(2, last["size"] // 8), "oversubscription": 4}
            if valid(document) is not None:
                yield document


def grown(document: dict[str, Any], factor: int) -> dict[str, Any]:
    """The design with so many times the NPUs, each with the same share of the batch."""
    out = copy.deepcopy(document)
    out["cluster"]["dimensions"][-1]["size"] *= factor
    out["parallelism"]["data"] *= factor
    out["workload"]["global_batch"] *= factor
    return out


def measure(document: dict[str, Any], repeat: int = 3) -> tuple[float, float, float]:
    """Least CPU time of the flow engine, of finding shared links, and of the fast engine [ms]."""
    from forced import fast_timing

    times = []
    for _ in range(repeat):
        design = valid(document)
        assert design is not None
        job = Job(design, program_of(design), find_classes(design, place(design)[0]))
        moments = [time.process_time()]
        links = links_of(design)
        moments.append(time.process_time())
        counts = None if not links.links else time_job(job, links)[1]
        moments.append(time.process_time())
        fast_timing(design)
        moments.append(time.process_time())
        found, played, fast = (1e3 * step for step in np.diff(moments).tolist())
        times.append((played if links.links else fast, found, fast))
    p = design.parallelism
    degrees = f"tensor {p.tensor} pipeline {p.pipeline} data {design.data} interleave {p.interleave}"
    print(f"{degrees}: {min(times)[0]:.2f} ms, links {min(times)[1]:.2f}, fast {min(times)[2]:.2f}; {counts}")
    return min(times)


def compare(examples: int, first_seed: int) -> int:
    """Draw so many designs of all kinds; on how many the loop and the fast engine differ."""
    from drawn_designs import FAMILIES
    from forced import agree, fast_timing, flow_timing

    differing = 0
    for family, designs in FAMILIES.items():

        @seed(first_seed)
        @settings(
            max_examples=examples // len(FAMILIES),
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(designs)
        def equal(design: Design) -> None:
            nonlocal differing
            differing += not agree(flow_timing(design), fast_timing(design))

        equal()
        print(f"{family}: {examples // len(FAMILIES)} designs drawn, {differing} differ so far", flush=True)
    return differing


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("designs", 50), ("grow", 64), ("agreement", 0), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    documents = [document for document, _ in zip(draw(options.seed), range(options.designs), strict=False)]
    every: dict[int, list[tuple[float, float, float] | None]] = {}
    for factor in (1, options.grow):
        larger = [grown(one, factor) for one in documents]
        every[factor] = [measure(document) if valid(document) else None for document in larger]
        times = [its for its in every[factor] if its is not None]
        if times:
            flow, links, fast = (median(column) for column in zip(*times, strict=True))
            print(f"{factor} x NPUs: median of {len(times)}: {flow:.2f} ms, links {links:.2f}, fast {fast:.2f}")
    pairs = [(one, its) for one, its in zip(every[1], every[options.grow], strict=True) if one and its]
    if pairs and options.grow > 1:
        growth = median((its[0] + its[1]) / (one[0] + one[1]) for one, its in pairs)
        print(f"a design takes a median of {growth:.2f} times as long on {options.grow} x NPUs, links included")
    return compare(options.agreement, options.seed) if options.agreement else 0


if __name__ == "__main__":
    sys.exit(main())
