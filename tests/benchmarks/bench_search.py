"""Samplers against fronts that are proven: `python tests/benchmarks/bench_search.py [SEEDS] [TRIALS] [SAMPLER…]`.

The front of each space is that of sampler `exact`, run to the end of its proof (the tests hold it against brute force).
Each sampler searches each space with each seed; a design is simulated once for all of them. Printed is the hypervolume
after some trials as a share of that of the exact front, mean and least over the seeds; the reference point is 1.1 x the
nadir of the exact front. CPU time is the sampler's own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.pareto import front_mask, hypervolume, reference_point
from dse.search import Proposal, make_sampler, resolve_sampler
from dse.space.objective import losses
from dse.space.space import Space, load_space

HERE = Path(__file__).parent
SPACES = (
    HERE / "search_spaces" / "small.yaml",
    HERE / "search_spaces" / "transformer1t_cut.yaml",
    HERE / "search_spaces" / "gpt3_memory.yaml",
)
SAMPLERS = ("auto", "guided", "random", "nsga2", "tpe")
MARKS = (50, 100, 300, 1000)
MOST_REPEATS = 300


class Table:
    """Outcomes of a space's designs, each simulated when it is first asked for."""

    def __init__(self, space: Space) -> None:
        self._space, self._evaluator = space, Evaluator(space.objectives, space.constraints)
        self._known: dict[str, Outcome] = {}

    def __getitem__(self, proposal: Proposal) -> Outcome:
        key = proposal.key or self._space.key(proposal.filled)
        if key not in self._known:
            self._known[key] = self._evaluator(proposal.filled.document)
        return self._known[key]

    def losses(self, outcome: Outcome) -> list[float]:
        """Values of an outcome, to be minimised."""
        return [float(loss) for loss in losses(self._space.objectives, [outcome.values])[0]]


def search(space: Space, name: str, seed: int, trials: int, table: Table) -> tuple[list[Any], int, float]:
    """Losses of the feasible trials (None: infeasible) in order, repeated proposals, CPU seconds of the sampler."""
    sampler = make_sampler(resolve_sampler(name, space, "fast"), space, seed)
    found: list[Any] = []
    seen: set[str] = set()
    repeats = in_a_row = 0
    seconds = 0.0
    while len(found) < trials and in_a_row < MOST_REPEATS:
        batch: list[Any] = []
        wanted = sampler.next_batch(min(space.settings.batch, trials - len(found)))  # as the study loop does
        while len(batch) < wanted and in_a_row < MOST_REPEATS:
            begun = time.process_time()
            proposal = sampler.ask()
            seconds += time.process_time() - begun
            if proposal is None:
                in_a_row = MOST_REPEATS
                break
            key = proposal.key or space.key(proposal.filled)
            if key in seen:
                sampler.reject(proposal)
                repeats, in_a_row = repeats + 1, in_a_row + 1
                continue
            seen.add(key)
            in_a_row = 0
            batch.append((proposal, table[proposal]))
        begun = time.process_time()
        for proposal, outcome in batch:
            sampler.tell(proposal, tuple(table.losses(outcome)), outcome.violations)
        seconds += time.process_time() - begun
        found += [table.losses(outcome) if outcome.state == "feasible" else None for _, outcome in batch]
    return found, repeats, seconds


def main() -> None:
    """Print the tables."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else MARKS[-1]
    samplers = sys.argv[3:] or SAMPLERS
    marks = [mark for mark in MARKS if mark <= trials]
    for path in SPACES:
        space = load_space(path)
        table = Table(space)
        found, _, seconds = search(space, "exact", 0, sys.maxsize, table)
        feasible = np.array([row for row in found if row is not None])
        front = np.unique(feasible[front_mask(feasible)], axis=0)
        reference = reference_point(front)
        whole = hypervolume(front, reference)
        print(
            f"\n{path.stem}: {space.count():,} combinations, {len(found):,} simulated for the proof "
            f"({seconds:.0f} s CPU beside), {len(front)} points on the front"
        )
        print(f"{'sampler':>8} " + " ".join(f"{mark:>15}" for mark in marks) + f" {'repeats':>8} {'CPU ms/trial':>13}")
        for name in samplers:
            shares, repeats, cpu, told = [], [], 0.0, 0
            for seed in range(seeds):
                found, again, seconds = search(space, name, seed, trials, table)
                rows = [np.array([row for row in found[:mark] if row is not None]) for mark in marks]
                shares.append([hypervolume(row, reference) / whole if len(row) else 0.0 for row in rows])
                repeats.append(again)
                cpu, told = cpu + seconds, told + len(found)
            columns = np.array(shares).T
            cells = " ".join(f"{column.mean():>7.4f} ({column.min():.3f})" for column in columns)
            print(f"{name:>8} {cells} {np.mean(repeats):>8.0f} {cpu / told * 1e3:>13.1f}", flush=True)


if __name__ == "__main__":
    main()
