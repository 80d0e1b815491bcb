"""Start-up, as CPU time of whole processes: `python tests/benchmarks/bench_startup.py`.

Last comes the first command on a new machine, whose kernels are not compiled: how long it takes, up to the first trial
and in all, and the CPU time of all its processes.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

RUNS = 5
COMMANDS = {
    "dse --help": ["--help"],
    "dse optimize --help": ["optimize", "--help"],
    "bad input (no such file)": ["simulate", "no-such-file.yaml"],
    "first result (small space, 1 trial)": ["optimize", "spaces/small.yaml", "--trials", "1", "--out", "{folder}"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """CPU time of one process and its children [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "dse", *arguments], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_trial(journal: Path, process: subprocess.Popen[bytes]) -> Iterator[float]:
    """When the journal has its first trial, on the clock [s]; nothing where there never is one."""
    while process.poll() is None:
        if journal.exists() and b'"op_code":4' in journal.read_bytes():
            yield time.perf_counter()
            return
        time.sleep(0.02)


def first_command(folder: str) -> tuple[float, float, float]:
    """Seconds to the first trial, in all, and of CPU, of the main job's first trials on a new machine."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "dse", "optimize", "spaces/transformer1t.yaml", "--trials", "32"]
    process = subprocess.Popen(
        [*command, "--out", f"{folder}/run"],
        env={**os.environ, "NUMBA_CACHE_DIR": f"{folder}/cache"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    first = next(first_trial(Path(folder) / "run" / "journal.log", process), begun) - begun
    process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return first, time.perf_counter() - begun, used


def main() -> None:
    """Print the table."""
    for name, arguments in COMMANDS.items():
        times = []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as folder:
                times.append(cpu_seconds([argument.format(folder=folder + "/run") for argument in arguments]))
        print(f"{name:40} median {statistics.median(times):6.2f} s CPU, {min(times):.2f} to {max(times):.2f}")
    with tempfile.TemporaryDirectory() as folder:
        first, whole, used = first_command(folder)
    print("kernels not compiled (1T space, 32 trials):")
    print(f"{'':4}first trial after {first:.1f} s, report after {whole:.1f} s, {used:.1f} s CPU")


if __name__ == "__main__":
    main()
