"""Designs per second on this machine and through Ray on the same cores: `python tests/benchmarks/bench_ray.py`.

With `--long N` one run of N designs of the fast engine through Ray, and the driver's memory as it goes. With `--feed N`
what N designs cost the driver by itself, without Ray: its workers are on paper (`paper_workers.py`). With `--nodes N`
clusters of 1 to N nodes, all on this machine, whose designs sleep, against the formula of docs/scaling.md. Start-up
(from the call to the first outcome) is told apart; a study is a random sampler's, with its journal. Runs alternate,
because other work on the machine comes and goes; the best of each is shown.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "dse"), str(HERE.parent / "ray")]
# Ray's workers find the engine and what it imports where this process does.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:3])

import numpy as np  # noqa: E402
from paper_workers import PaperWorkers  # noqa: E402

from dse.evaluate.evaluate import Evaluator, Outcome  # noqa: E402
from dse.execute.pool import Pool  # noqa: E402
from dse.run.drive import optimize  # noqa: E402  # after the path
from dse.run.settings import Settings  # noqa: E402
from dse.search import make_sampler  # noqa: E402
from dse.space.draw import RandomDraw  # noqa: E402
from dse.space.space import Space, load_space  # noqa: E402
from dse.study.journal import Journal  # noqa: E402
from dse.study.one_driver import OneDriver  # noqa: E402
from dse.study.stop import Limits  # noqa: E402
from dse.study.study import Study  # noqa: E402
from dse.study.watch import Watcher  # noqa: E402

RUNS = 2
PAPER = (2, 8, 64, 512)
DESIGNS = {"ms1": 2000, "ms5": 600, "ms50": 80}
CPUS, ASLEEP, PER_WORKER = 4, 0.1, 100
"""Of nodes that are no machines: CPUs of each, how long a design sleeps on one [s], designs for each."""
STORE = 80 << 20
"""Object store of such a node [B]."""


def steady(space: Space, **settings: Any) -> tuple[float, float]:
    """Designs per second from the first outcome to the last, and the seconds before."""
    times: list[float] = []

    class Clock(Watcher):
        def trial(self, number: int, params: Any, outcome: Outcome) -> None:
            assert outcome.state == "feasible", outcome.error
            times.append(time.perf_counter())

    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        optimize(space, Settings(**settings), Path(folder) / "run", False, Clock())
    warm = len(times) // 10  # the first calls grow to their size
    return (len(times) - 1 - warm) / (times[-1] - times[warm]), times[0] - begun


def overhead(jobs: int) -> None:
    """The table of local against Ray."""
    from sweeps import wide

    print(f"{jobs} workers, random sampler, best of {RUNS} alternating runs")
    print(f"{'engine':>7} {'local 1/s':>10} {'ray 1/s':>10} {'ray/local':>10} {'local start':>12} {'ray start':>10}")
    for name, trials in DESIGNS.items():
        rates: dict[str, list[tuple[float, float]]] = {"local": [], "ray": []}
        for _ in range(RUNS):
            for executor, found in rates.items():
                engine = f"burning_engine:{name}"
                common: dict[str, Any] = {"sampler": "random", "trials": trials, "seed": 0, "jobs": jobs}
                found.append(steady(wide(), engine=engine, executor=executor, **common))
        (local, first), (ray, second) = (max(rates[executor]) for executor in ("local", "ray"))
        print(f"{name:>7} {local:10.1f} {ray:10.1f} {ray / local:10.2f} {first:10.1f} s {second:8.1f} s", flush=True)


def long_run(trials: int, jobs: int, path: str) -> None:
    """One run through Ray, and the driver's memory."""
    space = load_space(path)
    begun = time.perf_counter()
    first: list[float] = []
    step = max(trials // 10, 1)

    class Memory(Watcher):
        def trial(self, number: int, params: Any, outcome: Outcome) -> None:
            first.append(time.perf_counter()) if not first else None
            if (number + 1) % step == 0:
                with open("/proc/self/statm", encoding="ascii") as file:
                    megabytes = int(file.read().split()[1]) * resource.getpagesize() / 2**20
                rate = number / (time.perf_counter() - first[0])
                print(f"{number + 1:>9} designs {rate:8.0f} 1/s  driver {megabytes:6.0f} MiB", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings("random", trials, 0, jobs=jobs, executor="ray")
        optimize(space, settings, Path(folder) / "run", False, Memory())
        size = (Path(folder) / "run" / "journal.log").stat().st_size / 2**20
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = (used.ru_utime + used.ru_stime) / trials * 1e3
    wall = time.perf_counter() - begun
    print(f"{trials} designs in {wall:.0f} s; driver {cpu:.2f} ms CPU a design; journal {size:.0f} MiB")


def nodes(most: int) -> None:
    """Clusters of 1 to `most` nodes against W / (1.01 t), as long as the driver has time."""
    from ray.cluster_utils import Cluster
    from sweeps import wide

    print(f"designs that sleep {ASLEEP * 1e3:.0f} ms, {CPUS} workers a node")
    print(" nodes  workers  designs/s  formula  ratio  driver CPU a design    memory")
    own = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    for count in range(1, most + 1):
        cluster = Cluster(initialize_head=True, head_node_args=own)
        try:
            for _ in range(count):
                cluster.add_node(num_cpus=CPUS, object_store_memory=STORE)
            workers, cpu = CPUS * count, time.process_time()
            chosen = {"sampler": "random", "trials": PER_WORKER * workers, "seed": 0, "jobs": workers}
            where = {"engine": "burning_engine:asleep100", "executor": "ray", "address": cluster.address}
            rate, _ = steady(wide(), **chosen, **where)
            cpu = (time.process_time() - cpu) / chosen["trials"]
            formula = min(workers / (1.01 * ASLEEP), 1 / cpu)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{count:>6} {workers:>8} {rate:>10.1f} {formula:>8.1f} {rate / formula:>6.2f}"
                f" {cpu * 1e3:>17.2f} ms {peak:>5.0f} MiB",
                flush=True,
            )
        finally:
            sys.modules["ray"].shutdown()
            cluster.shutdown()


def feed(trials: int, path: str) -> None:
    """What a design costs the driver, by the number of workers that it feeds; no process of theirs runs."""
    space = load_space(path)
    draw = RandomDraw(np.random.default_rng(0))
    evaluator = Evaluator(space.objectives, space.constraints, "fast")
    drawn = (evaluator(space.fill(draw).document) for _ in range(100))
    outcome = next(outcome for outcome in drawn if outcome.state == "feasible")
    print(f"{'workers':>8} {'ms of CPU a design':>19} {'designs/s':>10}   (designs that take 5 ms)")
    for workers in PAPER:
        count = min(trials, 100 * workers)  # a few workers take their time
        with tempfile.TemporaryDirectory() as folder:
            log = Journal(Path(folder), space.name, space.objectives)
            study = Study(space, make_sampler("random", space, 0), OneDriver(log))
            pool = Pool(evaluator, PaperWorkers(outcome, 5e-3), workers)
            begun, cpu = time.perf_counter(), time.process_time()
            study.run(Limits(count), pool)
            took, cpu = time.perf_counter() - begun, time.process_time() - cpu
            log.close()
        print(f"{workers:8} {cpu / count * 1e3:19.3f} {count / took:10.0f}", flush=True)


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--long", type=int)
    options.add_argument("--feed", type=int)
    options.add_argument("--nodes", type=int)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--space", default="spaces/transformer1t.yaml")
    given = options.parse_args()
    if given.nodes:
        nodes(given.nodes)
    elif given.feed:
        feed(given.feed, given.space)
    elif given.long:
        long_run(given.long, given.jobs, given.space)
    else:
        overhead(given.jobs)


if __name__ == "__main__":
    main()
