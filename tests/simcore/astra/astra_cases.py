"""The measured ASTRA-sim runs, and small inputs written on the spot."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from simcore.astra.files.chakra import CommType, TraceNode, collective_node, write_trace

DATA = Path(__file__).parent / "data"
GOLDEN: list[dict[str, Any]] = json.loads(gzip.decompress((DATA / "golden.json.gz").read_bytes()))["cases"]

OPTIONS = {
    "compute-scale": "compute_scale",
    "comm-scale": "comm_scale",
    "num-passes": "num_passes",
    "injection-scale": "injection_scale",
    "rendezvous-protocol": "rendezvous",
}


def unpack(folder: Path) -> Path:
    """Unpack the measured inputs, one folder a case; return the folder."""
    with tarfile.open(DATA / "inputs.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def arguments(case: dict[str, Any], inputs: Path) -> dict[str, Any]:
    """Return the arguments of `astra.run` for a measured case (all but the back end)."""
    folder = inputs / case["id"]
    found: dict[str, Any] = {}
    for key, value in {**(case.get("options") or {}), **(case.get("cli") or {})}.items():
        found[OPTIONS[key]] = value
    if case.get("num_queues_per_dim"):
        found["num_queues"] = case["num_queues_per_dim"]
    if case["engine"] != "astra2":
        (folder / "net.json").write_text(json.dumps(case["network"]))
        (folder / "sys.txt").write_text("".join(f"{key}: {value}\n" for key, value in case["system"].items()))
        name = case["workload"]["name"].removesuffix(".txt") + ".txt"
        return {"network": folder / "net.json", "system": folder / "sys.txt", **found} | {
            "workload": DATA / "text_workloads" / name
        }
    archive = case["workload"].get("et_archive")
    if archive:
        with tarfile.open(DATA / archive) as traces:
            traces.extractall(folder, filter="data")
    if (folder / "cg.json").exists():
        found["comm_groups"] = folder / "cg.json"
    if "remote_memory" in case:
        found["remote_memory"] = folder / "mem.json"
    shared = folder / "w.all.et"
    return {
        "network": folder / "net.yml",
        "system": folder / "sys.json",
        "workload": shared if shared.exists() else folder / "w",
        **found,
    }


def network(folder: Path, blocks: Sequence[str], sizes: Sequence[int], **keys: Any) -> Path:
    """Write a 2.x network file: 50 GB/s and 500 ns unless told otherwise."""
    count = len(blocks)
    values = {
        "topology": list(blocks),
        "npus_count": list(sizes),
        "bandwidth": [50.0] * count,
        "latency": [500.0] * count,
        **keys,
    }
    path = folder / "network.yml"
    path.write_text(json.dumps(values))
    return path


def system(folder: Path, algorithms: str | Sequence[str] = "ring", **keys: Any) -> Path:
    """Write a 2.x system file: 4 splits, 10 ns endpoint delay, the same algorithms for every collective."""
    names = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    values = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 4,
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1600,
        **{f"{kind}-implementation": names for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")},
        **{key.replace("_", "-"): value for key, value in keys.items()},
    }
    path = folder / "system.json"
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))
    return path


def trace(folder: Path, nodes: Iterable[TraceNode], name: str = "trace.et") -> Path:
    """Write a trace for all NPUs."""
    path = folder / name
    write_trace(path, nodes)
    return path


def traces(folder: Path, ranks: Sequence[Iterable[TraceNode]]) -> Path:
    """Write a trace for each rank; return their prefix."""
    for rank, nodes in enumerate(ranks):
        write_trace(folder / f"w.{rank}.et", nodes)
    return folder / "w"


def one_collective(folder: Path, kind: CommType = CommType.ALL_REDUCE, size: int = 1 << 20) -> Path:
    """Write a trace of a single collective."""
    return trace(folder, [collective_node(0, kind, size)])


def groups(folder: Path, members: dict[str, Any]) -> Path:
    """Write a communicator-group file."""
    path = folder / "groups.json"
    path.write_text(json.dumps(members))
    return path


def fresh(folder: Path) -> Path:
    """Return an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
