"""A sweep of more than a million designs over four workloads: one driver for each workload.

    python studies/million/sweep.py --address HEAD:6379 --jobs 12       # on a Ray cluster, all four at once
    python studies/million/sweep.py --at-once 1 --jobs 2                # on this machine, one after the other
    python studies/million/sweep.py llama3-8b --jobs 2                  # one workload

A driver proposes and journals; it is one process, so four of them go four times as far as one. Interrupted (Ctrl-C or
SIGTERM), or with more --trials, the same command with --resume goes on where each study was. What each driver took is
appended to `drivers.csv`: seconds of wall and of processor time (with its local workers), the most memory of one
process, and how it ended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import yaml

HERE = Path(__file__).resolve().parent
INTERRUPTED = {130, 143, -signal.SIGINT, -signal.SIGTERM}
"""How a driver ends after a signal: by `dse optimize` itself, or killed before that was ready for one."""
WORKLOADS = {
    "gpt3-175b": {"model": "gpt3-175b", "global_batch": 1536, "sequence_length": 2048},
    "llama3-70b": {"model": "llama3-70b", "global_batch": 1024, "sequence_length": 4096},
    "llama3-8b": {"model": "llama3-8b", "global_batch": 2048, "sequence_length": 8192},
    "transformer-1t": {"model": "transformer-1t", "global_batch": 1024, "sequence_length": 2048},
}


def space(name: str, folder: Path) -> Path:
    """The space of a workload, written beside its run folder."""
    document = yaml.safe_load((HERE / "space.yaml").read_text(encoding="utf-8"))
    document["workload"] |= WORKLOADS[name]
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def has_begun(folder: Path) -> bool:
    """Whether a study has a journal to go on from; an empty one, of a driver that was killed, is taken away."""
    journal = folder / "journal.log"
    if journal.is_file() and journal.stat().st_size == 0:
        journal.unlink()
    return journal.is_file()


def command(name: str, given: argparse.Namespace) -> list[str]:
    """The driver of a workload, as the command line has it; a study that has not begun is not resumed."""
    share = max(1, given.jobs // given.at_once)
    words = [sys.executable, "-m", "dse", "optimize", str(space(name, given.out)), "--jobs", str(share)]
    words += ["--trials", str(given.trials), "--out", str(given.out / name)]
    words += ["--executor", "ray", "--address", given.address] if given.address else []
    return words + (["--resume"] if given.resume and has_begun(given.out / name) else [])


def run(names: list[str], given: argparse.Namespace) -> tuple[dict[str, int], bool]:
    """Run the drivers of some workloads at once; how each ended, and whether they were interrupted."""
    begun = time.monotonic()
    drivers: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
    signalled: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        """Each driver saves what it has; a Ctrl-C of the terminal is not theirs, so that none has it twice."""
        signalled.append(number)
        for pid in drivers:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    for name in names:
        words = command(name, given)
        with (given.out / f"{name}.log").open("a", encoding="utf-8") as log:
            driver = subprocess.Popen(words, stdout=log, stderr=log, process_group=0)
        drivers[driver.pid] = name, driver
        if signalled:
            break
    ended: dict[str, int] = {}
    while drivers:
        pid, status, used = os.wait4(-1, 0)
        name, driver = drivers.pop(pid)
        ended[name] = code = driver.returncode = os.waitstatus_to_exitcode(status)
        seconds, cpu, most = time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        with (given.out / "drivers.csv").open("a", encoding="utf-8") as table:
            table.write(f"{name},{seconds:.0f},{cpu:.0f},{most:.0f} MiB,{code}\n")
    return ended, bool(signalled or INTERRUPTED & set(ended.values()))


def main() -> int:
    """Run the drivers; 0 where all ended well, 130 where they were interrupted."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"any of {', '.join(WORKLOADS)} [all]")
    options.add_argument("--address", help="of a Ray cluster [the cores of this machine, without Ray]")
    options.add_argument("--jobs", type=int, required=True, help="workers, shared out among the drivers at work")
    options.add_argument("--at-once", type=int, default=len(WORKLOADS), help="drivers at work at a time [4]")
    options.add_argument("--trials", type=int, default=260_000, help="designs of each workload [260000]")
    options.add_argument("--out", type=Path, default=Path("runs/million"))
    options.add_argument("--resume", action="store_true")
    given = options.parse_args()
    if unknown := sorted(set(given.workloads) - set(WORKLOADS)):
        options.error(f"expected workloads of {', '.join(WORKLOADS)}, got {', '.join(unknown)}")
    names = [name for name in WORKLOADS if name in given.workloads or not given.workloads]
    given.out.mkdir(parents=True, exist_ok=True)
    ended: dict[str, int] = {}
    for first in range(0, len(names), given.at_once):
        codes, interrupted = run(names[first : first + given.at_once], given)
        ended |= codes
        if interrupted:
            return 130
    for name, code in ended.items():
        if code == 0:
            found = json.loads((given.out / name / "pareto.json").read_text(encoding="utf-8"))
            print(f"{name}: {found['evaluated']} designs, {len(found['front'])} on the front")
        else:
            print(f"{name}: failed, see {given.out / name}.log")
    return 1 if any(ended.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
