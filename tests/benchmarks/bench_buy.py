"""Buying a cluster: clusters per second, and how little of the software is simulated.

`python tests/benchmarks/bench_buy.py [SPACE] [CLUSTERS]`. One process; the first cluster of a shape enumerates its
software, so the rate rises with their number.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time

from dse.buy.evaluate import Buyer
from dse.run.driver import evaluator_of
from dse.run.settings import Settings
from dse.space.space import load_space
from simcore.design.design import Design
from simcore.result import Result
from simcore.simulate import simulate


def main() -> None:
    """Print the table."""
    path = sys.argv[1] if len(sys.argv) > 1 else "spaces/cluster_for_two.yaml"
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 75
    space = load_space(path)
    simulated = 0

    def counted(design: Design) -> Result:
        nonlocal simulated
        simulated += 1
        return simulate(design)

    buyer = evaluator_of(space, Settings("exhaustive", most, 0))
    assert isinstance(buyer, Buyer)
    tuner = dataclasses.replace(buyer.tuner, evaluator=dataclasses.replace(buyer.tuner.evaluator, engine=counted))
    buyer = dataclasses.replace(buyer, tuner=tuner)
    designs = sum(space.space_of_job(job).count() for job in space.jobs) / space.count()
    print(f"{path}: {space.count():,.0f} clusters, {designs:,.0f} designs on each")
    print(f"{'clusters':>8} {'simulated':>9} {'of all':>7} {'CPU s':>7} {'clusters/s':>10} {'designs/s':>10}")
    begin = time.process_time()
    for done, filled in enumerate(itertools.islice(space.enumerate(), most), 1):
        buyer(filled.document)
        if done in (1, 10, 25, 50, most):
            seconds = time.process_time() - begin
            share = 100 * simulated / (done * designs)
            rates = f"{done / seconds:>10.2f} {done * designs / seconds:>10,.0f}"
            print(f"{done:>8} {simulated:>9} {share:>5.1f} % {seconds:>7.1f} {rates}")


if __name__ == "__main__":
    main()
