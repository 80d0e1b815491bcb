"""Whole studies: trials per second of each sampler: `python tests/benchmarks/bench_study.py [SPACE] [TRIALS]`.

Includes proposals, evaluation and the journal, not the reports.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from dse.evaluate.pareto import hypervolume
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import load_space


def main() -> None:
    """Print the table."""
    path = sys.argv[1] if len(sys.argv) > 1 else "spaces/transformer1t.yaml"
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    space = load_space(path)
    print(f"{path}: {trials} trials, one process, seed 0")
    print(f"{'sampler':>10} {'trials/s':>9} {'CPU s':>7} {'feasible':>9} {'cut':>5} {'front':>6} {'hypervolume':>12}")
    records = {}
    for sampler in ("random", "nsga2", "nsga3", "tpe"):
        with tempfile.TemporaryDirectory() as folder:
            wall, cpu = time.perf_counter(), time.process_time()
            settings = Settings(sampler=sampler, trials=trials, seed=0)
            optimize(space, settings, Path(folder) / "run", resume=False)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            records[sampler] = wall, cpu, load_record(Path(folder) / "run")
    reference = max(
        (r.reference for *_, r in records.values() if r.reference is not None), key=lambda point: point.prod()
    )
    for sampler, (wall, cpu, record) in records.items():
        cut = sum(trial.state == "cut" for trial in record.trials)
        volume = hypervolume(record.losses(record.front), reference) / reference.prod()
        print(
            f"{sampler:>10} {trials / wall:>9.0f} {cpu:>7.2f} {len(record.feasible_trials):>9} {cut:>5} "
            f"{len(record.front):>6} {volume:>12.4f}"
        )


if __name__ == "__main__":
    main()
