"""A sweep of more than a million designs over four workloads on a Ray cluster: one driver for each workload, at once.

    python studies/million/sweep.py --address HEAD:6379 --jobs 64

A driver proposes and journals; it is one process, so four of them go four times as far as one. Interrupted, or with
more --trials, the same command with --resume goes on where each study was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
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


def main() -> int:
    """Run the drivers; 0 where all ended well."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--address", default="auto", help="of the cluster [auto]")
    options.add_argument("--jobs", type=int, required=True, help="workers, shared out among the workloads")
    options.add_argument("--trials", type=int, default=260_000, help="designs of each workload [260000]")
    options.add_argument("--out", type=Path, default=Path("runs/million"))
    options.add_argument("--resume", action="store_true")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    share = max(1, given.jobs // len(WORKLOADS))
    drivers = {}
    for name in WORKLOADS:
        command = [sys.executable, "-m", "dse", "optimize", str(space(name, given.out)), "--executor", "ray"]
        command += ["--address", given.address, "--jobs", str(share), "--trials", str(given.trials)]
        command += ["--out", str(given.out / name), *(["--resume"] if given.resume else [])]
        with (given.out / f"{name}.log").open("a", encoding="utf-8") as log:
            drivers[name] = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        failed = [name for name, driver in drivers.items() if driver.wait() != 0]
    except KeyboardInterrupt:
        for driver in drivers.values():
            driver.wait()  # each has had the Ctrl-C too, and saves what it has
        return 130
    for name in WORKLOADS:
        if name not in failed:
            found = json.loads((given.out / name / "pareto.json").read_text(encoding="utf-8"))
            print(f"{name}: {found['evaluated']} designs, {len(found['front'])} on the front")
    for name in failed:
        print(f"{name}: failed, see {given.out / name}.log")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
