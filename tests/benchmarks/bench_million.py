"""What reports and resuming take with many trials: memory and processor time, without hours of simulation.

A short study with a stand-in engine is made, and its journal grown: its trials again, under new numbers and keys, each
with other values. So what is measured is reading, not searching; files are smaller than those of as many different
trials.

    python tests/benchmarks/bench_million.py 20000 100000
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from dse.run.document import open_study
from dse.study.journal import TRIALS_A_PART
from dse.study.optuna_file import seal
from dse.study.parts import PART
from dse.study.sealing import seal_lines

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
        "from dse.study.journal import resumed_trials; from dse.study.keys import Digests",
        "kept = resumed_trials(study.folder, study.space.name, study.space.objectives); "
        "proposed = Digests(); proposed.update(kept.digests(len(kept)))",
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
    """Write the journal anew with so many trials; those that fill parts as parts."""
    journal = folder / "journal.log"
    objectives = open_study(folder).space.objectives
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    head = [line for line in lines if "user_attrs" not in line or "design" not in line["user_attrs"]]
    seeds = [line for line in lines if line not in head]
    generator = np.random.default_rng(0)
    parts, rest = divmod(trials, TRIALS_A_PART)
    for part in range(parts):
        if part == 0:
            _write(journal, head, _copies(seeds, 0, TRIALS_A_PART, generator))
            seal_lines(journal, 1, TRIALS_A_PART, objectives)
        else:
            _copy_part(folder, part, generator)
    _write(journal, head, _copies(seeds, parts * TRIALS_A_PART, rest, generator))


def _write(journal: Path, *groups: Iterable[Mapping[str, Any]]) -> None:
    with journal.open("wb") as file:
        for line in chain(*groups):
            said = {key: value for key, value in line.items() if key != "crc"}
            file.write(seal(json.dumps(said, separators=(",", ":")).encode()))


def _copies(
    seeds: list[dict[str, Any]], first: int, count: int, generator: np.random.Generator
) -> Iterator[dict[str, Any]]:
    for number in range(first, first + count):
        seed = seeds[number % len(seeds)]
        attributes = {**seed["user_attrs"], "number": number, "key": generator.bytes(16).hex()}
        values = seed["values"]
        moved = None if values is None else [v * generator.uniform(0.9, 2.0) for v in values]
        yield {**seed, "user_attrs": attributes, "values": moved}


def _copy_part(folder: Path, number: int, generator: np.random.Generator) -> None:
    """The first part again, under new numbers and keys, each trial with other values."""
    first = folder / PART.format(0)
    table = parquet.read_table(first)
    told = parquet.read_metadata(first).metadata[b"dse"]
    for at, name in enumerate(table.column_names):
        column = table.column(name)
        if name == "int /user_attrs/number":
            column = pc.add(column, number * TRIALS_A_PART)
        elif name == "text /user_attrs/key":
            column = pa.array([generator.bytes(16).hex() for _ in range(len(table))])
        elif name.startswith("float /value"):
            column = pc.multiply(column, pa.array(generator.uniform(0.9, 2.0, len(table))))
        table = table.set_column(at, name, column)
    with parquet.ParquetWriter(
        folder / PART.format(number), table.schema, compression="zstd", store_schema=False, write_page_checksum=True
    ) as writer:
        writer.add_key_value_metadata({"dse": told.decode()})
        writer.write_table(table, row_group_size=len(table))


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
            parts = sum(size for name, size in sizes.items() if name.startswith("journal.0"))
            told = f"parts {parts:.0f}, " + ", ".join(
                f"{name} {size:.0f}" for name, size in sizes.items() if size >= 1 and not name.startswith("journal.0")
            )
            print(f"{'':>10} files, B a trial: {told}")


if __name__ == "__main__":
    main()
