"""What reports and resuming take with many trials: memory and processor time, without hours of simulation.

A short study with a stand-in engine is made, and its journal grown: its trials again, under new numbers and keys, each
with other values. So what is measured is reading, not searching.

    python tests/benchmarks/bench_million.py 20000 100000
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zlib
from itertools import chain
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve()
SPACE = HERE.parents[2] / "studies" / "million" / "space.yaml"
ENGINE = "burning_engine:none"
SEEDS = 400

READ = """
import resource, sys, time
from pathlib import Path
from dse.run.document import open_study
{setup}
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
study = open_study(Path(sys.argv[1]))
{read}
took, after = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(took, before / 1024, after / 1024)
"""
READS = {
    "trials for a report": (
        "from dse.run.record import record_in",
        "record = record_in(study, bounded=False); record.front, record.hypervolume",
    ),
    "trials to resume": (
        "from dse.study.journal import resumed_trials",
        "kept = resumed_trials(study.folder, study.space.name, study.space.objectives)",
    ),
    "whole report": ("from dse.door.reports import report_run", "report_run(study.folder)"),
}


def _environment() -> dict[str, str]:
    paths = [str(HERE.parents[2]), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _seed(folder: Path) -> None:
    command = [sys.executable, "-m", "dse", "optimize", str(SPACE), "--sampler", "random", "--trials", str(SEEDS)]
    command += ["--engine", ENGINE, "--out", str(folder)]
    subprocess.run(command, check=True, env=_environment(), capture_output=True)


def _grow(folder: Path, trials: int) -> None:
    """Write the journal anew with so many trials."""
    journal = folder / "journal.log"
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    head = [line for line in lines if "user_attrs" not in line or "design" not in line["user_attrs"]]
    seeds = [line for line in lines if line not in head]
    generator = np.random.default_rng(0)
    with journal.open("wb") as file:
        for line in chain(head, _copies(seeds, trials, generator)):
            line.pop("crc", None)
            text = json.dumps(line, separators=(",", ":")).encode()
            file.write(text[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(text))


def _copies(seeds: list[dict], trials: int, generator: np.random.Generator):  # type: ignore[no-untyped-def,type-arg]
    for number in range(trials):
        seed = seeds[number % len(seeds)]
        line = {**seed, "user_attrs": {**seed["user_attrs"], "number": number, "key": f"{number:064x}"}}
        values = line["values"]
        yield line if values is None else line | {"values": [v * generator.uniform(0.9, 2.0) for v in values]}


def main() -> None:
    """Print a row for each number of trials and each way to read them."""
    print(f"{'trials':>10} {'what':>20} {'processor s':>12} {'us a trial':>11} {'peak MiB':>9} {'B a trial':>10}")
    for trials in [int(text) for text in sys.argv[1:]] or [20_000, 100_000]:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "run"
            _seed(folder)
            _grow(folder, trials)
            for what, (setup, read) in READS.items():
                code = READ.format(setup=setup, read=read)
                command = [sys.executable, "-c", code, str(folder)]
                said = subprocess.run(command, check=True, env=_environment(), capture_output=True, text=True).stdout
                took, before, after = map(float, said.split()[-3:])
                each = (after - before) * 2**20 / trials
                print(
                    f"{trials:>10,} {what:>20} {took:>12.1f} {took / trials * 1e6:>11.0f} {after:>9.0f} {each:>10.0f}"
                )
            sizes = {path.name: path.stat().st_size / trials for path in sorted(folder.iterdir()) if path.is_file()}
            told = ", ".join(f"{name} {size:.0f}" for name, size in sizes.items() if size >= 1)
            print(f"{'':>10} files, B a trial: {told}")


if __name__ == "__main__":
    main()
