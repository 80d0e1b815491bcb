"""Start-up, as CPU time of whole processes: `python tests/benchmarks/bench_startup.py`."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

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


def main() -> None:
    """Print the table."""
    import tempfile

    for name, arguments in COMMANDS.items():
        times = []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as folder:
                times.append(cpu_seconds([argument.format(folder=folder + "/run") for argument in arguments]))
        print(f"{name:40} median {statistics.median(times):6.2f} s CPU, {min(times):.2f} to {max(times):.2f}")


if __name__ == "__main__":
    main()
