"""The default sampler against proven fronts: `python tests/benchmarks/bench_quality.py [N,N…] [SEEDS] [TRIALS]`.

The spaces are those of `tests/benchmarks/drawn_spaces.py`, by number; 0 to 19 unless given. The front of each is that
of sampler `exact`, run to the end of its proof. Printed are the hypervolumes after TRIALS trials as shares of that of
the proven front, least and mean over the seeds; the reference point is 1.1 x the nadir of the proven front.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent)]

from bench_search import Table, search  # noqa: E402  # after the path
from drawn_spaces import drawn_document  # noqa: E402

from dse.evaluate.pareto import front_mask, hypervolume, reference_point  # noqa: E402
from dse.search import resolve_sampler  # noqa: E402
from dse.space.space import load_space  # noqa: E402

NUMBERS = range(20)


def measure(number: int, seeds: int, trials: int) -> list[float]:
    """Print the row of a space; the share of its proven front that each seed has."""
    space = load_space(drawn_document(number))
    table = Table(space)
    begun = time.process_time()
    proof, _, _ = search(space, "exact", 0, sys.maxsize, table)
    spent = time.process_time() - begun
    feasible = np.array([row for row in proof if row is not None])
    model = space.template["workload"]["model"]
    wanted = ", ".join(objective.name for objective in space.objectives)
    if not len(feasible):
        print(f"{number:>3} {model:>14} no design is feasible", flush=True)
        return []
    front = np.unique(feasible[front_mask(feasible)], axis=0)
    reference = reference_point(front)
    shares = []
    for seed in range(seeds):
        found, _, _ = search(space, "auto", seed, trials, table)
        rows = np.array([row for row in found if row is not None])
        shares.append(hypervolume(rows, reference) / hypervolume(front, reference) if len(rows) else 0.0)
    print(
        f"{number:>3} {model:>14} {space.count():>10,} {len(front):>5} {len(proof):>9,} {spent:>7.0f} "
        f"{resolve_sampler('auto', space, 'fast'):>13} {min(shares):>8.4f} {np.mean(shares):>8.4f}  {wanted}",
        flush=True,
    )
    return shares


def main() -> None:
    """Print the table."""
    numbers = [int(part) for part in sys.argv[1].split(",")] if len(sys.argv) > 1 else list(NUMBERS)
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    trials = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    columns = f"{'model':>14} {'designs':>10} {'front':>5} {'simulated':>9} {'CPU s':>7} {'auto is':>13}"
    print(f"{'':>3} {columns} {'least':>8} {'mean':>8}")
    shares = [share for number in numbers for share in measure(number, seeds, trials)]
    print(f"least {min(shares):.4f}, mean {np.mean(shares):.4f} of {len(shares)} runs")


if __name__ == "__main__":
    main()
