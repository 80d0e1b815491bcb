"""What the tests of traces share: the recorded run, a small network, the shortest ways through the doors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from simcore import astra
from simcore.astra.files.result import AstraResult
from simcore.traces.base import Request, TraceSet
from simcore.traces.files import write_traces
from simcore.traces.pytorch.source import PyTorch

DATA = Path(__file__).parent / "data"
RECORDED = Request(str(DATA / "host.{rank}.json.gz"), str(DATA / "kineto.{rank}.json.gz"))


def recorded() -> TraceSet:
    return PyTorch().read(RECORDED)


def unpacked(name: str) -> Any:
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


def write_network(folder: Path, sizes: tuple[int, ...], bandwidth: float = 50.0) -> tuple[Path, Path]:
    """A 2.x network of rings and a system that takes nanoseconds from `num_ops`."""
    count, rings = len(sizes), ["ring"] * len(sizes)
    network = {"topology": ["Ring"] * count, "npus_count": list(sizes)}
    network |= {"bandwidth": [bandwidth] * count, "latency": [500.0] * count}
    system = {"scheduling-policy": "FIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1}
    system |= {"preferred-dataset-splits": 1, "collective-optimization": "localBWAware", "local-mem-bw": 500_000.0}
    system |= {f"all-{kind}-implementation": rings for kind in ("reduce", "gather", "to-all")}
    system |= {"reduce-scatter-implementation": rings, "roofline-enabled": 1, "peak-perf": 0.001}
    (folder / "net.yml").write_text(json.dumps(network))
    (folder / "sys.json").write_text(json.dumps(system))
    return folder / "net.yml", folder / "sys.json"


def play(traces: TraceSet, folder: Path, sizes: tuple[int, ...], recorded_times: bool = False) -> AstraResult:
    """The traces in ASTRA-sim's rules; with `recorded_times` durations count, else `num_ops`."""
    network, system = write_network(folder, sizes)
    if recorded_times:
        system.write_text(json.dumps({**json.loads(system.read_text()), "roofline-enabled": 0}))
    write_traces(traces, folder / "run")
    groups = folder / "run.comm_groups.json"
    return astra.run(network, system, folder / "run", comm_groups=groups if groups.exists() else None)
