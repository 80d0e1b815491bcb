"""Samplers against fronts known by brute force: `python tests/benchmarks/bench_search.py [SCRATCH] [SEEDS] [TRIALS]`.

For each space every combination is simulated once (minutes; kept in the scratch folder), then each sampler searches it
with each seed, its outcomes looked up. Printed is the hypervolume after some trials as a share of that of the exact
front, mean and least over the seeds; the reference point is 1.1 x the nadir of the exact front. CPU time is the
sampler's own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from dse.evaluate import Evaluator
from dse.execute import make_executor
from dse.objective import losses
from dse.pareto import front_mask, hypervolume, reference_point
from dse.search import make_sampler
from dse.space import Space, load_space

HERE = Path(__file__).parent
SPACES = (
    HERE.parent.parent / "spaces" / "small.yaml",
    HERE / "search_spaces" / "transformer1t_cut.yaml",
    HERE / "search_spaces" / "gpt3_memory.yaml",
)
SAMPLERS = ("guided", "random", "nsga2", "tpe")
MARKS = (50, 100, 300, 1000)
MOST_REPEATS = 300
Table = dict[str, tuple[str, list[float], dict[str, float]]]


def brute_force(space: Space, path: Path, scratch: Path) -> Table:
    """State, losses and violations of every design of a space, by its key."""
    kept = scratch / f"{path.stem}.json"
    if not kept.exists():
        executor = make_executor(Evaluator(space.objectives, space.constraints), 2)
        table: Table = {}
        for outcome in executor.map([filled.document for filled in space.enumerate()]):
            row = [float(loss) for loss in losses(space.objectives, [outcome.values])[0]]
            table[outcome.key] = outcome.state, row, outcome.violations
        executor.close()
        kept.write_text(json.dumps(table))
    return {key: tuple(entry) for key, entry in json.loads(kept.read_text()).items()}  # type: ignore[misc]


def search(space: Space, name: str, seed: int, trials: int, table: Table) -> tuple[list[Any], int, float]:
    """Losses of the feasible trials (None: infeasible) in order, repeated proposals, CPU seconds of the sampler."""
    sampler = make_sampler(name, space, seed)
    found: list[Any] = []
    seen: set[str] = set()
    repeats = in_a_row = 0
    seconds = 0.0
    while len(found) < trials and in_a_row < MOST_REPEATS:
        batch: list[Any] = []
        while len(batch) < min(space.settings.batch, trials - len(found)) and in_a_row < MOST_REPEATS:
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
            batch.append((proposal, table[key]))
        begun = time.process_time()
        for proposal, (_, row, violations) in batch:
            sampler.tell(proposal, tuple(row), violations)
        seconds += time.process_time() - begun
        found += [row if state == "feasible" else None for _, (state, row, _) in batch]
    return found, repeats, seconds


def main() -> None:
    """Print the tables."""
    scratch = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir())
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    trials = int(sys.argv[3]) if len(sys.argv) > 3 else MARKS[-1]
    marks = [mark for mark in MARKS if mark <= trials]
    for path in SPACES:
        space = load_space(path)
        table = brute_force(space, path, scratch)
        feasible = np.array([row for state, row, _ in table.values() if state == "feasible"])
        front = np.unique(feasible[front_mask(feasible)], axis=0)
        reference = reference_point(front)
        whole = hypervolume(front, reference)
        print(f"\n{path.stem}: {len(table):,} designs, {len(feasible):,} feasible, {len(front)} points on the front")
        print(f"{'sampler':>8} " + " ".join(f"{mark:>15}" for mark in marks) + f" {'repeats':>8} {'CPU ms/trial':>13}")
        for name in SAMPLERS:
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
