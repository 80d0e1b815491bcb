"""How much faster the ASTRA-sim door is than ASTRA-sim, on the measured scaling runs.

Usage: python tests/benchmarks/bench_astra.py [--npus 1024] [--repeat 20]

Prints, for every measured run: whether the nanoseconds agree, seconds to simulate and to read the files (best
of the repetitions, after one that compiles), ASTRA-sim's CPU seconds and the ratio to the simulation alone and
to reading and simulating.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from simcore import astra
from simcore.astra.files.chakra import CommType, TraceNode, collective_node, compute_node, write_trace

SCALING = Path(__file__).parents[1] / "simcore" / "astra" / "data" / "scaling.json"
LAYERS = 24


def transformer_iteration() -> list[TraceNode]:
    """Return 24 layers: 400 us and 64 MiB on dimension 0 forward, twice the time and 48 MiB more backward."""
    inner, outer = (True, False, False), (False, True, True)
    nodes: list[TraceNode] = []
    last: tuple[int, ...] = ()
    for _ in range(LAYERS):
        place = len(nodes)
        nodes.append(compute_node(place, 400, last))
        nodes.append(collective_node(place + 1, CommType.ALL_REDUCE, 64 << 20, (place,), inner))
        last = (place + 1,)
    for _ in range(LAYERS):
        place = len(nodes)
        nodes.append(compute_node(place, 800, last))
        nodes.append(collective_node(place + 1, CommType.ALL_REDUCE, 64 << 20, (place,), inner))
        nodes.append(collective_node(place + 2, CommType.ALL_REDUCE, 48 << 20, (place,), outer))
        last = (place + 1,)
    return nodes


def write_inputs(folder: Path, run: dict[str, Any]) -> dict[str, Any]:
    """Write the three files of a measured run; return the arguments for `astra.load`."""
    folder.mkdir(parents=True, exist_ok=True)
    network = folder / "network.yml"
    network.write_text("".join(f"{key}: {value}\n" for key, value in run["inputs"]["network"].items()))
    system = folder / "system.json"
    system.write_text(json.dumps(run["inputs"]["system"]))
    workload = folder / "trace.et"
    one = [collective_node(0, CommType.ALL_REDUCE, 1 << 30)]
    write_trace(workload, transformer_iteration() if run["name"].startswith("TRF24") else one)
    return {"network": network, "system": system, "workload": workload, "backend": run["backend"]}


def measure(arguments: dict[str, Any], repeat: int) -> tuple[int, float, float]:
    """Return (finish [ns], best time to simulate [s], best time to read and simulate [s])."""
    finish, simulate, whole = 0, float("inf"), float("inf")
    for _ in range(repeat + 1):
        start = time.perf_counter()
        case = astra.load(**arguments)
        read = time.perf_counter()
        finish = astra.simulate(case).finish_ns
        end = time.perf_counter()
        simulate, whole = min(simulate, end - read), min(whole, end - start)
    return finish, simulate, whole


def show(line: str) -> None:
    """Write a line of the table at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--npus", type=int, help="only runs of this many NPUs")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    runs = [run for run in json.loads(SCALING.read_text())["runs"] if options.npus in (None, run["npus"])]
    show(f"{'run':30} {'NPUs':>5} {'back end':8} {'ns':>9} {'simulate':>10} {'+ read':>10} {'ASTRA-sim':>10}  ratios")
    with tempfile.TemporaryDirectory() as folder:
        for number, run in enumerate(runs):
            finish, simulate, whole = measure(write_inputs(Path(folder) / str(number), run), options.repeat)
            same = "unknown" if run["finish_ns"] is None else "same" if run["finish_ns"] == finish else "DIFFERENT"
            show(
                f"{run['name']:30} {run['npus']:5} {run['backend']:8} {same:>9} {1e3 * simulate:7.3f} ms "
                f"{1e3 * whole:7.3f} ms {run['user_s']:8.2f} s  "
                f"{run['user_s'] / simulate:9,.0f} {run['user_s'] / whole:9,.0f}"
            )


if __name__ == "__main__":
    main()
